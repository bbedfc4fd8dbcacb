"""Rows of the closed-form estimate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.planning.money.bills import FleetBill
from planner.planning.money.further import further_of
from planner.planning.money.hosted import Hosted
from planner.planning.report.names import amount
from planner.planning.report.plain import usd, usd_per_mtok
from planner.planning.report.provenance import shared_assumptions
from planner.planning.report.rows import GIB, candidate_row, coverage_row
from planner.planning.report.seats import seats_chain
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.closed_form import (
    Form,
    first_missed,
    gap_cv2,
    judged_at,
    lone_latencies,
    surge_ratio,
)
from planner.planning.search.options import Option
from planner.planning.search.targets import Targets, percentile

BEYOND = 1.02
FLOOR_PERCENTILES = (50, 95)


def option_row(job: Job, option: Option, against: Hosted | None) -> dict[str, Any]:
    """One row of `candidates`: the report's keys, and `memory`, `floors`, `saturation_rps`, `usd_per_mtok`,
    `littles_law`, `cheaper_than_api`, `saving_usd_per_month`."""
    candidate, size, bill = option.candidate, option.size, option.bill
    row = unsimulated_row(job, option) | {
        "memory": _memory(job, candidate),
        "floors": None if option.form is None else _floors(option.form),
        "saturation_rps": None if option.form is None else option.form.saturation_rps * option.form.replica.lanes,
        "usd_per_mtok": None,
        "littles_law": None,
        "cheaper_than_api": None,
        "saving_usd_per_month": None,
    }
    if size is None or bill is None:
        return row
    assert option.form is not None
    rate_rps = job.load.peak_rps / size.serving / option.form.replica.lanes
    return row | {
        "usd_per_mtok": {
            "output": usd_per_mtok(bill.cost.usd_per_mtok.output),
            "input": usd_per_mtok(bill.cost.usd_per_mtok.input),
            "blended": usd_per_mtok(bill.cost.usd_per_mtok.blended),
            "output_alone": usd_per_mtok(bill.cost.usd_per_mtok.output_alone),
        },
        "littles_law": seats_chain(option.form, rate_rps),
        **_saving(job, bill, against),
    }


def unsimulated_row(job: Job, option: Option) -> dict[str, Any]:
    """A row of the report's `candidates` with what the closed form says of it."""
    size, bill = option.size, option.bill
    row = candidate_row(job, option.candidate, None, None) | {"simulated": False}
    if size is None or bill is None:
        return row
    assert option.form is not None
    assert option.coverage is not None
    rate_rps = job.load.peak_rps / size.serving / option.form.replica.lanes
    return row | {
        "serving_replicas": size.serving,
        "spare_replicas": bill.running.terms.spare_replicas,
        "replicas": bill.cost.replicas,
        "billing_mode": bill.mode,
        "gpus": bill.cost.gpus,
        "capacity_rps": {"low": size.low_rps, "mid": size.mid_rps, "high": size.high_rps},
        "usd_per_month": bill.range(),
        "slo": _slo(job.targets, option.form, rate_rps),
        "binding": _binding(job.targets, option.form, option.form_rps),
        "coverage": coverage_row(option.coverage),
    }


def _saving(job: Job, bill: FleetBill, against: Hosted | None) -> dict[str, Any]:
    if against is None:
        return {}
    more = further_of(job.scenario)
    api_usd = against.bill.exact_usd_per_month + more.api_usd - more.self_host_usd
    saving = api_usd - bill.cost.exact_usd_per_month
    return {
        "cheaper_than_api": saving > 0,
        "saving_usd_per_month": {
            "low": usd(api_usd - bill.high_usd),
            "mid": usd(saving),
            "high": usd(api_usd - bill.low_usd),
        },
    }


def _memory(job: Job, candidate: Candidate) -> dict[str, Any] | None:
    """Per GPU; None where not even the settings of the engine are possible."""
    memory = candidate.memory
    if memory is None:
        return None
    context = job.load.mix.context_tokens_mean
    return {
        "fits": memory.fits,
        "weights_gib": memory.weights_gib,
        "kv_pool_gib": memory.kv_pool_bytes / GIB,
        "kv_bytes_per_token": memory.kv_bytes_per_token,
        "sequences_at_mean_context": memory.sequences_at(context) if memory.fits else 0,
    }


def _floors(form: Form) -> dict[str, Any]:
    """What an idle replica needs, over the requests of the mix: no load is faster."""
    alone = lone_latencies(form.replica, form.sample)
    return {
        f"{metric}_p{percent}_ms": percentile(alone.of(metric), percent)
        for metric in ("ttft", "tpot", "e2e")
        for percent in FLOOR_PERCENTILES
    }


def _slo(targets: Targets, form: Form, rate_rps: float) -> list[dict[str, Any]]:
    """Every target at the rate of one replica in the peak hour."""
    judged = judged_at(form, targets, rate_rps)
    assert judged is not None, "the fleet is sized below saturation"
    return [
        {
            "metric": item.target.metric,
            "percentile": item.target.percentile,
            "unit": item.target.unit,
            "target": item.target.limit,
            "predicted": item.predicted,
            "met": item.met,
        }
        for item in judged
    ]


def _binding(targets: Targets, form: Form, capacity_rps: float) -> str:
    """What limits a replica, in words."""
    beyond = capacity_rps * BEYOND
    missed = first_missed(form, targets, beyond / form.replica.lanes)
    if missed is None:
        return "No limit was found."
    if missed == "unstable":
        return f"At {amount(beyond)} requests/s a replica's queue grows: it is saturated."
    limit = missed.target.show(missed.target.limit)
    return f"At {amount(beyond)} requests/s a replica's {missed.target.label} is {missed.shown} (target {limit})."


def assumptions(job: Job, hosted: Sequence[Hosted]) -> list[dict[str, str]]:
    """Those of the estimate."""
    return [
        *shared_assumptions(job, hosted),
        {
            "what": "Capacity of a replica",
            "value": "0.9 × the closed form",
            "basis": "simulated capacity was 0.73 to 1.15 × the closed form over 30 varied setups, 0.88 at the median; "
            "the interval joins this with the residuals of the step-time model",
        },
        {
            "what": "Percentiles under load",
            "value": "approximate",
            "basis": "no simulation: preemption, routing and evictions from the prefix cache are left out",
        },
        {
            "what": "Bursts",
            "value": f"squared coefficient of variation of the gaps {gap_cv2(job.load):.3g}; "
            f"surges {surge_ratio(job.load):.3g} × the mean rate",
            "basis": "the scenario's arrivals; spreads of concurrency and waits grow with (1 + cv²) / 2, and a trace "
            "is judged in the half minutes in which its requests crowd",
        },
    ]
