"""A load test that would confirm the plan or refute it."""

from __future__ import annotations

import math
import shlex
from typing import Any

from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized
from simulator.statistics import SAMPLES_NEEDED

STEPS = (0.25, 0.5, 0.75, 0.9, 1.0, 1.1, 1.25)
"""Of the capacity of a replica; the last two should fail."""
LEAST_S = 300.0
PERCENTILE_SAMPLES = 20
"""Times the samples that a percentile needs at all: at p95 400 requests, of which 20 lie beyond."""


def load_test_plan(job: Job, size: Sized) -> dict[str, Any]:
    """One replica at rising rates, with the lengths of the scenario, long enough for the highest percentile."""
    steps = [_step(ratio, size.capacity_rps, _needed(job)) for ratio in STEPS]
    hours = sum(step["duration_s"] for step in steps) / 3600
    gpus = size.candidate.gpus_per_replica
    price = float(size.candidate.gpu.price.usd_per_gpu_hour)
    return {
        "replicas": 1,
        "steps": steps,
        "hours": hours,
        "gpu_hours": hours * gpus,
        "usd": hours * gpus * price,
        "passes": [f"{target.label} at most {target.limit:g} ms" if target.metric != "goodput"
                   else f"goodput at least {target.limit:.1%}" for target in job.targets.all],
        "command": _command(job, size),
        "notes": [
            "Replay your own requests (custom dataset) where you can: random tokens hit no cache and stop at a length.",
            "Leave out the first tenth of each step; start with a warm server.",
            "The plan is confirmed when every target holds up to the step of 1.0 × the capacity and one fails beyond.",
        ],
    }  # fmt: skip


def _needed(job: Job) -> int:
    return PERCENTILE_SAMPLES * SAMPLES_NEEDED[job.targets.top_percentile]


def _step(ratio: float, capacity_rps: float, needed: int) -> dict[str, Any]:
    rate = ratio * capacity_rps
    duration_s = max(LEAST_S, needed / rate)
    return {
        "capacity_ratio": ratio,
        "rate_rps": rate,
        "requests": math.ceil(rate * duration_s),
        "duration_s": duration_s,
        "should_pass": ratio <= 1.0,
    }


def _command(job: Job, size: Sized) -> str:
    """`vllm bench serve` at the capacity. Its random lengths are uniform around the mean, and beside the prefix."""
    mix, rate = job.load.mix, size.capacity_rps
    words = [
        "vllm", "bench", "serve", "--model", job.scenario.model.id or "MODEL", "--dataset-name", "random",
        "--random-input-len", str(round(mix.prompt_tokens_mean) - mix.prefix_tokens),
        "--random-output-len", str(round(mix.output_tokens_mean)),
        "--random-prefix-len", str(mix.prefix_tokens),
        "--random-range-ratio", "0.9", "--request-rate", f"{rate:.4g}",
        "--num-prompts", str(_step(1.0, rate, _needed(job))["requests"]),
        "--percentile-metrics", "ttft,tpot,itl,e2el", "--metric-percentiles", "50,90,95,99", "--save-result",
    ]  # fmt: skip
    goodput = [
        f"{'e2el' if name == 'e2e' else name}:{limit:g}" for name, limit in job.targets.goodput_limits_ms.items()
    ]
    if goodput:
        words += ["--goodput", *goodput]
    return shlex.join(words)
