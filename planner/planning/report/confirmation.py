"""The chosen fleet, simulated whole: the peak hour behind its router and another, and a day."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.planning.report.names import counted
from planner.planning.search.candidates import Job
from planner.planning.search.capacity import Run
from planner.planning.search.confirmation import HOURS, Day, Whole, confirmed_day, confirmed_hour
from planner.planning.search.intervals import Sized
from planner.planning.search.targets import Latencies, judge, latencies
from simulator.fleet import Router

ROUTER_NAMES: dict[Router, str] = {
    "round_robin": "in turn",
    "least_requests": "to the replica with the fewest in flight",
    "prefix_affine": "to the replica that had the longest part of the prompt",
    "kv_aware": "by cached prefix and load",
}


def router_row(size: Sized) -> dict[str, Any]:
    """How requests are dealt, and why so."""
    replica, fleet = size.candidate.replica, size.candidate.fleet
    assert replica is not None
    assert fleet is not None
    name = ROUTER_NAMES[replica.router]
    sentence = f"Requests are dealt {name}."
    if fleet.in_turn is not None:
        meet = "meets" if fleet.serving == 1 else "meet"
        sentence = (
            f"Sent {name}, {counted(fleet.serving, 'serving replica')} {meet} the targets; dealt in turn it takes "
            f"{fleet.in_turn:,}."
        )
    return {"key": replica.router, "serving_replicas_in_turn": fleet.in_turn or fleet.serving, "sentence": sentence}


def confirmation_section(job: Job, size: Sized, hour: Whole) -> dict[str, Any]:
    """`peak_hour`, the same hour for each router, and `day`; see docs/architecture.md."""
    replica, fleet = size.candidate.replica, size.candidate.fleet
    assert replica is not None
    assert fleet is not None
    hours = [hour]
    other: Router = "least_requests" if replica.router == "round_robin" else "round_robin"
    if hour.replicas * replica.lanes > 1:
        hours.append(confirmed_hour(replica, job.load, job.targets, size.serving, other))
    day = confirmed_day(replica, job.load, job.targets, size.serving, replica.router)
    return {
        "sampled_lanes": len(fleet.run.logs),
        "settled": fleet.run.settled,
        "peak_hour": _whole_row(hour),
        "routers": [{"router": item.router, "met": item.run.ok, "slo": _slo(item.run)} for item in hours],
        "day": None if day is None else _day_row(job, day),
        "sentence": " ".join(
            part for part in (_hour_sentence(hour), _day_sentence(day), _router_sentence(hours)) if part
        ),
    }


def _whole_row(whole: Whole) -> dict[str, Any]:
    return {
        "router": whole.router,
        "serving_replicas": whole.serving,
        "simulated_replicas": whole.replicas,
        "requests": len(whole.log),
        "stable": whole.run.stable,
        "met": whole.run.ok,
        "slo": _slo(whole.run),
    }


def _slo(run: Run) -> list[dict[str, Any]]:
    return [
        {
            "metric": item.target.metric,
            "percentile": item.target.percentile,
            **({"traffic_class": item.target.class_name} if item.target.class_name else {}),
            "unit": item.target.unit,
            "target": item.target.limit,
            "predicted": item.predicted,
            "met": item.met,
        }
        for item in run.judged
    ]


def _day_row(job: Job, day: Day) -> dict[str, Any]:
    pooled = latencies([day.whole.log], steady=False)
    return _whole_row(day.whole) | {
        "first_hour": day.first_hour,
        "hour_ratio": day.hour_ratio,
        "hours": [_hour_row(job, day, pooled, hour) for hour in range(HOURS)],
    }


def _hour_row(job: Job, day: Day, pooled: Latencies, hour: int) -> dict[str, Any]:
    """Requests that arrive in one hour of the day; met is None where they are too few for a target."""
    log = day.whole.log
    length_ps = round(3600 * day.hour_ratio * 1e12)
    inside = (log.arrival_ps >= hour * length_ps) & (log.arrival_ps < (hour + 1) * length_ps)
    judged = [item for item in judge(job.targets, pooled.only(inside)) if item.target.metric != "itl"]
    known = [item for item in judged if item.predicted is not None]
    return {
        "hour": day.first_hour + hour,
        "rps": day.rates_rps[hour] * day.whole.serving / day.whole.replicas,
        "requests": int(inside.sum()),
        "met": all(item.met for item in known) if known else None,
    }


def _verb(router: Router) -> str:
    return "dealt" if router == "round_robin" else "sent"


def _hour_sentence(hour: Whole) -> str:
    how, whole = "Simulated whole", "the serving replica"
    if hour.replicas < hour.serving:
        how = "Simulated with draws of its own"
        whole = f"{hour.replicas:,} of {hour.serving:,} serving replicas with their share of the load"
    elif hour.serving > 1:
        whole = f"all {counted(hour.serving, 'serving replica')}"
    dealt = f", {_verb(hour.router)} {ROUTER_NAMES[hour.router]}" if hour.replicas > 1 else ""
    return f"{how}, the peak hour meets every target on {whole}: {len(hour.log):,} requests{dealt}."


def _day_sentence(day: Day | None) -> str:
    if day is None:
        return "The busiest day has too few requests to be judged."
    whole = day.whole
    part = "" if day.hour_ratio == 1 else f", {day.hour_ratio:.0%} of each hour"
    if whole.replicas < whole.serving:
        part += f", on {whole.replicas:,} of {whole.serving:,} replicas"
    result = "meets every target, too" if whole.run.ok else "does not meet every target when all its hours count alike"
    return f"The busiest day ({len(whole.log):,} requests{part}) {result}."


def _router_sentence(hours: Sequence[Whole]) -> str:
    """The tails by router, side by side."""
    if len(hours) < 2:
        return ""
    first, other = hours
    pairs = [
        f"{a.target.label} {b.shown} instead of {a.shown}"
        for a, b in zip(first.run.judged, other.run.judged, strict=True)
        if a.predicted is not None and b.predicted is not None
    ]
    return (
        f"{_verb(other.router).capitalize()} {ROUTER_NAMES[other.router]} it would be {', '.join(pairs)}."
        if pairs
        else ""
    )
