"""Results of several reports side by side, as plain values: what the API answers and the page prints."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planner.reports import names
from planner.reports.headline import against, candidate_of

Report = Mapping[str, Any]
Kind = str
Target = tuple[str, int | None, str | None]
"""Metric, percentile (None: a ratio), and the class of requests whose target it is (None: of all)."""
METRICS = ("ttft", "tpot", "itl", "e2e", "goodput")


@dataclass(frozen=True, slots=True)
class Result:
    """One result of every side. `values`: a range {low, mid, high}, of a target also {target, met}; a number; a text;
    None where a side has none. `less_is_better`: None where neither is."""

    name: str
    label: str
    unit: str
    values: tuple[Any, ...]
    less_is_better: bool | None = None


def results(reports: Sequence[Report | None]) -> tuple[Result, ...]:
    """Verdict, fleet, load, cost, API bill, break-even and each target; a result that no side has is left out."""
    rows = [
        Result(name, label, unit, tuple(None if report is None else take(report) for report in reports), less)
        for name, label, unit, less, take in _TAKEN
    ]
    rows += [_target(reports, *target) for target in _targets(reports)]
    return tuple(row for row in rows if any(value is not None for value in row.values))


def _cost(report: Report) -> Any:
    return (report.get("cost") or {}).get("usd_per_month")


def _fleet(report: Report) -> str | None:
    fleet = report.get("recommended")
    return None if not fleet else f"{fleet['gpus']} × {names.gpu_short(fleet['gpu'])}"


def _bill(report: Report) -> Any:
    bill = against(report)
    return None if bill is None else bill["usd_per_month"]


def _opponent(report: Report) -> str | None:
    bill = against(report)
    return None if bill is None else f"{names.provider(bill['provider'])}, {bill['model']}"


def _per_mtok(report: Report) -> Any:
    return ((report.get("cost") or {}).get("usd_per_mtok") or {}).get("blended")


def _load(key: str) -> Callable[[Report], Any]:
    return lambda report: (report.get("load") or {}).get(key)


def _capacity(report: Report) -> Any:
    return (candidate_of(report) or {}).get("capacity_rps")


def _crossing(report: Report) -> Any:
    """Mean load of the first crossing with the bill that the verdict compares with; "never" without one."""
    bill = against(report)
    rows = (report.get("break_even") or {}).get("against") or ()
    if bill is None:
        return None
    row = next((r for r in rows if (r["provider"], r["model"]) == (bill["provider"], bill["model"])), None)
    if row is None:
        return None
    return "never" if not row["crossings"] else min(float(c["mean_rps"]) for c in row["crossings"])


_TAKEN: tuple[tuple[str, str, str, bool | None, Callable[[Report], Any]], ...] = (
    ("verdict", "Verdict", "", None, lambda report: report["verdict"]["choice"]),
    ("fleet", "Smallest fleet", "", None, _fleet),
    ("replicas", "Replicas", "", None, lambda report: (report.get("recommended") or {}).get("replicas")),
    ("gpus", "GPUs", "", True, lambda report: (report.get("recommended") or {}).get("gpus")),
    ("usd_per_month", "Self-host", "$/month", True, _cost),
    ("api_usd_per_month", "API, same tokens", "$/month", True, _bill),
    ("api", "API compared with", "", None, _opponent),
    (
        "saving_usd_per_month",
        "Self-hosting saves",
        "$/month",
        False,
        lambda report: report["verdict"].get("saving_usd_per_month"),
    ),
    ("usd_per_mtok_blended", "Cost of tokens, blended", "$/M tokens", True, _per_mtok),
    ("break_even_rps", "Break-even, first crossing", "req/s, mean", True, _crossing),
    (
        "flip_gpu_usd_per_hour",
        "Answer turns at a GPU price of",
        "$/GPU-hour",
        None,
        lambda report: report["verdict"].get("flip_gpu_usd_per_hour"),
    ),
    ("mean_rps", "Load, mean", "req/s", None, _load("mean_rps")),
    ("offered_rps", "Load, peak hour", "req/s", None, _load("offered_rps")),
    ("capacity_rps", "Capacity of a replica", "req/s", False, _capacity),
    ("utilisation_ratio", "Use of the capacity at the peak", "ratio", None, _load("utilisation_ratio")),
)


def _targets(reports: Sequence[Report | None]) -> list[Target]:
    found = {_key(row) for report in reports for row in _judged(report)}
    return sorted(found, key=lambda key: (key[2] or "", METRICS.index(key[0]) if key[0] in METRICS else 9, key[1] or 0))


def _judged(report: Report | None) -> Sequence[Mapping[str, Any]]:
    return (report or {}).get("slo") or ()


def _key(row: Mapping[str, Any]) -> Target:
    return row["metric"], row["percentile"], row.get("traffic_class")


def _target(reports: Sequence[Report | None], metric: str, percentile: int | None, kind: str | None) -> Result:
    ratio = percentile is None
    name = f"{metric}_ratio" if ratio else f"{metric}_p{percentile}_ms"
    label = names.metric({"metric": metric, "percentile": percentile, "traffic_class": kind})
    values = tuple(_predicted(report, (metric, percentile, kind)) for report in reports)
    name = f"{name}:{kind}" if kind else name
    return Result(name, label, "ratio" if ratio else "ms", values, less_is_better=not ratio)


def _predicted(report: Report | None, target: Target) -> Any:
    row = next((each for each in _judged(report) if _key(each) == target), None)
    if row is None or row["predicted"] is None:
        return None
    return {"low": row["low"], "mid": row["predicted"], "high": row["high"], "target": row["target"], "met": row["met"]}
