"""What to watch in operation, with thresholds from the plan, and where to stop taking requests."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from planner.planning.search.candidates import Job
from planner.planning.search.closed_form import lone_latencies, sample_of
from planner.planning.search.intervals import Sized

EARLY = 0.8
"""Of a target or limit: where an alarm should sound, before it is missed."""
TENANT_SHARE = 0.25
PATIENCE_S = 10.0
LEAST_KV_ALARM, MOST_KV_ALARM = 0.5, 0.9


def waiting_limit(job: Job, size: Sized) -> int:
    """Requests in line at a replica before the next one would miss its TTFT target: rate within the targets × (target −
    median TTFT of a request alone), at least one. Without a TTFT target ten seconds are waited."""
    replica = size.candidate.replica
    assert replica is not None
    alone_ms = float(np.median(lone_latencies(replica, sample_of(replica, job.load)).ttft_ms))
    tightest = job.targets.tightest_ms("ttft")
    left_s = PATIENCE_S if tightest is None else max(0.0, tightest[0] - alone_ms) / 1e3
    return max(1, math.floor(size.capacity_rps * left_s))


def watch_rows(job: Job, size: Sized, load: dict[str, Any]) -> list[dict[str, Any]]:
    """Metric names are vLLM's; other engines have the same under their own. threshold: in the metric's unit."""
    kv_alarm = min(MOST_KV_ALARM, max(LEAST_KV_ALARM, (1 + float(load["kv_peak_ratio"])) / 2))
    rows = [
        _row("queue", "vllm:num_requests_waiting", waiting_limit(job, size), "requests at a replica",
             "above it the next request misses its TTFT"),
        _row("kv", "vllm:kv_cache_usage_perc", kv_alarm, "of the KV pool",
             f"the plan's peak is {load['kv_peak_ratio']:.0%}; near 1 requests are preempted"),
        _row("preemptions", "rate(vllm:num_preemptions_total[5m])",
             max(0.01, EARLY * 0.05 * job.load.peak_rps / size.serving), "per second and replica",
             "one request in twenty computed again costs more than it gains"),
    ]  # fmt: skip
    for metric, name in (("ttft", "vllm:time_to_first_token_seconds"), ("tpot", "vllm:inter_token_latency_seconds")):
        tightest = job.targets.tightest_ms(metric)
        if tightest is not None:
            limit, percentile = tightest
            query = f"histogram_quantile({percentile / 100:g}, sum(rate({name}_bucket[5m])) by (le))"
            rows.append(_row(metric, query, EARLY * limit / 1e3, "s", f"{EARLY:.0%} of the target of {limit:g} ms"))
    hits = float(load["cache_hit_ratio"])
    if hits > 0.01:
        query = "rate(vllm:prefix_cache_hits_total[15m]) / rate(vllm:prefix_cache_queries_total[15m])"
        why = f"the plan counts on {hits:.0%}; a changed prompt or another router costs capacity"
        rows.append(_row("prefix_cache", query, EARLY * hits, "of prompt tokens, below it", why))
    return rows


def _row(key: str, query: str, threshold: float, unit: str, why: str) -> dict[str, Any]:
    return {"key": key, "query": query, "threshold": threshold, "unit": unit, "why": why}


def limit_rows(job: Job, size: Sized, load: dict[str, Any]) -> list[dict[str, Any]]:
    """Admission limits: reject early with a clear error rather than late with a time-out."""
    in_flight = float(load["concurrency_mean"]) / size.serving
    reach = size.capacity_rps * size.serving / job.load.peak_rps
    most = max(1, math.ceil(in_flight * reach + 3 * math.sqrt(in_flight * reach)))
    waiting = waiting_limit(job, size)
    return [
        {"key": "in_flight", "what": "Requests in flight at a replica", "value": most,
         "basis": "mean at its capacity within the targets + 3 × its square root, as for a Poisson number"},
        {"key": "waiting", "what": "Requests in line at a replica", "value": waiting,
         "basis": "what it finishes between the TTFT of a request alone and its target"},
        {"key": "tenant", "what": "Requests in flight of one tenant, whole fleet",
         "value": max(1, math.ceil(TENANT_SHARE * most * size.serving)),
         "basis": f"{TENANT_SHARE:.0%} of the fleet, so that nobody crowds out the others; an assumption"},
    ]  # fmt: skip
