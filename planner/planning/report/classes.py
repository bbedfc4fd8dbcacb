"""Classes of requests that share a fleet: what each gets of it, and what an API would charge for each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from planner.planning.money.hosted import Hosted, class_bills_usd
from planner.planning.money.tokens import monthly_tokens
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.capacity import Run
from planner.planning.search.targets import Latencies, Targets, latencies


def class_rows(job: Job, hosted: Sequence[Hosted], candidate: Candidate | None) -> list[dict[str, Any]]:
    """The `classes` part of the report, empty with requests of one kind; of the recommended fleet's simulated peak hour
    where there is one. goodput_ratio: share of a class's requests within all its thresholds; binding: its target is
    the first to fail with a replica fewer, or at the next rate of a single one."""
    mix, targets = job.load.mix, job.targets
    if mix.class_of is None:
        return []
    fleet = None if candidate is None else candidate.fleet
    pooled = None if fleet is None else latencies(fleet.run.logs, steady=True)
    bound = None if candidate is None else _binding_class(candidate)
    bills = [class_bills_usd(job.scenario, job.load, api) for api in hosted]
    requests = monthly_tokens(job.load, job.scenario.billing.hours_per_month).requests
    rows = []
    for place, own in enumerate(mix.classes):
        part = mix.of_class(place)
        good = None if pooled is None else goodput_ratio(targets, pooled, place)
        peak_rps = job.load.peak_rps * own.share_ratio
        rows.append(
            {
                "name": own.name,
                "share_ratio": own.share_ratio,
                "priority": own.priority,
                "requests_per_month": round(requests * len(part.prompt_tokens) / len(mix.prompt_tokens)),
                "peak_rps": peak_rps,
                "prompt_tokens_mean": part.prompt_tokens_mean,
                "output_tokens_mean": part.output_tokens_mean,
                "prefix_tokens": own.prefix_tokens,
                "goodput_ratio": good,
                "goodput_rps": None if good is None else good * peak_rps,
                "binding": None if fleet is None else place == bound,
                "api": [
                    {"provider": api.price.provider, "model": api.price.model, "usd_per_month": usd(amounts[place])}
                    for api, amounts in zip(hosted, bills, strict=True)
                ],
            }
        )
    return rows


def goodput_ratio(targets: Targets, pooled: Latencies, place: int) -> float | None:
    """Share of a class's requests within all its thresholds: those of its goodput, else its highest percentile targets;
    without targets of its own those of all requests. None without any."""
    assert pooled.class_of is not None
    own = [target for target in targets.all if target.traffic_class == place]
    limits = targets.class_limits_ms[place] if own else targets.goodput_limits_ms
    if not limits:
        asked = own or [target for target in targets.all if target.traffic_class is None]
        limits = {target.metric: target.limit for target in asked if target.percentile and target.metric != "itl"}
    if not limits:
        return None
    inside = pooled.only(pooled.class_of == place)
    good = np.ones(len(inside.ttft_ms), dtype=bool)
    for metric, limit in limits.items():
        good &= ~(inside.of(metric) > limit)
    return float(good.mean()) if len(good) else None


def _binding_class(candidate: Candidate) -> int | None:
    """Place of the class whose target fails first; None where it is one of all requests, or the queue grows."""
    assert candidate.fleet is not None
    failing: Run | None = candidate.fleet.one_less
    if failing is None and candidate.capacity is not None:
        failing = candidate.capacity.failing
    if failing is None or not failing.stable:
        return None
    missed = next((item for item in failing.judged if not item.met), None)
    return None if missed is None else missed.target.traffic_class
