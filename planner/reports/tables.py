"""Tables of a report: flat rows with columns in a fixed order, for CSV, XLSX and cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

Report = Mapping[str, Any]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with their columns in a fixed order."""

    columns: Sequence[str]
    rows: Sequence[Mapping[str, Any]]


def flat(report: Report) -> Table:
    """Every value of a report, long and narrow: its section, its JSON pointer, itself; empty lists and objects too."""
    return Table(("section", "pointer", "value"), [row for name in report for row in _leaves(name, "", report[name])])


def _leaves(section: str, below: str, value: Any) -> Iterator[Row]:
    if value and isinstance(value, dict | list):
        for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
            place = str(name).replace("~", "~0").replace("/", "~1")
            yield from _leaves(section, f"{below}/{place}", inner)
    else:
        yield {
            "section": section,
            "pointer": f"/{section}{below}",
            "value": value or None if value in ({}, []) else value,
        }


_PERCENTILES = tuple(
    f"{metric}_p{percent}_ms" for metric in ("ttft", "tpot", "itl", "e2e") for percent in (50, 90, 95, 99)
)
_CANDIDATE = (
    "id", "gpu", "tp", "pp", "ep", "weight_dtype", "kv_dtype", "simulated", "feasible", "reason_code",
    "reason", "nearest_change",
    "serving_replicas", "spare_replicas", "replicas", "gpus", "capacity_low_rps", "capacity_rps", "capacity_high_rps",
    "usd_per_gpu_hour", "monthly_cost_low_usd", "monthly_cost_usd", "monthly_cost_high_usd", "kv_tokens", "binding",
    "coverage", *_PERCENTILES, "goodput_ratio",
)  # fmt: skip
_CURVE = (
    "rps", "served_tokens_per_s", "ttft_p50_ms", "ttft_p95_ms", "tpot_p50_ms", "tpot_p95_ms", "stable",
)  # fmt: skip
_COST = ("label", "quantity", "unit", "usd_per_unit", "usd_per_month", "basis")
_API = (
    "provider", "model", "available", "usd_per_month", "usd_per_mtok_blended", "source", "priced_at", "note", "terms",
    "minimum_usd_per_month",
)  # fmt: skip
_SENSITIVITY = (
    "label", "low_label", "high_label", "saving_low_usd_per_month", "saving_high_usd_per_month", "flips",
)  # fmt: skip


def candidates(report: Report) -> Table:
    """Every fleet tried, one row each; a target's column holds what is predicted for it."""
    return Table(_CANDIDATE, [_candidate(row) for row in report["candidates"]])


def _candidate(row: Mapping[str, Any]) -> Row:
    reason, coverage = row["reason"] or {}, row["coverage"] or {}
    capacity, month = row["capacity_rps"] or {}, row["usd_per_month"] or {}
    flat = {
        "reason_code": reason.get("code"),
        "reason": reason.get("detail"),
        "nearest_change": reason.get("nearest_change"),
        "capacity_low_rps": capacity.get("low"),
        "capacity_rps": capacity.get("mid"),
        "capacity_high_rps": capacity.get("high"),
        "monthly_cost_low_usd": month.get("low"),
        "monthly_cost_usd": month.get("mid"),
        "monthly_cost_high_usd": month.get("high"),
        "coverage": coverage.get("state"),
        **{_slo_column(item): item["predicted"] for item in row["slo"] if not item.get("traffic_class")},
    }
    return {name: flat[name] if name in flat else row.get(name) for name in _CANDIDATE}


def _slo_column(item: Mapping[str, Any]) -> str:
    return "goodput_ratio" if item["percentile"] is None else f"{item['metric']}_p{item['percentile']}_ms"


def curves(report: Report) -> Table:
    """The recommended fleet at rising load."""
    return _picked(_CURVE, report["curves"])


def timeseries(report: Report) -> Table:
    """The hours of the week from Monday 0:00: rate and serving replicas needed."""
    return _picked(("hour", "rps", "replicas_needed"), (report["load"] or {}).get("week", ()))


def cost(report: Report) -> Table:
    """The lines of the fleet's month."""
    return _picked(_COST, (report["cost"] or {}).get("lines", ()))


def api(report: Report) -> Table:
    """The month of each hosted model."""
    since = {"terms": "", "minimum_usd_per_month": None}  # absent from reports made before
    return _picked(_API, [since | row for row in report["api"]])


def break_even(report: Report) -> Table:
    """The staircase and each API's line: columns api_1_usd_per_month, … in the order of `api`."""
    names = tuple(f"api_{place}_usd_per_month" for place in range(1, len(report["api"]) + 1))
    points = (report["break_even"] or {}).get("curve", ())
    rows = [{**point, **dict(zip(names, point["api_usd_per_month"], strict=True))} for point in points]
    return _picked(("mean_rps", "tokens_per_month", "replicas", "self_host_usd_per_month", *names), rows)


def sensitivity(report: Report) -> Table:
    """What the saving becomes when one assumption changes."""
    return _picked(_SENSITIVITY, report["sensitivity"])


def memory(report: Report) -> Table:
    """The subtraction from device memory to KV pool."""
    return _picked(("label", "gib", "formula", "basis"), (report["memory"] or {}).get("lines", ()))


def _picked(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> Table:
    return Table(tuple(columns), [{name: row[name] for name in columns} for row in rows])


TABLES: dict[str, Callable[[Report], Table]] = {
    "candidates": candidates,
    "curves": curves,
    "timeseries": timeseries,
    "cost": cost,
    "api": api,
    "break-even": break_even,
    "sensitivity": sensitivity,
    "memory": memory,
}
"""By the name that an address has for it."""

LABELS: dict[str, str] = {
    "candidates": "Candidates",
    "curves": "Latency by load",
    "timeseries": "Load of the week",
    "cost": "Self-host cost",
    "api": "API bills",
    "break-even": "Break-even",
    "sensitivity": "Sensitivity",
    "memory": "Memory",
}
"""What a page calls them, by the same names."""
