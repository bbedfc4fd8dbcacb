"""Drawn requests keep to their rate and mean, and Little's law holds on any of the lesson's runs."""

import pytest

from simulator.errors import SimulatorError
from simulator.lesson import run_lesson
from simulator.lesson_load import drawn_requests, in_system


def test_arrivals_and_lengths_are_those_asked_for() -> None:
    requests = drawn_requests(10_000, 0.15, 24, 0.8, seed=3)
    assert requests[-1].arrival_step == pytest.approx(10_000 / 0.15, rel=0.03)
    assert sum(r.output_tokens for r in requests) / 10_000 == pytest.approx(24, rel=0.03)


def test_no_rate_means_all_at_once_and_no_spread_all_alike() -> None:
    requests = drawn_requests(20, 0, 24, 0, seed=1)
    assert {(r.arrival_step, r.output_tokens) for r in requests} == {(0, 24)}


def test_moving_the_rate_leaves_the_lengths() -> None:
    slow, fast = drawn_requests(50, 0.1, 24, 0.8, seed=1), drawn_requests(50, 0.2, 24, 0.8, seed=1)
    assert [r.output_tokens for r in slow] == [r.output_tokens for r in fast]
    assert slow[-1].arrival_step > fast[-1].arrival_step


@pytest.mark.parametrize("policy", ["static", "continuous"])
def test_littles_law_holds_step_by_step(policy: str) -> None:
    requests = drawn_requests(200, 0.2, 24, 0.8, seed=1)
    run = run_lesson(requests, 4, policy)  # type: ignore[arg-type]
    inside = in_system(run)
    assert len(inside) == run.makespan_steps
    arrivals_per_step = len(requests) / run.makespan_steps
    assert sum(inside) / len(inside) == pytest.approx(arrivals_per_step * run.mean_latency_steps)


@pytest.mark.parametrize(
    ("arguments", "field"),
    [
        ((0, 0.1, 24, 0.8, 1), "count"),
        ((10, -1, 24, 0.8, 1), "arrivals_per_step"),
        ((10, 0.1, 0, 0.8, 1), "mean_output_tokens"),
        ((10, 0.1, 24, 3, 1), "sigma"),
        ((10, 1e-9, 24, 0.8, 1), "count"),
    ],
)
def test_what_cannot_be_drawn_is_refused(arguments: tuple[float, ...], field: str) -> None:
    with pytest.raises(SimulatorError) as refused:
        drawn_requests(*arguments)  # type: ignore[arg-type]
    assert refused.value.field == field
