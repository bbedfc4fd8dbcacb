"""Result files of load tests as vLLM's `bench serve` writes them, of a server whose speed the test sets."""

import json
from typing import Any

from costmodel import Deployment
from planner.planning.calibration.deployment import read_deployment
from planner.planning.calibration.predicting import predicted_figures
from planner.planning.calibration.runs import MeasuredRun, measured_run
from planner.planning.measurements import Run
from planner.planning.measurements.bench_serving import bench_serving_run
from planner.planning.measurements.checks import add_checks

MODEL = "meta-llama/Llama-3.1-8B-Instruct"
DEPLOYMENT: dict[str, Any] = {
    "model": MODEL,
    "gpu": "H100-SXM5-80GB",
    "tensor_parallel": 1,
    "engine": "vllm",
    "measured_on": "2026-11-20",
}


def bench_run(
    in_flight: int,
    *,
    tpot_ms: float,
    ttft_ms: float,
    prompt: int = 1000,
    output: int = 200,
    rounds: int = 10,
    **more: Any,
) -> dict[str, Any]:
    """One run of a closed loop whose numbers agree with each other."""
    count = in_flight * rounds
    e2e_ms = ttft_ms + tpot_ms * (output - 1)
    duration_s = rounds * e2e_ms / 1e3
    return {
        "date": "20261120-101500", "backend": "vllm", "model_id": MODEL, "num_prompts": count, "completed": count,
        "request_rate": "inf", "max_concurrency": in_flight, "duration": duration_s,
        "total_input_tokens": count * prompt, "total_output_tokens": count * output,
        "request_throughput": count / duration_s, "output_throughput": count * output / duration_s,
        "total_token_throughput": count * (prompt + output) / duration_s,
        "mean_ttft_ms": ttft_ms, "mean_tpot_ms": tpot_ms, "mean_itl_ms": tpot_ms, "mean_e2el_ms": e2e_ms, **more,
    }  # fmt: skip


def bench_serving(*runs: dict[str, Any]) -> bytes:
    """A file of runs, one object a line; without any, one run of four in flight."""
    return "\n".join(json.dumps(run) for run in runs or (bench_run(4, tpot_ms=7.0, ttft_ms=60.0),)).encode()


def slower_server(ratio: float, in_flight: tuple[int, ...] = (1, 4, 16, 64)) -> bytes:
    """A sweep of a server that needs `ratio` times as long as the shipped constants say, queues and all."""
    return bench_serving(*(scaled_run(each, ratio) for each in in_flight))


def scaled_run(in_flight: int, ratio: float, **more: Any) -> dict[str, Any]:
    """One run of that sweep."""
    draft = add_checks(bench_serving_run(bench_run(in_flight, tpot_ms=10.0, ttft_ms=100.0)))
    found = {each.figure.metric: each.predicted for each in predicted_figures(measured(draft))}
    return bench_run(in_flight, tpot_ms=ratio * found["tpot"], ttft_ms=ratio * found["ttft"], **more)


def measured(run: Run, deployment: Deployment | None = None) -> MeasuredRun:
    """A run on one H100 under vLLM."""
    if deployment is None:
        _, deployment = read_deployment(DEPLOYMENT)
    return measured_run(run, "vllm_bench_serve", deployment, run.label or "run")
