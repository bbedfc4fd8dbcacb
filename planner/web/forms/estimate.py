"""The estimate beside the form: what the closed form says of the texts as they stand."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner import planning
from planner.planning import Scenario
from planner.reports import names
from planner.reports.evidence import nearest_change
from planner.reports.numbers import milliseconds, number, percent, range_text, tidy, usd, usd_signed
from planner.reports.parts import Fact
from planner.web.pictures import Picture, lengths_picture, week_picture

Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class EstimateView:
    """The estimate, ready to print. fleet: "6 × H100", empty where nothing meets the targets; then `why` says why."""

    fleet: str
    layout: str
    why: str
    change: str
    fits: bool
    memory: str
    facts: tuple[Fact, ...]
    money: tuple[Fact, ...]
    notes: tuple[str, ...]
    said: str
    pictures: tuple[Picture, ...]
    took_ms: int


def estimate_view(scenario: Scenario) -> EstimateView:
    """Estimate a scenario and put it in words."""
    started_s = time.perf_counter()
    told = planning.estimate_preview(scenario)
    took_ms = round((time.perf_counter() - started_s) * 1000)
    rows: Sequence[Row] = told["candidates"]
    best = next((row for row in rows if row["id"] == told["recommended"]), None)
    nearest = best or _nearest(rows)
    memory = (nearest or {}).get("memory")
    reason = {} if best else (nearest or {}).get("reason") or {}
    return EstimateView(
        fleet=f"{best['gpus']} × {names.gpu_short(best['gpu'])}" if best else "",
        layout=_layout(best) if best else "",
        why=tidy(reason.get("detail", "")),
        change=nearest_change(reason),
        fits=bool(memory and memory["fits"]),
        memory=f"{number(memory['kv_pool_gib'], 1)} GiB for KV" if memory and memory["fits"] else "",
        facts=tuple(_facts(told, best)) if best else (),
        money=tuple(_money(told, best)),
        notes=tuple(_notes(scenario, best, rows)),
        said=_said(told, best),
        pictures=_pictures(told["traffic"]),
        took_ms=took_ms,
    )


def _nearest(rows: Sequence[Row]) -> Row | None:
    """Of candidates that are all out, the last one whose weights fit: its reason is about the load, not the size."""
    fitting = [row for row in rows if row["memory"] and row["memory"]["fits"]]
    found = fitting or list(rows)
    return found[-1] if found else None


def _layout(best: Row) -> str:
    spares = best["spare_replicas"]
    spare = f" + {spares} spare" if spares else ", no spare"
    replicas = best["serving_replicas"]
    return f"{names.layout(best)}, {replicas} {'replica' if replicas == 1 else 'replicas'}{spare}"


def _facts(told: Row, best: Row) -> Iterator[Fact]:
    """Each target with what is predicted, and how full the fleet is in the busiest hour."""
    for slo in best["slo"]:
        if slo["predicted"] is None:
            continue
        ratio = slo["unit"] != "ms"
        value = percent(slo["predicted"], 1) if ratio else milliseconds(slo["predicted"])
        limit = percent(slo["target"], 1) if ratio else f"ms of {number(slo['target'])}"
        yield Fact(names.metric(slo), f"≈ {value}", f"of {limit}" if ratio else limit, term=str(slo["metric"]))
    capacity = best["serving_replicas"] * best["capacity_rps"]["mid"]
    yield Fact("Busiest hour", f"≈ {percent(told['load']['peak_rps'] / capacity)}", "of capacity")


def _money(told: Row, best: Row | None) -> Iterator[Fact]:
    """The fleet's month, each bill beside it, and what the cheapest one differs by."""
    cost = best["usd_per_month"] if best else None
    if cost:
        spread = "" if cost["low"] == cost["high"] else range_text(cost, usd)
        yield Fact("Self-host", f"≈ {usd(cost['mid'])}", "/month", strong=True, note=spread)
    bills = []
    for api in told["api"]:
        if api["usd_per_month"] is None:
            yield Fact(names.provider(api["provider"]), "no price", note=tidy(api["note"] or ""))
            continue
        bills.append(api["usd_per_month"])
        yield Fact(names.provider(api["provider"]), usd(api["usd_per_month"]), "/month")
    if cost and bills:
        yield Fact("Self-host − cheapest API", f"≈ {usd_signed(cost['mid'] - min(bills))}", "/month", rule=True)


def _notes(scenario: Scenario, best: Row | None, rows: Sequence[Row]) -> Iterator[str]:
    """What the estimate leaves out or lacks."""
    if best and (best["coverage"]["state"] != "measured" or scenario.calibrations):  # a sentence says of both
        yield tidy(best["coverage"]["sentence"])
    if not scenario.api.alternatives:
        yield "No API to compare with is chosen."
    if any((row.get("reason") or {}).get("code") == "price_unknown" for row in rows):
        yield "Some accelerators have no price and are left out."
    yield from planning.not_estimated(scenario)
    yield "No queue is simulated yet: a run confirms or corrects this."


def _said(told: Row, best: Row | None) -> str:
    """The estimate in one line."""
    bills = [api["usd_per_month"] for api in told["api"] if api["usd_per_month"] is not None]
    api = f"; cheapest API {usd(min(bills))}" if bills else ""
    if best is None:
        return f"Nothing meets the targets{api}"
    fleet = f"{best['gpus']} × {names.gpu_short(best['gpu'])}"
    return f"{fleet}, about {usd(best['usd_per_month']['mid'])} a month{api}"


def _pictures(traffic: Row) -> tuple[Picture, ...]:
    return (
        week_picture(traffic["week_rps"]),
        lengths_picture("Prompts", traffic["prompt_tokens"]),
        lengths_picture("Outputs", traffic["output_tokens"]),
    )
