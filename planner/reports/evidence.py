"""What the answer rests on: candidates with their reasons, sources with dates and ages, how to repeat."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any

from planner.reports import computed, names
from planner.reports.numbers import (
    DASH,
    age_days,
    between,
    milliseconds,
    number,
    percent,
    range_text,
    requests_per_s,
    tidy,
)
from planner.reports.parts import Cell, Column, Fact, Row, Table

Report = Mapping[str, Any]
OLD_AFTER_DAYS = 90
_ADDRESS = re.compile(r"https?://[^\s,;]+")


def candidates_table(report: Report) -> Table:
    """All candidates, the cheapest that meets the targets first; the others with the reason."""
    chosen = (report.get("recommended") or {}).get("candidate")
    rows = sorted(report["candidates"], key=lambda row: (row["id"] != chosen, not row["feasible"], _cost(row)))
    scenario = (report.get("provenance") or {}).get("scenario") or {}
    hours = (scenario.get("billing") or {}).get("hours_per_month")
    return Table("Candidates by cost", CANDIDATE_COLUMNS, tuple(candidate_row(row, chosen, hours) for row in rows))


CANDIDATE_COLUMNS = (
    Column("GPU", sort="none"),
    Column("Layout", sort="none"),
    Column("Capacity of one", "req/s", numeric=True, sort="none", minor=True),
    Column("GPUs", numeric=True, sort="none", minor=True),
    Column("Replicas", "serving + spare", numeric=True, sort="none"),
    Column("Cost", "$/month", numeric=True, sort="ascending"),
    Column("TTFT", "ms", numeric=True, sort="none"),
    Column("TPOT", "ms", numeric=True, sort="none"),
    Column("Result", wide=True),
)


def candidate_row(row: Mapping[str, Any], chosen: str | None = None, hours: float | None = None) -> Row:
    """One candidate; also the rows of the progress page. Of one that is out, the reason stands in place of figures."""
    cost, capacity = row.get("usd_per_month"), row.get("capacity_rps")
    why = tidy((row.get("reason") or {}).get("detail", ""))
    covered = (row.get("coverage") or {}).get("state")
    first = (
        Cell(names.gpu(row["gpu"]), note=" · ".join(part for part in (row.get("precision"), covered) if part)),
        Cell(names.layout(row)),
        Cell(requests_per_s(capacity["mid"]) if capacity else DASH, why=why),
        Cell(number(row.get("gpus")), why=why),
    )
    if not row["feasible"] and not cost:
        return Row((*first, replace(_result(row, chosen), span=len(CANDIDATE_COLUMNS) - len(first))), "off")
    replicas = DASH if row.get("serving_replicas") is None else f"{row['serving_replicas']} + {row['spare_replicas']}"
    cells = (
        *first,
        Cell(replicas, why=why, sort=row.get("replicas")),
        Cell(
            number(cost["mid"]) if cost else DASH,
            note="" if not cost or cost["low"] == cost["high"] else range_text(cost, joiner=f" {DASH} "),
            why=why,
            sort=cost["mid"] if cost else None,
            how=computed.candidate_cost_how(row, hours),
        ),
        _latency_cell(row, "ttft", why),
        _latency_cell(row, "tpot", why),
        _result(row, chosen),
    )
    return Row(cells, "pick" if row["id"] == chosen else "" if row["feasible"] else "off")


def _cost(row: Mapping[str, Any]) -> float:
    cost = row.get("usd_per_month")
    return float(cost["mid"]) if cost else float("inf")


def _latency_cell(row: Mapping[str, Any], metric: str, why: str) -> Cell:
    slo = next((s for s in row.get("slo") or () if s["metric"] == metric), None)
    if slo is None or slo["predicted"] is None:
        return Cell(DASH, why=why or "no target for it")
    return Cell(milliseconds(slo["predicted"]), note=f"p{slo['percentile']}", sort=slo["predicted"])


def _result(row: Mapping[str, Any], chosen: str | None) -> Cell:
    if row["id"] == chosen:
        return Cell("Recommended", state="yes", note=tidy(row.get("binding") or ""))
    if row["feasible"] and not row.get("simulated", True):
        return Cell(
            "Meets, by the closed form",
            state="yes",
            note=f"Not simulated: it costs more. {tidy(row.get('binding') or '')}".strip(),
        )
    if row["feasible"]:
        return Cell("Meets", state="yes", note=tidy(row.get("binding") or ""))
    reason = row.get("reason") or {}
    return Cell(
        names.reason(reason.get("code", "unknown")),
        state="no",
        note=" ".join(part for part in (tidy(reason.get("detail", "")), nearest_change(reason)) if part),
    )


def nearest_change(reason: Mapping[str, Any]) -> str:
    """The nearest change that would help, as one sentence; empty when none is known."""
    change = reason.get("nearest_change")
    if not change:
        return ""
    text = change if isinstance(change, str) else "; ".join(change)
    return f"Nearest change: {tidy(text)}"


PRECISION_COLUMNS = (
    Column("Weights, cache", sort="none"),
    Column("GPU", sort="none"),
    Column("Layout", sort="none"),
    Column("Weights", "GiB per GPU", numeric=True, sort="none"),
    Column("KV cache", "tokens", numeric=True, sort="none"),
    Column("GPUs", numeric=True, sort="none"),
    Column("Cost", "$/month", numeric=True, sort="ascending"),
    Column("Result", wide=True),
)


def precisions_table(report: Report) -> Table | None:
    """The cheapest fleet in each number format that was tried; None where there was no choice."""
    rows = report.get("precisions") or ()
    if not rows:
        return None
    return Table("The cheapest fleet in each number format", PRECISION_COLUMNS, tuple(map(_precision_row, rows)))


def _precision_row(row: Mapping[str, Any]) -> Row:
    cost, why = row["usd_per_month"], tidy((row["reason"] or {}).get("detail", ""))
    cells = (
        Cell(row["precision"]),
        Cell(names.gpu(row["gpu"])),
        Cell(names.layout(row)),
        Cell(number(row["weights_gib"]), why=why),
        Cell(number(row["kv_tokens"]), why=why),
        Cell(number(row["gpus"]), why=why),
        Cell(number(cost["mid"]) if cost else DASH, why=why, sort=cost["mid"] if cost else None),
        _result({**row, "id": row["candidate"]}, row["candidate"] if row["chosen"] else None),
    )
    return Row(cells, "pick" if row["chosen"] else "" if row["feasible"] else "off")


def causes(report: Report) -> tuple[tuple[str, str, str], ...]:
    """When nothing meets the targets: (candidate, cause, nearest change), one per distinct cause."""
    seen: dict[tuple[str, str], tuple[str, str, str]] = {}
    for row in report["candidates"]:
        reason = row.get("reason")
        if row["feasible"] or not reason:
            continue
        key = (row["gpu"], reason["code"])
        label = f"{names.gpu(row['gpu'])}, {names.layout(row)}"
        seen.setdefault(key, (label, tidy(reason["detail"]), nearest_change(reason)))
    return tuple(seen.values())


SOURCE_COLUMNS = (
    Column("What"),
    Column("Value", wide=True),
    Column("Source", wide=True),
    Column("Licence"),
    Column("Date", whole=True),
    Column("Age", "days", numeric=True),
)


def sources_table(report: Report, today: date) -> Table | None:
    """Where values come from, with date and age; what is older than 90 days stands out. Single price listings have
    a table of their own, since there are dozens."""
    rows = [row for row in _sources(report) if not _is_listing(row)]
    return Table("Sources", SOURCE_COLUMNS, tuple(_source_row(row, today) for row in rows)) if rows else None


def listings_table(report: Report, today: date) -> Table | None:
    """Every price listing behind the GPU prices."""
    rows = [row for row in _sources(report) if _is_listing(row)]
    if not rows:
        return None
    return Table("Price listings", SOURCE_COLUMNS, tuple(_source_row(row, today) for row in rows), small=True)


def _sources(report: Report) -> list[Mapping[str, Any]]:
    return list((report.get("provenance") or {}).get("sources") or [])


def _is_listing(row: Mapping[str, Any]) -> bool:
    return " at " in row["what"] and str(row.get("value", "")).endswith("per GPU-hour")


def _source_row(row: Mapping[str, Any], today: date) -> Row:
    days = age_days(row.get("as_of"), today)
    old = days is not None and days > OLD_AFTER_DAYS
    age = (
        Cell(DASH, why="no date given") if days is None else Cell(number(days), state="clock" if old else "", badge=old)
    )
    source = row.get("source") or ""
    address = _ADDRESS.match(source)
    return Row(
        (
            Cell(row["what"]),
            Cell(tidy(str(row.get("value") or DASH))),
            Cell(source or DASH, href=address.group() if address else ""),
            Cell(row.get("licence") or DASH, why="none stated"),
            Cell(row.get("as_of") or DASH, why="no date given"),
            age,
        )
    )


def old_prices(report: Report, today: date) -> tuple[tuple[str, int], ...]:
    """(what, days) of prices older than 90 days, oldest first."""
    aged = [
        (row["what"], age_days(row.get("as_of"), today)) for row in _sources(report) if "price" in row["what"].lower()
    ]
    return tuple(sorted(((w, d) for w, d in aged if d is not None and d > OLD_AFTER_DAYS), key=lambda item: -item[1]))


def assumptions_table(report: Report) -> Table | None:
    """What was assumed, and on what basis."""
    rows = (report.get("provenance") or {}).get("assumptions") or []
    if not rows:
        return None
    columns = (Column("Assumption"), Column("Value", wide=True), Column("Basis", wide=True))
    texts = ((row["what"], tidy(str(row["value"])), tidy(str(row.get("basis") or DASH))) for row in rows)
    return Table("Assumptions", columns, tuple(Row(tuple(map(Cell, row))) for row in texts))


@dataclass(frozen=True, slots=True)
class Coverage:
    """How near the measurements the prediction stands. calibrated: the plan took calibrations of the team's."""

    state: str
    sentence: str
    facts: tuple[Fact, ...]
    calibrated: bool = False


def coverage(report: Report) -> Coverage | None:
    """Measured, fitted or extrapolated, for model, GPU and engine."""
    said = (report.get("provenance") or {}).get("coverage")
    if not said:
        return None
    facts = tuple(
        Fact(key.upper() if key == "gpu" else key.capitalize(), said.get(key) or DASH)
        for key in ("model", "gpu", "engine")
    )
    stated = (report["provenance"].get("scenario") or {}).get("calibrations")
    return Coverage(said["state"], tidy(said.get("sentence") or ""), facts, calibrated=bool(stated))


def interval_sentence(report: Report) -> str:
    """What the intervals are made of."""
    known = report.get("uncertainty") or {}
    if known.get("step_time_p10_ratio") is None:
        return ""
    ratios = between(known["step_time_p10_ratio"], known["step_time_p90_ratio"], lambda value: percent(value))
    return f"Intervals: step times at {ratios} of the prediction (10th to 90th percentile; {tidy(known['basis'])})."


def repeat_facts(report: Report) -> tuple[Fact, ...]:
    """What fixes the result."""
    p = report["provenance"]
    return (
        Fact("Scenario digest", p["scenario_digest"]),
        Fact("Seed", str(p["seed"])),
        Fact("Prices of", p["priced_at"]),
        Fact("Engine, schema, catalog", f"{p['engine_version']}, {p['schema_version']}, {p['catalog_version']}"),
    )
