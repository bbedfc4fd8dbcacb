"""Whole load tests of the simulated server: knee, saturation, Little's law, the client's limits, interruption."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from planner.measure.campaign import Campaign, Wanted
from planner.planning.importers.sources import file_source, open_source
from planner.planning.measurements import read_measurement
from planner.planning.measuring.document import measurement, measurement_text
from planner.planning.measuring.picture import curve_svg
from planner.planning.measuring.served import Served
from tests.planner.measure.parts import (
    SLOW,
    SLOW_STEP_TIME,
    asked,
    asker_for,
    driver_for,
    serving,
    small,
    small_questions,
)
from tests.planner.measure.virtual import run

FIXED = {
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 4.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 64},
        "output_tokens": {"kind": "fixed", "tokens": 5},
    }
}


def slow(max_waiting: int | None = None) -> Served:
    return small(max_waiting, config=SLOW, step_time=SLOW_STEP_TIME)


def campaign_of(wanted: Wanted, **changes: Any) -> Campaign:
    return Campaign(small_questions(**changes), wanted, lambda _: None)


def measured(campaign: Campaign, *, chat: bool = True) -> Campaign:
    async def go() -> None:
        async with serving(slow()) as (_, url):
            await campaign.run(driver_for(asker_for(url, chat=chat)))

    run(go())
    return campaign


def test_the_knee_lies_between_a_rate_that_passes_and_one_that_fails(tmp_path: Path) -> None:
    campaign = measured(campaign_of(Wanted(first_rps=8.0, warm_up_s=0.3, least_s=2.0, most_s=2.0)))
    rows = campaign.rows
    passed = [row["offered_rps"] for row in rows if row["passes"]]
    failed = [row["offered_rps"] for row in rows if row["passes"] is False]
    assert max(passed) < min(failed) <= 1.1 * max(passed)
    assert campaign.ended == "the knee was found"
    assert all(abs(row["asked_input_tokens_mean"] - _mean(row, "input_tokens")) < 1.0 for row in rows)
    assert all(_mean(row, "output_tokens") == pytest.approx(row["asked_output_tokens_mean"]) for row in rows)

    facts = {"server": {"url": "http://x", "model": "small"}, "ended": campaign.ended}
    document = measurement(facts, rows, campaign.notes)
    path = tmp_path / "anything.json"
    path.write_text(json.dumps(document, allow_nan=False))
    found = read_measurement(open_source(file_source(path)))
    assert found is not None
    assert (found.format, len(found.runs)) == ("staircase", len(rows))
    for row, one in zip(rows, found.runs, strict=True):
        assert one.model == "small"
        assert (one.offered_rps, one.completed, one.request_rps) == (
            row["offered_rps"], row["completed"], row["request_rps"],
        )  # fmt: skip
        assert one.latencies_ms["ttft"]["p50"] == row["latencies_ms"]["ttft"]["p50"]
        assert one.latencies_ms["tpot"]["mean"] == row["latencies_ms"]["tpot"]["mean"]
        assert [check.name for check in one.checks if not check.ok and "over_duration" in check.name] == []
    assert curve_svg(document).count("<circle") >= 2 * len(rows)
    text = measurement_text(document)
    assert "knee: all targets met up to" in text
    assert document["knee"]["offered_rps"] == max(passed)
    assert [point["request_rps"] for point in document["curve"]] == sorted(row["request_rps"] for row in rows)


def _mean(row: dict[str, Any], column: str) -> float:
    known = [value for value in row["requests"][column] if value is not None]
    return sum(known) / len(known)


def test_more_than_the_server_can_take_ends_the_step() -> None:
    """It does 4 requests of 5 tokens in some 0.2 s: 50 a second are too many."""

    async def go() -> dict[str, Any]:
        async with serving(slow()) as (_, url):
            campaign = campaign_of(Wanted(rates_rps=(50.0,), warm_up_s=0.5, least_s=20.0), **FIXED)
            await campaign.run(driver_for(asker_for(url), most_in_flight=50))
            return campaign.rows[0]

    row = run(go())
    assert row["saturated"]
    assert row["passes"] is False
    assert row["stopped"] == "more than the server can take: 51 requests were in flight"
    assert row["duration_s"] < 5


def test_littles_law_holds_in_a_closed_loop() -> None:
    wanted = Wanted(at_a_time=(1, 3), warm_up_s=0.5, least_s=3.0)
    alone, three = measured(campaign_of(wanted, **FIXED)).rows
    for row, concurrency in ((alone, 1), (three, 3)):
        assert row["mean_concurrency"] == pytest.approx(concurrency, rel=0.01)
        product = row["request_rps"] * row["latencies_ms"]["e2e"]["mean"] / 1e3
        assert product == pytest.approx(concurrency, rel=0.04)
    assert alone["latencies_ms"]["ttft"]["std"] < 1e-3, "alone every request is like the other"


def test_a_closed_loop_ends_where_more_brings_nothing() -> None:
    wanted = Wanted(closed=True, warm_up_s=0.3, least_s=1.2)
    campaign = measured(campaign_of(wanted, **FIXED, slo={"ttft_p95_ms": 60_000}))
    levels = [row["max_concurrency"] for row in campaign.rows]
    assert levels == [2**place for place in range(len(levels))]
    assert 4 < levels[-1] <= 16, "four seats"


def test_a_slow_load_generator_says_so() -> None:
    """Something holds up the client's loop for 100 ms again and again."""

    async def go() -> dict[str, Any]:
        loop = asyncio.get_running_loop()
        async with serving() as (_, url):
            campaign = campaign_of(Wanted(first_rps=10.0, warm_up_s=1.0, least_s=3.0, most_s=3.0), **FIXED)
            for place in range(30):
                loop.call_later(2.0 + 0.3 * place, _hold_up, loop, 0.1)
            await campaign.run(driver_for(asker_for(url)))
            assert "load generator was the bottleneck" in campaign.ended
            return measurement({}, campaign.rows, [])

    document = run(go())
    assert any("the load generator was the bottleneck" in note for note in document["notes"])


def _hold_up(loop: Any, seconds: float) -> None:
    loop._virtual.now_s += seconds


def test_an_interruption_leaves_what_was_measured() -> None:
    async def go() -> Campaign:
        async with serving() as (_, url):
            driver = driver_for(asker_for(url))
            campaign = campaign_of(Wanted(rates_rps=(5.0, 6.0, 7.0), warm_up_s=1.0, least_s=4.0, most_s=4.0), **FIXED)
            asyncio.get_running_loop().call_later(9.0, driver.interrupt)
            await campaign.run(driver)
            return campaign

    campaign = run(go())
    assert campaign.ended == "interrupted"
    assert [row["stopped"] for row in campaign.rows] == ["", "interrupted"]
    assert campaign.rows[1]["completed"] > 0
    assert measurement_text(measurement({}, campaign.rows, []))


def test_the_last_requests_meet_the_load_of_the_first() -> None:
    """Sending goes on until the requests of the window have ended, and those behind it are not judged."""

    async def go() -> tuple[float, float, int]:
        async with serving() as (_, url):
            requests = (asked(64, 60, place, place * 0.1) for place in range(1000))
            step = await driver_for(asker_for(url)).open_loop(requests, 10.0, 0.5, 1.0)
            last_sent = max(answer.intended_s for answer in step.answers)
            return last_sent, max(answer.last_s or 0.0 for answer in step.judged), len(step.judged)

    last_sent_s, last_ended_s, judged = run(go())
    assert judged == 10
    assert last_sent_s >= min(last_ended_s - 0.11, 0.5 + 1.0 + 1.0 - 0.11)


def test_shared_prefixes_are_found_and_own_parts_are_not() -> None:
    traffic = {**FIXED["traffic"], "prompt_tokens": {"kind": "fixed", "tokens": 200}}
    traffic["prefix"] = {"kind": "shared", "groups": 2, "tokens": 100}
    wanted = Wanted(rates_rps=(5.0, 5.0), warm_up_s=1.0, least_s=2.0, most_s=2.0)
    rows = measured(campaign_of(wanted, traffic=traffic)).rows
    for row in rows:
        assert set(row["requests"]["cached_tokens"]) == {96}, "six blocks of sixteen; prompts of no step come again"


def test_a_server_that_turns_away_is_saturated() -> None:
    async def go() -> dict[str, Any]:
        async with serving(slow(max_waiting=1)) as (_, url):
            campaign = campaign_of(Wanted(at_a_time=(40,), warm_up_s=0.5, least_s=2.0), **FIXED)
            driver = driver_for(asker_for(url))
            await campaign.run(driver)
            return campaign.rows[0]

    row = run(go())
    assert row["saturated"]
    assert "it turned away 20 requests in a row, the last: it answered 503" in row["stopped"]
    assert row["passes"] is False
