"""Results of vLLM's `bench serve`, SGLang's `bench_serving` and llm-optimizer, which wraps either.

Summaries are in ms, arrays of single requests in seconds. `itls` are gaps between chunks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.planning.measurements.result import (
    Run,
    first_number,
    length_counts,
    limit,
    num,
    scaled,
    section,
    statistics_ms,
    whole,
)

_PREFIXES = {"ttft": "ttft", "tpot": "tpot", "itl": "itl"}
_STATISTICS = {"mean": "mean", "p50": "median", "std": "std", "p90": "p90", "p95": "p95", "p99": "p99", "p25": "p25"}


def is_bench_serving(document: Any) -> bool:
    """Whether an object is one run of either tool."""
    if not isinstance(document, dict) or not {"duration", "total_output_tokens", "mean_ttft_ms"} <= set(document):
        return False
    return "completed" in document or "num_prompts" in document


def is_llm_optimizer(document: Any) -> bool:
    """Whether an object is one line of llm-optimizer."""
    results = section(document, "results")
    return bool(section(document, "config")) and ("completed" in results or "mean_ttft_ms" in results)


def tool_of(document: Mapping[str, Any]) -> str:
    """sglang or vllm, by the name of the whole latency."""
    return "sglang" if "mean_e2e_latency_ms" in document or document.get("backend") == "sglang" else "vllm"


def llm_optimizer_run(document: Mapping[str, Any]) -> Run:
    """One line of llm-optimizer; the lengths of its configuration are nominal."""
    run = bench_serving_run(section(document, "results"))
    client = section(document, "config", "client_args")
    server = section(document, "config", "server_args")
    run.model = run.model or str(server.get("model_path") or server.get("model") or client.get("model") or "")
    run.nominal_input_tokens = first_number(client, ("random_input_len", "random_input")) or run.nominal_input_tokens
    run.nominal_output_tokens = (
        first_number(client, ("random_output_len", "random_output")) or run.nominal_output_tokens
    )
    run.max_concurrency = limit(client.get("max_concurrency")) or run.max_concurrency
    asked = whole(client.get("num_prompts"))
    if run.failed is None and asked is not None and run.completed is not None:
        run.failed = asked - run.completed
    return run


def bench_serving_run(document: Mapping[str, Any]) -> Run:
    """One run of `bench serve` or `bench_serving`."""
    e2e = "e2e_latency" if tool_of(document) == "sglang" else "e2el"
    latencies = {
        ours: scaled(document, {stat: f"{name}_{theirs}_ms" for stat, name in _STATISTICS.items()}, 1.0)
        for ours, theirs in (*_PREFIXES.items(), ("e2e", e2e))
    }
    completed, asked = whole(document.get("completed")), whole(document.get("num_prompts"))
    failed = whole(document.get("failed"))
    if failed is None and asked is not None and completed is not None:
        failed = asked - completed
    run = Run(
        label=str(document.get("label") or document.get("tag") or document.get("date") or ""),
        model=str(document.get("model_id") or document.get("model") or ""),
        engine=str(document.get("backend") or ""),
        duration_s=num(document.get("duration")),
        completed=completed,
        failed=failed,
        input_tokens=num(document.get("total_input_tokens")),
        output_tokens=num(document.get("total_output_tokens")),
        nominal_input_tokens=num(document.get("random_input_len")),
        nominal_output_tokens=num(document.get("random_output_len")),
        offered_rps=limit(document.get("request_rate")),
        max_concurrency=limit(document.get("max_concurrency")),
        mean_concurrency=num(document.get("concurrency")),
        request_rps=num(document.get("request_throughput")),
        goodput_rps=first_number(document, ("request_goodput", "request_goodput:")),
        input_tokens_per_s=num(document.get("input_throughput")),
        output_tokens_per_s=num(document.get("output_throughput")),
        total_tokens_per_s=first_number(document, ("total_token_throughput", "total_throughput")),
        latencies_ms={name: stats for name, stats in latencies.items() if stats},
    )
    if document.get("random_range_ratio") not in (None, 1.0, 1):
        run.nominal_input_tokens = run.nominal_output_tokens = None
    _from_arrays(run, document)
    return run


def _from_arrays(run: Run, document: Mapping[str, Any]) -> None:
    """Fills in what the arrays of a detailed result tell and its summary does not."""
    sides = {"input": length_counts(document.get("input_lens")), "output": length_counts(document.get("output_lens"))}
    run.lengths = {side: counts for side, counts in sides.items() if counts}
    ttfts, itls, lengths = (document.get(key) for key in ("ttfts", "itls", "output_lens"))
    if not isinstance(ttfts, list) or not isinstance(itls, list) or not isinstance(lengths, list):
        return
    if not len(ttfts) == len(itls) == len(lengths):
        run.notes.append("the arrays of single requests differ in length and were not used")
        return
    ttft_ms, tpot_ms, e2e_ms = [], [], []
    itl_ms: list[float] = []
    for ttft, gaps, length in zip(ttfts, itls, lengths, strict=True):
        first, count = num(ttft), num(length)
        if first is None or not count or not isinstance(gaps, list):
            continue
        known = [value for value in map(num, gaps) if value is not None]
        rest = sum(known)
        ttft_ms.append(first * 1e3)
        e2e_ms.append((first + rest) * 1e3)
        itl_ms.extend(gap * 1e3 for gap in known)
        if count > 1:
            tpot_ms.append(rest * 1e3 / (count - 1))
    for name, values in (("ttft", ttft_ms), ("tpot", tpot_ms), ("itl", itl_ms), ("e2e", e2e_ms)):
        run.latencies_ms[name] = {**statistics_ms(values), **run.latencies_ms.get(name, {})}
