"""A log of single requests, half against half: what the first half taught must hold for the second.

The log is simulated with constants other than the shipped ones, with a measurement's noise, so that the truth is known.
"""

import json
import math
from dataclasses import replace
from datetime import date

import numpy as np
import pytest

from costmodel import StepFactors
from costmodel.deployment.calibration import Calibration
from planner.planning.calibration.calibrate import DatedRun, calibrate
from planner.planning.calibration.matching import own_calibration
from planner.planning.calibration.replays import ReplayedRun, replayed_run
from planner.planning.validation.request_logs import RequestLog, Served, log_deployment, read_request_log
from planner.planning.validation.request_logs import replay_request_log as replay

DAY = date(2026, 11, 20)
PARTS = 4
"""Of each half: as many runs."""
REQUESTS = 400
META = json.dumps(
    {
        "vllm_version": "0.19.0",
        "engine_kwargs": {"model": "meta-llama/Llama-3.1-8B-Instruct", "dtype": "bfloat16", "max_model_len": 8192},
    }
).encode()
TRUTH = {
    "slow memory": StepFactors(bandwidth=0.85),
    "slow host": StepFactors(host=1.5),
    "both, weak compute": StepFactors(bandwidth=0.9, host=1.3, compute=0.85),
}


def log_of(truth: StepFactors, seed: int) -> RequestLog:
    """Requests at a rate that rises fourfold, as a server with these factors on its constants serves them."""
    rng = np.random.default_rng(seed)
    gaps_s = rng.exponential(1.0, REQUESTS) / np.geomspace(2.0, 8.0, REQUESTS)
    at_s = np.cumsum(gaps_s)
    prompts, outputs = rng.integers(100, 3000, REQUESTS), rng.integers(20, 400, REQUESTS)
    lines = [
        {"arrival_time": at, "queued_ts": at, "scheduled_ts": at, "first_token_ts": at + 1, "last_token_ts": at + 2,
         "input_toks": int(prompt), "output_toks": int(output)}
        for at, prompt, output in zip(at_s.tolist(), prompts, outputs, strict=True)
    ]  # fmt: skip
    asked = read_request_log("H100-SXM5-80GB_made", META, "\n".join(map(json.dumps, lines)).encode())
    own = Calibration(truth, (1.0, 1.0), (1.0, 1.0), (1.0, 1.0), 1, "")
    served = replay(asked, deployment=replace(log_deployment(asked), calibration=own)).predicted
    noise = rng.normal(1.0, 0.02, (2, REQUESTS))
    first_s = served.sent_s + (served.first_token_s - served.sent_s) * noise[0]
    last_s = first_s + (served.last_token_s - served.first_token_s) * noise[1]
    return replace(asked, measured=Served(served.sent_s, served.scheduled_s, first_s, last_s, served.output_tokens))


def runs_of(log: RequestLog, half: int) -> list[ReplayedRun]:
    place = np.arange(REQUESTS)
    first = half * PARTS
    parts = (place * 2 * PARTS // REQUESTS == part for part in range(first, first + PARTS))
    return [replayed_run(log, part) for part in parts]


def error(runs: list[ReplayedRun]) -> float:
    """Mean size of the logarithm of predicted over measured, of TPOT, TTFT and E2E."""
    sizes = []
    for run in runs:
        found = run.predict()
        for figure in run.figures:
            there = {"ttft": found.ttft_ms, "tpot": found.tpot_ms, "e2e": 1e3 * found.e2e_s}[figure.metric]
            assert there
            sizes.append(abs(math.log(there / figure.measured)))
    return float(np.mean(sizes))


@pytest.mark.parametrize("half", [0, 1], ids=["first half", "second half"])
@pytest.mark.parametrize("truth", TRUTH.values(), ids=TRUTH)
def test_one_half_lowers_the_error_of_the_other_and_moves_towards_the_truth(truth: StepFactors, half: int) -> None:
    log = log_of(truth, seed=3)
    taught, other = runs_of(log, half), runs_of(log, 1 - half)
    made = calibrate([DatedRun(run, DAY) for run in taught])
    calibrated = replace(log_deployment(log), calibration=own_calibration(made.stated))
    before, after = error(other), error([run.on(calibrated) for run in other])
    assert after < 0.6 * before
    assert made.told["helps"] is not False
    for name in ("compute", "bandwidth", "host"):
        wanted, found = math.log(getattr(truth, name)), math.log(getattr(made.stated, f"{name}_factor"))
        if wanted:
            assert found * wanted > 0, f"{name} moved away from {math.exp(wanted):.2f}"
