"""Load tests as `manage.py measure` writes them, of a server whose constants are known: warm-up left out."""

import json
from dataclasses import replace
from datetime import date
from typing import Any

import numpy as np
import pytest

from costmodel import Deployment, StepFactors
from costmodel.deployment.calibration import Calibration
from planner.planning.calibration.calibrate import Calibrated, DatedRun, calibrate
from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.fit import FACTORS, evidence_about
from planner.planning.calibration.judging import figure_errors
from planner.planning.calibration.predicting import value_of
from planner.planning.calibration.runs import MeasuredRun, measured_run
from planner.planning.measurements.own import own_runs
from planner.planning.validation.runs import lane_config, step_time_of
from simulator import Workload, poisson_arrivals_ps, simulate
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms
from simulator.steptime import PS_PER_S
from tests.load_tests import DEPLOYMENT

DAY = date(2026, 11, 20)
TRUTH = StepFactors(bandwidth=0.9, host=1.3)
WARM_UP_S, WINDOW_S = 5.0, 14.0
OWN = "staircase_measurement"


def step(deployment: Deployment, load: float, *, closed: bool, seed: int) -> dict[str, Any]:
    """So many at a time, or so many a second: those that were sent in the window count."""
    rng = np.random.default_rng(seed)
    count = 1500 if closed else round(load * (WARM_UP_S + 2 * WINDOW_S))
    prompts, outputs = rng.integers(200, 1600, count), rng.integers(60, 300, count)
    arrivals = np.zeros(count, np.int64) if closed else poisson_arrivals_ps(load, count, rng)
    config = replace(lane_config(deployment, 1100.0), max_model_len=4096)
    stream = Workload(arrivals, prompts, outputs, concurrency=round(load) if closed else None)
    log = simulate(config, step_time_of(deployment, config), stream)
    from_ps, to_ps = WARM_UP_S * PS_PER_S, (WARM_UP_S + WINDOW_S) * PS_PER_S
    judged = (log.arrival_ps >= from_ps) & (log.arrival_ps < to_ps)
    ended = (log.finish_ps >= from_ps) & (log.finish_ps < to_ps)
    metrics = {"ttft": ttft_ms(log), "tpot": tpot_ms(log), "e2e": e2e_ms(log)}
    return {
        "label": f"{load:g}", "offered_rps": None if closed else load, "max_concurrency": load if closed else None,
        "duration_s": WINDOW_S, "completed": int(ended.sum()), "failed": 0,
        "request_rps": float(ended.sum()) / WINDOW_S, "output_tokens_per_s": float(outputs[ended].sum()) / WINDOW_S,
        "input_tokens": int(prompts[ended].sum()), "output_tokens": int(outputs[ended].sum()),
        "latencies_ms": {name: {"mean": float(each[judged].mean())} for name, each in metrics.items()},
        "requests": {"input_tokens": prompts[judged].tolist(), "output_tokens": outputs[judged].tolist()},
    }  # fmt: skip


def server(closed: tuple[int, ...], at_rates: tuple[float, ...] = ()) -> list[MeasuredRun]:
    _, shipped = read_deployment(DEPLOYMENT)
    true = replace(shipped, calibration=Calibration(TRUTH, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), 1, ""))
    steps = [step(true, load, closed=True, seed=load) for load in closed]
    steps += [step(true, rate, closed=False, seed=round(rate)) for rate in at_rates]
    document = {"format": "staircase-measurement", "settings": {"warm_up_s": WARM_UP_S}, "steps": steps}
    found = own_runs(json.loads(json.dumps(document)))
    return [measured_run(run, OWN, shipped, run.label) for run in found]


def calibrated(runs: list[MeasuredRun]) -> Calibrated:
    return calibrate([DatedRun(run, DAY) for run in runs])


def test_the_burst_of_all_clients_is_not_counted_where_the_load_test_left_it_out() -> None:
    (run,) = server((32,))
    burst = replace(run.setup.load, requests=run.setup.load.requests, warm_up=0, after=0)
    counted = replace(run, setup=replace(run.setup, load=burst))
    first = next(figure for figure in run.figures if figure.metric == "ttft")
    near, far = (value_of(each.predict(), first) for each in (run, counted))
    assert near == pytest.approx(first.measured, rel=0.25)
    assert far is not None
    assert near is not None
    assert abs(far - first.measured) > abs(near - first.measured)


@pytest.mark.parametrize(
    ("closed", "at_rates"), [((4, 16, 64), ()), ((2, 8, 32), (4.0,)), ((4, 32), ())], ids=["three", "mixed", "two"]
)
def test_few_load_tests_narrow_the_interval_or_leave_it_and_the_truth_lies_inside(
    closed: tuple[int, ...], at_rates: tuple[float, ...]
) -> None:
    runs = server(closed, at_rates)
    made = calibrated(runs)
    assert made.told["helps"] is not False, made.told["against"]
    for name, shipped in made.told["shipped_ratios"].items():
        low, high = (getattr(made.stated, f"{name}_{end}_ratio") for end in ("p10", "p90"))
        assert high / low <= shipped[1] / shipped[0] + 1e-5, name
    errors = made.told["median_error_pct"]
    assert errors["after"] < errors["before"]
    for row in made.told["figures"]:
        part = "closed_ttft" if row["metric"] == "ttft" else "step_time"
        if row["metric"] != "ttft" or not at_rates:
            low, high = (getattr(made.stated, f"{part}_{end}_ratio") for end in ("p10", "p90"))
            assert low <= row["measured"] / row["after"] <= high, row


def test_e2e_is_judged_where_requests_are_equally_long_since_long_answers_weigh_more_in_it() -> None:
    (run,) = server((8,))
    evidence = evidence_about([run], np.zeros(len(FACTORS)))
    equal = replace(run, setup=replace(run.setup, load=replace(run.setup.load, lengths="fixed")))
    assert (0, "e2e") not in figure_errors([run], evidence, evidence.predicted)
    assert (0, "e2e") in figure_errors([equal], evidence, evidence.predicted)
