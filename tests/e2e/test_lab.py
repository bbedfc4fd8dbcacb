"""The lab in a browser: its values are the lesson's, read from the page; it plays and steps by keyboard."""

import json
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.e2e.conftest import Visitor
from tests.e2e.test_pages import WIDE_PX, looked_at

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]
GOLDEN: dict[str, Any] = json.loads((Path(__file__).parents[1] / "simulator" / "golden_lesson.json").read_text())
SHOWN = {"b_show": "1", "p_show": "1", "x_show": "1", "l_show": "1"}


def go(visitor: Visitor, **fields: object) -> Any:
    visitor.go("/lab/?" + urlencode(SHOWN | fields))
    return visitor.page


def row(page: Any, section: str, name: str) -> list[str]:
    """The cells of a row of the first table of a section, without its name."""
    rows = page.locator(f"#{section} table").first.locator("tbody tr").filter(has_text=name)
    return [text.strip() for text in rows.first.locator("td").all_inner_texts()]


def test_the_lessons_runs_are_read_from_the_page(visit: Any) -> None:
    visitor = visit()
    for case in GOLDEN["step_simulator"]:
        requests = ", ".join(f"{tokens}@{arrival}" for arrival, tokens in case["requests"])
        page = go(visitor, b_requests=requests, b_slots=case["slots"])
        for policy in ("static", "continuous"):
            known = case[policy]
            assert row(page, "batching", policy.capitalize()) == [
                *(str(step) for step in known["finish_steps"]),
                str(known["makespan_steps"]),
                f"{known['throughput_tokens_per_step']:.2f}",
                f"{known['idle_fraction'] * 100:.1f}",
                f"{known['mean_latency_steps']:.2f}",
                str(known["p95_latency_steps"]),
            ], case["name"]


def test_the_lessons_prefills_are_read_from_the_page(visit: Any) -> None:
    visitor = visit()
    for case in GOLDEN["prefill"]["cases"]:
        requests = ", ".join(f"{p}+{n}@{a}" for a, p, n in case["requests_arrival_prompt_output"])
        for chunk in (256, 512):
            page = go(visitor, p_requests=requests, p_slots=case["slots"], p_chunk=chunk)
            for name, known in (("Whole prompts", case["unchunked_256"]), ("Chunked", case[f"chunk_{chunk}"])):
                assert row(page, "prefill", name)[:4] == [
                    f"{known['mean_ttft_steps']:.2f}",
                    str(known["p95_ttft_steps"]),
                    f"{known['mean_latency_steps']:.2f}",
                    str(known["p95_latency_steps"]),
                ]


def test_the_lessons_formulas_are_read_from_the_page(visit: Any) -> None:
    page = go(visit())
    kv = GOLDEN["kv_memory"]
    comparison = page.get_by_role("table", name="Contiguous against paged").locator("tbody tr")
    for line, known in zip(comparison.all(), (kv["contiguous"], kv["paged"]), strict=True):
        cells = line.locator("td").all_inner_texts()
        assert cells[2] == str(known["sequences"])
        assert cells[3] == f"{known['useful_fraction'] * 100:.1f}"
    prefix = GOLDEN["prefix_caching"]
    shown = page.locator("#prefix .figs").inner_text()
    assert f"{prefix[1]['prompt_tokens']:,}" in shown
    assert f"{prefix[1]['cached_tokens']:,}" in shown
    assert f"{prefix[1]['hit_rate'] * 100:.1f}" in shown
    assert f"{prefix[0]['prefill_saving'] * 100:.1f}" in shown
    assert f"{prefix[0]['prefill_tokens_on_hit']} of 2,200 tokens" in page.locator("#prefix [data-answer]").inner_text()
    (little,) = GOLDEN["littles_law"]
    service = page.locator("#queue .lab-service .figs").inner_text()
    assert f"{little['in_system']:.2f}" in service
    assert f"at least {little['batch_at_least']}" in service
    (capacity,) = GOLDEN["slot_capacity"]
    assert f"capacity {capacity['requests_per_step']:.3f}" in page.locator("#queue").inner_text()
    costs = page.locator("#idling tbody").inner_text()
    for utilisation_ratio in (1.0, 0.6, 0.3):
        assert f"{4.0 / (1500 * 3600 * utilisation_ratio) * 1e6:.2f}" in costs
    assert "2,920 M of 3,942 M tokens" in costs
    assert "74 %" in costs


def test_one_changed_token_near_the_start_finds_nothing(visit: Any) -> None:
    page = go(visit(), x_changed="3")
    assert page.locator("#prefix .hit").count() == 0
    assert page.locator("#prefix .miss").count() == 138


def test_predict_then_reveal_then_change_a_value(visit: Any) -> None:
    visitor = visit()
    page = visitor.page
    visitor.go("/lab/")
    batching = page.locator("#batching")
    assert batching.get_by_role("row", name="Continuous").count() == 0
    batching.get_by_label("Your guess").fill("9")
    batching.get_by_role("button", name="Check").click()
    page.locator("#batching [data-answer]").wait_for()
    assert "it is 1 fewer" in batching.inner_text()
    assert page.evaluate("document.activeElement.hasAttribute('data-answer')")
    assert "b_guess=9" in page.url
    page.locator("#lab-b_requests").fill("4, 1, 1, 4")
    page.locator("#lab-b_slots").focus()
    batching.get_by_text("A 4, B 1").wait_for()
    page.wait_for_url("**b_requests=4%2C+1%2C+1%2C+4**")
    assert "b_guess" not in page.url
    assert row(page, "batching", "Continuous")[4] == "6"
    visitor.go(page.url.removeprefix(visitor.base))
    assert row(page, "batching", "Continuous")[4] == "6"


def test_the_clock_steps_by_keyboard_and_the_address_keeps_the_step(visit: Any) -> None:
    visitor = visit()
    page = go(visitor)
    static = page.locator("#batching [data-picture=static] [data-said]")
    assert static.inner_text() == "16 tokens, 6 idle slot-steps, 0 waiting"
    page.locator("#batching").get_by_role("button", name="To the start").focus()
    page.keyboard.press("Enter")
    assert static.inner_text() == "0 tokens, 0 idle slot-steps, 2 waiting"
    for _ in range(3):
        page.locator("#batching").get_by_role("button", name="One step on").press("Space")
    assert static.inner_text() == "5 tokens, 1 idle slot-steps, 2 waiting"
    page.locator("#batching input[type=range]").press("ArrowRight")
    assert static.inner_text() == "6 tokens, 2 idle slot-steps, 2 waiting"
    assert "b_step=4" in page.url
    visitor.go(page.url.removeprefix(visitor.base))
    assert static.inner_text() == "6 tokens, 2 idle slot-steps, 2 waiting"


def test_playing_comes_to_the_end_and_the_pool_follows(visit: Any) -> None:
    visitor = visit()
    page = go(visitor, k_step="0")
    assert page.locator("#pool .free").count() == 21  # twenty blocks and the legend's
    page.locator("#pool").get_by_role("button", name="One step on").click()
    assert page.locator("#pool [data-cell=state]").all_inner_texts() == ["runs", "runs", "runs", "not here yet"]
    played = {
        name: page.locator(f"#pool [data-cell={name}]").all_inner_texts() for name in ("tokens", "blocks", "unused")
    }
    drawn = page.locator("[data-pool] text").all_inner_texts()
    visitor.go(page.url.removeprefix(visitor.base))
    for name, texts in played.items():
        assert page.locator(f"#pool [data-cell={name}]").all_inner_texts() == texts
    assert page.locator("[data-pool] text").all_inner_texts() == drawn
    visitor.go("/lab/?k_step=90")
    page.locator("#pool").get_by_role("button", name="Play").click()
    page.locator("#pool output", has_text="95 of 95").wait_for()
    assert set(page.locator("#pool [data-cell=state]").all_inner_texts()) == {"ended", "ends"}


@pytest.mark.parametrize("width", [WIDE_PX, 390])
def test_the_lab_is_accessible_and_fits_the_window(visit: Any, width: int, artifacts: Any) -> None:
    visitor = visit(width)
    faults = []
    for name, fields in (("lab", {}), ("lab-shown", SHOWN), ("lab-wrong", SHOWN | {"b_slots": "0"})):
        faults += looked_at(visitor, name, "/lab/?" + urlencode(fields), width, artifacts)
    assert not faults, "\n".join(faults)


def test_the_lab_works_without_scripts(visit: Any) -> None:
    visitor = visit(scripts=False)
    page = visitor.page
    visitor.go("/lab/")
    page.locator("#batching").get_by_label("Your guess").fill("8")
    page.locator("#batching").get_by_role("button", name="Check").click()
    page.wait_for_load_state()
    assert "You said 8 steps: right." in page.locator("#batching").inner_text()
