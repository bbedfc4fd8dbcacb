"""The ways to fail that this plan is near to, with what says so and what to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from costmodel.steptime.shape import link_class
from planner.planning.report.names import likely
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized

NEAR_KV, NEAR_PREEMPTION, NEAR_SHARE, NEAR_PROBABILITY = 0.85, 0.01, 0.1, 0.8
SPREAD_LENGTHS = 1.3


def failure_modes(job: Job, size: Sized, load: dict[str, Any], slo_probability: float) -> list[dict[str, Any]]:
    """Every mode, the near ones first."""
    rows = list(_modes(job, size, load, slo_probability))
    return sorted(rows, key=lambda row: not row["near"])


def _modes(job: Job, size: Sized, load: dict[str, Any], slo_probability: float) -> Iterator[dict[str, Any]]:
    deployment = size.candidate.deployment
    assert deployment is not None
    mix, ready_s = job.load.mix, job.scenario.billing.ready_s
    kv_peak, preempted = float(load["kv_peak_ratio"]), float(load["preemption_ratio"])
    yield _mode(
        "targets_by_a_hair", "Targets met by a hair", slo_probability < NEAR_PROBABILITY,
        f"With the errors of the model all targets hold with a probability of {likely(slo_probability)}.",
        "Load test one replica before buying, or add the replicas named under uncertainty.",
    )  # fmt: skip
    yield _mode(
        "preemption_storm", "Preemption storm", kv_peak > NEAR_KV or preempted > NEAR_PREEMPTION,
        f"The KV pool peaks at {kv_peak:.0%}; {preempted:.1%} of the requests were preempted.",
        "Cap requests in flight, lower max_num_seqs, or take a KV cache of 8 bit.",
    )  # fmt: skip
    longest, budget = float(np.percentile(mix.prompt_tokens, 99)), deployment.max_num_batched_tokens
    yield _mode(
        "long_prompts", "Long prompts stall others", longest > budget,
        f"One prompt in a hundred has {longest:,.0f} tokens or more; a step takes {budget:,}.",
        "A pool of its own for long prompts, or a smaller token budget where TPOT matters more than TTFT.",
    )  # fmt: skip
    hits = float(load["cache_hit_ratio"])
    yield _mode(
        "cold_prefix_cache", "Cold prefix cache", hits > NEAR_SHARE,
        f"The plan counts on {hits:.0%} of the prompt tokens from the cache; after a restart or a changed system "
        "prompt there are none.",
        "Warm a replica before it takes load, keep what changes at the end of prompts, route by prefix.",
    )  # fmt: skip
    yield _mode(
        "shared_prefixes", "Cached prefixes across tenants", hits > NEAR_SHARE and mix.prefix_groups > 1,
        "A hit answers faster than a miss, so that one tenant can probe what another sent.",
        "Salt the cache by tenant (cache_salt), at the price of hits.",
    )  # fmt: skip
    link = link_class(deployment)
    ranks = deployment.parallelism.tp * deployment.parallelism.dp
    words = {"pcie": "PCIe", "network": "the network between nodes", "nvlink": "a switched fabric"}[link]
    yield _mode(
        "slow_links", "Slow links", ranks > 1 and link != "nvlink",
        f"{ranks} ranks of a stage exchange every layer over {words}.",
        "A smaller size with more replicas, or GPUs with a switched fabric.",
    )  # fmt: skip
    yield _mode(
        "cold_start", "Cold start", float(job.load.week_rps.max()) > 1.5 * float(job.load.week_rps.mean()),
        f"A replica starts in {ready_s:g} s, while the peak hour brings {ready_s * job.load.peak_rps:,.0f} requests.",
        "Start ahead of the peak, keep weights on local disks and the compile cache warm.",
    )  # fmt: skip
    p95, mean = float(np.percentile(mix.prompt_tokens, 95)), mix.prompt_tokens_mean
    yield _mode(
        "fixed_lengths", "Load tests with fixed lengths", p95 / mean > SPREAD_LENGTHS,
        f"The 95th percentile of prompts is {p95 / mean:.2g} × their mean; a test at the mean never sees it.",
        "Replay your own lengths, as the load-test plan does.",
    )  # fmt: skip


def _mode(key: str, label: str, near: bool, evidence: str, remedy: str) -> dict[str, Any]:
    return {"key": key, "label": label, "near": bool(near), "evidence": evidence, "remedy": remedy}
