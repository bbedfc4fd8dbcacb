"""The closed-form estimate as one flat row, for cells."""

from __future__ import annotations

from typing import Any

from costmodel import Calibration, catalog_version
from planner.planning.money.hosted import Hosted
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario
from planner.planning.traffic.load import Load
from planner.planning.version import ENGINE_VERSION

ESTIMATE_COLUMNS: dict[str, str] = {
    "feasible": "Whether some candidate meets the targets by the closed form.",
    "candidate": "The cheapest that does; else the nearest one, whose reason follows.",
    "gpu": "Its accelerator.",
    "tp": "Its tensor-parallel size, GPUs per replica.",
    "fits": "Whether weights and one longest sequence fit into memory.",
    "replicas": "Replicas paid, spares included.",
    "serving_replicas": "Replicas that carry the peak hour.",
    "gpus": "GPUs paid.",
    "monthly_cost_usd": "Their month.",
    "monthly_cost_low_usd": "Low end of its interval.",
    "monthly_cost_high_usd": "High end of its interval.",
    "api_monthly_cost_usd": "The cheapest API's month for the same tokens.",
    "monthly_saving_usd": "API less fleet.",
    "cheaper_than_api": "Whether the fleet is cheaper.",
    "break_even_rps": "First mean rate above which the fleet is cheaper; empty where there is none.",
    "break_even_mtok_per_month": "The same in million tokens a month, in and out.",
    "flip_usd_per_gpu_hour": "GPU price at which the verdict turns.",
    "usd_per_gpu_hour": "GPU price counted.",
    "usd_per_mtok_input": "Fleet cost per million input tokens, split 4 : 1.",
    "usd_per_mtok_output": "Fleet cost per million output tokens, split 4 : 1.",
    "usd_per_mtok_blended": "Fleet cost per million tokens, in and out.",
    "capacity_rps": "What one replica serves within the targets.",
    "capacity_low_rps": "Low end of its interval.",
    "capacity_high_rps": "High end of its interval.",
    "saturation_rps": "What one replica serves at most.",
    "utilisation_ratio": "Peak load over the capacity of the serving replicas.",
    "concurrency_mean": "Requests in flight per replica in the peak hour, by Little's law.",
    "concurrency_p95": "Their 95th percentile.",
    "seats": "Sequences one replica runs at once at most.",
    "kv_tokens": "Tokens the KV pool of a replica holds.",
    "ttft_mean_ms": "Mean time to first token in the peak hour.",
    "tpot_mean_ms": "Mean time per output token in the peak hour.",
    "e2e_mean_s": "Mean time of a request in the peak hour.",
    "ttft_floor_p95_ms": "95th percentile of TTFT without other load.",
    "tpot_floor_p95_ms": "95th percentile of TPOT without other load.",
    "peak_rps": "Rate of the peak hour.",
    "input_mtok_per_month": "Million input tokens a month.",
    "output_mtok_per_month": "Million output tokens a month.",
    "reason_code": "Why not even the nearest candidate meets the targets: a stable word.",
    "reason": "The same as a sentence with numbers.",
    "nearest_change": "What would help.",
    "coverage": "measured, fitted or extrapolated.",
    "choice": "self_host, api, hybrid, self_host_only or none.",
    "verdict": "The answer as a sentence.",
    "method": "closed_form.",
    "priced_at": "Date of all prices.",
    "engine_version": "Version of the calculation.",
    "catalog_version": "Version of the catalog.",
    "billing_mode": "The mode that bills the fleet.",
    "hybrid_replicas": "Replicas of the cheapest split with the API; empty where a split does not win.",
    "hybrid_self_hosted_ratio": "Share of the requests that they serve.",
    "hybrid_monthly_cost_usd": "The split's month, both sides.",
    "hybrid_monthly_saving_usd": "Less than the cheaper of both alone.",
    "calibration": "The calibration on runs of your own behind its step times; empty where they are as shipped.",
}
"""Columns in their order, with what they mean. New ones go to the end."""


def flat_row(
    scenario: Scenario,
    load: Load,
    row: dict[str, Any],
    against: Hosted | None,
    verdict: dict[str, Any],
    break_even: dict[str, Any] | None,
    own: Calibration | None,
) -> dict[str, Any]:
    """ESTIMATE_COLUMNS of one candidate's row; None where it has no such value. own: the calibration of its
    deployment."""
    month, capacity = row["usd_per_month"] or {}, row["capacity_rps"] or {}
    per_mtok, law, floors = row["usd_per_mtok"] or {}, row["littles_law"] or {}, row["floors"] or {}
    reason, saving = row["reason"] or {}, row["saving_usd_per_month"] or {}
    crossing = _first_above(break_even)
    requests = load.mean_rps * 3600 * scenario.billing.hours_per_month
    serving, split = row["serving_replicas"], verdict["hybrid"] or {}
    values = {
        "feasible": row["feasible"],
        "candidate": row["id"],
        "gpu": row["gpu"],
        "tp": row["tp"],
        "fits": bool(row["memory"] and row["memory"]["fits"]),
        "replicas": row["replicas"],
        "serving_replicas": serving,
        "gpus": row["gpus"],
        "monthly_cost_usd": month.get("mid"),
        "monthly_cost_low_usd": month.get("low"),
        "monthly_cost_high_usd": month.get("high"),
        "api_monthly_cost_usd": None if against is None else usd(against.bill.exact_usd_per_month),
        "monthly_saving_usd": saving.get("mid"),
        "cheaper_than_api": row["cheaper_than_api"],
        "break_even_rps": crossing.get("mean_rps"),
        "break_even_mtok_per_month": crossing["tokens_per_month"] / 1e6 if crossing else None,
        "flip_usd_per_gpu_hour": verdict["flip_gpu_usd_per_hour"],
        "usd_per_gpu_hour": row["usd_per_gpu_hour"],
        "usd_per_mtok_input": per_mtok.get("input"),
        "usd_per_mtok_output": per_mtok.get("output"),
        "usd_per_mtok_blended": per_mtok.get("blended"),
        "capacity_rps": capacity.get("mid"),
        "capacity_low_rps": capacity.get("low"),
        "capacity_high_rps": capacity.get("high"),
        "saturation_rps": row["saturation_rps"],
        "utilisation_ratio": load.peak_rps / (capacity["mid"] * serving) if capacity else None,
        "concurrency_mean": law.get("concurrency_mean"),
        "concurrency_p95": law.get("concurrency_p95"),
        "seats": law.get("seats"),
        "kv_tokens": row["kv_tokens"],
        "ttft_mean_ms": law.get("ttft_ms"),
        "tpot_mean_ms": law.get("tpot_ms"),
        "e2e_mean_s": law.get("e2e_s"),
        "ttft_floor_p95_ms": floors.get("ttft_p95_ms"),
        "tpot_floor_p95_ms": floors.get("tpot_p95_ms"),
        "peak_rps": load.peak_rps,
        "input_mtok_per_month": requests * load.mix.prompt_tokens_mean / 1e6,
        "output_mtok_per_month": requests * load.mix.output_tokens_mean / 1e6,
        "reason_code": reason.get("code"),
        "reason": reason.get("detail"),
        "nearest_change": reason.get("nearest_change"),
        "coverage": row["coverage"] and row["coverage"]["state"],
        "choice": verdict["choice"],
        "verdict": verdict["sentence"],
        "method": "closed_form",
        "priced_at": scenario.priced_at.isoformat(),
        "engine_version": ENGINE_VERSION,
        "catalog_version": catalog_version(),
        "billing_mode": row["billing_mode"],
        "hybrid_replicas": split.get("replicas"),
        "hybrid_self_hosted_ratio": split.get("self_hosted_ratio"),
        "hybrid_monthly_cost_usd": split.get("usd_per_month"),
        "hybrid_monthly_saving_usd": (split.get("saving_usd_per_month") or {}).get("mid"),
        "calibration": None if own is None else own.basis,
    }
    return {name: values[name] for name in ESTIMATE_COLUMNS}


def _first_above(break_even: dict[str, Any] | None) -> dict[str, Any]:
    """The first volume above which self-hosting is cheaper; empty without one."""
    crossings = break_even["crossings"] if break_even else []
    return next((crossing for crossing in crossings if crossing["cheaper_above"] == "self_host"), {})
