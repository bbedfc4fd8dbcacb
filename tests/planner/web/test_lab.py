"""The lab's addresses: every state is one, wrong fields are named, nothing needs an account."""

import re
import subprocess
import sys
from html import unescape
from pathlib import Path
from urllib.parse import urlencode

import pytest
from django.test import Client

from planner.web.lab.query import LabQuery

pytestmark = pytest.mark.django_db
SHOWN = {"b_show": "1", "p_show": "1", "x_show": "1", "l_show": "1"}


def get(client: Client, **fields: object) -> str:
    response = client.get("/lab/?" + urlencode(fields))
    assert response.status_code == 200
    return response.content.decode()


def test_a_stranger_may_learn(client: Client) -> None:
    page = get(client)
    for title in ("Static against continuous batching", "Chunked prefill", "Paged KV cache", "Prefix cache", "Little"):
        assert title in page
    assert " style=" not in page


def test_the_answer_is_hidden_until_a_guess(client: Client) -> None:
    page = get(client)
    assert "How many does continuous batching need?" in page
    assert "a freed slot takes" not in page
    assert 'scope="row">Continuous' not in page
    assert "You said 9: " not in page
    assert "you said 9, it is 1 fewer" in get(client, b_guess="9")
    assert "You said 8 steps: right." in get(client, b_guess="8")
    assert 'scope="row">Continuous' in get(client, b_show="1")


def test_every_field_has_a_place_in_the_address(client: Client) -> None:
    """What the form would send gives the same page again: no field is lost on the way."""
    page = get(client, b_load="drawn", b_slots="3", k_block="32", x_changed="7", l_arrivals="0.2", c_api="2.5", **SHOWN)
    names = set(re.findall(r'name="([bpkxlc]_\w+)"', page))
    assert names | {"b_guess", "p_guess", "x_guess", "l_guess"} == set(LabQuery.model_fields)


@pytest.mark.parametrize(
    ("field", "value", "said"),
    [
        ("b_slots", "0", "greater than or equal to 1"),
        ("b_slots", "two", "valid integer"),
        ("b_requests", "2, x, 3", "request 2 is &#x27;x&#x27;"),
        ("b_requests", "0", "at least 1"),
        ("p_chunk", "1", "greater than or equal to 16"),
        ("p_requests", "9999999+1", "may be 1,000,000 together"),
        ("k_blocks", "2", "the longest sequence needs"),
        ("x_shared", "nan", "valid integer"),
        ("l_arrivals", "inf", "number"),
        ("c_usd", "-1", "greater than or equal to"),
    ],
)
def test_a_wrong_field_is_named_and_its_part_alone_has_no_run(
    client: Client, field: str, value: str, said: str
) -> None:
    response = client.get("/lab/?" + urlencode({field: value} | SHOWN))
    page = response.content.decode()
    assert response.status_code == 422
    assert said in page
    assert page.count("Put the marked field right") == 1
    if field.startswith("l_") is False:
        assert f'id="lab-{field}-error"' in page


def test_a_run_too_long_to_draw_keeps_its_table(client: Client) -> None:
    page = get(client, b_requests="9000, 9000", b_slots="1", b_show="1")
    assert "Too many steps to draw" in page
    assert "18,000" in page
    assert len(page) < 200_000


def test_words_of_an_address_are_escaped(client: Client) -> None:
    page = client.get("/lab/?" + urlencode({"b_requests": '"><script>alert(1)</script>'})).content.decode()
    assert "<script>alert" not in page


def test_an_unknown_field_is_ignored_and_a_long_one_refused(client: Client) -> None:
    assert client.get("/lab/?utm=1").status_code == 200
    assert client.get("/lab/?" + urlencode({"b_requests": "1," * 400})).status_code == 422


def test_presets_keep_the_other_parts(client: Client) -> None:
    page = get(client, c_api="2.5")
    links = [unescape(link) for link in re.findall(r'href="(\?[^"]*#batching)"', page)]
    assert len(links) >= 5
    assert all("c_api=2.5" in link for link in links)
    assert get(client).count('aria-current="true"') >= 4


def test_beyond_capacity_the_page_says_that_the_queue_grows(client: Client) -> None:
    drawn = {"b_load": "drawn", "b_slots": "4", "b_mean": "24"}
    assert "the queue grows by about" not in get(client, **drawn, b_rate="0.15", l_arrivals="0.15")
    assert "the queue grows by about" in get(client, **drawn, b_rate="0.25", l_arrivals="0.15")


def test_the_step_of_the_clock_is_in_the_address(client: Client) -> None:
    page = get(client, b_step="3", b_show="1")
    assert "3 of 11" in page
    assert "5 tokens, 1 idle slot-steps" in page
    assert "11 of 11" in get(client, b_step="99")


def test_a_web_process_runs_the_lab_without_the_compiler() -> None:
    code = (
        "import sys; from planner.planning import lab; r = lab.listed_requests('4+2, 8, 3@2'); "
        "lab.batching(r, 2), lab.prefill(r, 2, 16), lab.pool(r, blocks=9, block_tokens=4, allocation='paged'); "
        "lab.drawn(count=9, arrivals_per_step=1, mean_output_tokens=3, sigma=0.5, seed=1); "
        "print('numba' in sys.modules)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, timeout=60)
    assert done.stdout.strip() == "False", done.stderr
