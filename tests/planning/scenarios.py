"""Scenario documents that tests start from."""

import copy
from typing import Any

from costmodel import Parallelism
from planner.planning import FieldError, ScenarioInvalid, parse_scenario
from planner.planning.search.candidates import Job, Setup, setups_of
from planner.planning.search.inventory import resolve_gpus
from planner.planning.search.precisions import precisions_of

SUPPORT_CHAT: dict[str, Any] = {
    "name": "Support chat",
    "model": {"id": "meta-llama/Llama-3.3-70B-Instruct", "weight_dtype": "fp8", "kv_dtype": "fp8"},
    "hardware": {
        "gpus": ["H100-SXM5-80GB", "H200-SXM-141GB"],
        "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 3.20}},
    },
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 6.0},
        "shape": {"kind": "diurnal", "peak_to_mean": 2.4},
        "prompt_tokens": {"kind": "lognormal", "mean": 1155, "p95": 3200},
        "output_tokens": {"kind": "lognormal", "mean": 211, "p95": 480},
        "prefix": {"kind": "shared", "groups": 1, "tokens": 300},
    },
    "slo": {"ttft_p95_ms": 1000, "tpot_p95_ms": 50, "goodput_min_ratio": 0.95},
    "api": {"alternatives": [{"provider": "groq", "model": "llama-3.3-70b-versatile"}]},
    "engine": {"name": "vllm", "max_model_len": 16384},
    "billing": {"mode": "always_on", "hours_per_month": 730, "spare_replicas": 1},
    "priced_at": "2026-11-30",
    "seed": 1,
}


def changed(path: str, value: Any, base: dict[str, Any] = SUPPORT_CHAT) -> dict[str, Any]:
    """A copy with the value at a dotted path replaced; ... removes it."""
    document = copy.deepcopy(base)
    *above, last = path.split(".")
    here = document
    for step in above:
        here = here.setdefault(step, {})
    if value is ...:
        here.pop(last, None)
    else:
        here[last] = value
    return document


def errors_of(document: Any) -> tuple[FieldError, ...]:
    """The faults of a document; none when it is accepted."""
    try:
        parse_scenario(document)
    except ScenarioInvalid as invalid:
        return invalid.errors
    return ()


def layouts_of(job: Job) -> tuple[Parallelism, ...]:
    """What is tried on the scenario's first accelerator."""
    gpu = resolve_gpus(job.scenario.hardware, job.scenario.priced_at)[0]
    return tuple(setup.layout for setup in setups_of(job, gpu))


def setup_of(job: Job, layout: Parallelism) -> Setup:
    """The scenario's first accelerator and first number format in this layout."""
    gpu = resolve_gpus(job.scenario.hardware, job.scenario.priced_at)[0]
    return Setup(gpu, layout, precisions_of(job.scenario.model, job.model, gpu.accelerator)[0])
