"""Where a load test goes next, and what its answers say."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning.measuring.answers import (
    Answer,
    Step,
    client_adds_ms,
    client_limits,
    rose,
    statistics_ms,
    step_row,
)
from planner.planning.measuring.document import row_notes
from planner.planning.measuring.search import CLOSE_RATIO, MOST_STEPS, Rates, enough_at_a_time
from planner.planning.search.targets import Target, Targets

TARGETS = Targets((Target("ttft", 50, 100.0), Target("tpot", 50, 20.0)), {})


@given(capacity=st.floats(0.01, 1000), first=st.floats(0.1, 100))
def test_rates_close_in_on_the_capacity(capacity: float, first: float) -> None:
    rates = Rates(first)
    tried = []
    for rate in rates:
        tried.append(rate)
        rates.tell(rate, rate <= capacity)
    assert len(tried) <= MOST_STEPS
    if len(tried) < MOST_STEPS and rates.passed:
        assert max(rates.passed) <= capacity < min(rates.failed) <= CLOSE_RATIO * max(rates.passed) * (1 + 1e-9)


def test_rates_stay_below_what_is_allowed() -> None:
    rates = Rates(1.0, 5.0)
    tried = []
    for rate in rates:
        tried.append(rate)
        rates.tell(rate, True)
    assert tried == [1.0, 2.0, 4.0, 5.0]


def test_more_at_a_time_ends_where_it_brings_nothing() -> None:
    def row(rps: float, passes: bool | None = True) -> dict[str, object]:
        return {"request_rps": rps, "passes": passes}

    assert not enough_at_a_time([row(1.0)])
    assert not enough_at_a_time([row(1.0), row(1.9)])
    assert enough_at_a_time([row(1.0), row(1.9), row(1.95)])
    assert enough_at_a_time([row(1.0), row(1.9, False)])


def answer(at_s: float, ttft_s: float = 0.05, tokens: int = 11, gap_s: float = 0.01, error: str = "") -> Answer:
    end_s = at_s + ttft_s + gap_s * (tokens - 1)
    found = Answer(at_s, 40, tokens, ended_s=end_s, prompt_tokens=40, output_tokens=tokens, error=error, detail=error)
    if not error:
        found.first_s, found.last_s, found.chunks = at_s + ttft_s, end_s, tokens
        found.gaps_s = [gap_s] * (tokens - 1)
    return found


def step_of(answers: list[Answer], rate: float | None = 10.0, concurrency: int | None = None) -> Step:
    return Step(rate, concurrency, 1.0, 11.0, answers)


def test_what_a_step_says() -> None:
    row = step_row(step_of([answer(place * 0.1) for place in range(120)]), TARGETS)
    assert row["judged"] == 100
    assert (row["completed"], row["request_rps"]) == (100, 10.0)
    assert row["output_tokens_per_s"] == pytest.approx(110.0)
    assert row["mean_concurrency"] == pytest.approx(1.5)
    assert row["latencies_ms"]["ttft"]["p99"] == pytest.approx(50.0)
    assert row["latencies_ms"]["tpot"]["p50"] == pytest.approx(10.0), "the first token is not in it"
    assert row["latencies_ms"]["e2e"]["p50"] == pytest.approx(150.0)
    assert row["passes"] is True
    assert row["goodput_ratio"] == 1.0


def test_failures_are_infinitely_slow_for_targets_and_missing_in_latencies() -> None:
    answers = [answer(1.0 + place * 0.1, error="http_500" if place % 2 else "") for place in range(100)]
    answers.append(answer(10.95, error="http_500"))
    row = step_row(step_of(answers), TARGETS)
    assert (row["failed"], row["errors"]) == (51, {"http_500": 51})
    assert row["latencies_ms"]["ttft"]["samples"] == 50
    assert row["passes"] is False
    assert row["targets"][0]["measured"] is None
    assert row["goodput_ratio"] == pytest.approx(50 / 101)


def test_too_few_requests_say_nothing() -> None:
    assert step_row(step_of([answer(2.0)]), TARGETS)["passes"] is None
    assert step_row(step_of([]), TARGETS)["passes"] is None


def test_no_percentile_from_fewer_samples_than_it_needs() -> None:
    import numpy as np

    assert "p95" not in statistics_ms(np.arange(19.0))
    assert statistics_ms(np.arange(1.0, 101.0))["p99"] == 99.0
    assert statistics_ms(np.array([math.inf, math.nan])) == {}


def test_a_growing_number_in_flight_is_seen() -> None:
    steady = [answer(place * 0.02) for place in range(600)]
    growing = [answer(place * 0.02, ttft_s=0.3 * place * 0.02) for place in range(600)]
    assert not rose(step_of(steady))
    assert rose(step_of(growing))
    assert not rose(step_of(growing, None, 8)), "a closed loop cannot grow"


def test_what_limits_the_client() -> None:
    step = step_of([answer(place * 0.1) for place in range(100)])
    assert client_limits(step) == []
    step.answers[50].late_s = step.answers[51].late_s = 0.04
    step.lags_ms = [0.1] * 90 + [30.0] * 10
    step.busy_ratio = 0.97
    assert len(client_limits(step)) == 3


def test_a_client_that_cannot_keep_up_says_how_much_it_adds() -> None:
    quick, late = step_of([answer(place * 0.1) for place in range(100)]), step_of([answer(0.1 * n) for n in range(100)])
    quick.lags_ms = [0.9] * 100
    late.lags_ms = [2.1] * 100
    for each in late.answers:
        each.late_s = 0.004
    assert client_adds_ms(quick) == 0.0
    assert client_adds_ms(late) == pytest.approx(5.0)
    for step, says in ((quick, False), (late, True)):
        assert any("TTFT is about" in note for note in row_notes(step_row(step, TARGETS))) is says
