"""How often a planned fleet meets its targets when it is simulated afresh with drawn errors of the model.

Also a script: `python -m tests.planning.fresh_seeds` prints the table of docs/validation.md.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from planner.planning import parse_scenario
from planner.planning.search.candidates import Job, evaluate, make_job, setups_of
from planner.planning.search.confirmation import confirmed_hour
from planner.planning.search.intervals import sized_by_simulation
from planner.planning.search.inventory import resolve_gpus
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.uncertainty.slo_probability import Residuals, residuals, simulated_probability
from tests.planning.scenarios import changed

SEEDS = 40


@dataclass(frozen=True, slots=True)
class Promise:
    """Of so many serving replicas: the probability stated, and the share of fresh runs that met every target."""

    serving: int
    stated_ratio: float
    met: int
    seeds: int


def promises(document: dict[str, Any], seeds: int = SEEDS) -> Iterator[Promise]:
    """The planned fleet of the scenario's first accelerator and layout, then one with a replica fewer."""
    scenario = parse_scenario(document)
    job = make_job(scenario, lambda: None)
    gpu = resolve_gpus(scenario.hardware, scenario.priced_at)[0]
    candidate = evaluate(job, setups_of(job, gpu)[0])
    size = sized_by_simulation(job, candidate)
    errors = residuals(size.coverage)
    for serving in (size.serving, size.serving - 1):
        met = sum(_meets(job, candidate.replica, errors, serving, seed, seeds) for seed in range(seeds))
        yield Promise(serving, simulated_probability(job, size, serving), met, seeds)


def _meets(job: Job, replica: Any, errors: Residuals, serving: int, seed: int, seeds: int) -> bool:
    """One hour with requests of its own, all steps off by one factor and every TTFT by another: each at even places of
    its distribution over the seeds, in an order of its own."""
    step, ttft = (
        np.random.default_rng([job.load.seed, error]).permutation(normal_quantiles(seeds))[seed] for error in (1, 2)
    )
    slow = replica.slowed(float(errors.step.at(np.array([step]))[0]))
    off = float(errors.ttft_beyond.at(np.array([ttft]))[0])
    load = replace(job.load, seed=10_000 + seed)
    run = confirmed_hour(slow, load, job.targets, serving, "round_robin").run
    return run.stable and all(
        item.predicted is not None
        and item.target.met_by(item.predicted * (off if item.target.metric == "ttft" else 1.0))
        for item in run.judged
    )


def document(model: str, gpu: str, tp: int, rps: float, prompt: int, output: int, **slo: float) -> dict[str, Any]:
    """Poisson arrivals at a constant rate, lognormal lengths."""
    out = changed("model", {"id": model})
    out["hardware"] = {"gpus": [gpu], "tensor_parallel": [tp]}
    out["traffic"] = {
        "arrival": {"kind": "poisson", "mean_rps": rps},
        "prompt_tokens": {"kind": "lognormal", "mean": prompt, "p95": 2.5 * prompt},
        "output_tokens": {"kind": "lognormal", "mean": output, "p95": 2.5 * output},
    }
    out["slo"] = slo
    return out


LLAMA_8B, LLAMA_70B = "meta-llama/Llama-3.1-8B-Instruct", "meta-llama/Llama-3.3-70B-Instruct"
SCENARIOS = {
    "8B chat on L40S": document(LLAMA_8B, "L40S", 1, 30.0, 800, 200, ttft_p95_ms=1000, tpot_p95_ms=60),
    "8B long prompts on H100": document(
        LLAMA_8B, "H100-SXM5-80GB", 1, 20.0, 5000, 200, ttft_p95_ms=3000, tpot_p95_ms=60
    ),
    "70B chat on 4 H100": document(LLAMA_70B, "H100-SXM5-80GB", 4, 20.0, 1200, 250, ttft_p95_ms=1500, tpot_p95_ms=60),
    "gpt-oss-120b, long answers": document(
        "openai/gpt-oss-120b", "H200-SXM-141GB", 1, 20.0, 1000, 800, ttft_p95_ms=1500, tpot_p95_ms=40
    ),
}


def main() -> None:
    """A row per scenario: replicas, stated, met, and the same with one fewer."""
    for name, scenario in SCENARIOS.items():
        enough, fewer = promises(scenario)
        cells = [f"{p.serving} | {p.stated_ratio:.0%} | {p.met} of {p.seeds}" for p in (enough, fewer)]
        sys.stdout.write(f"| {name} | {' | '.join(cells)} |\n")


if __name__ == "__main__":
    main()
