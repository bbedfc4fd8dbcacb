"""Errors of many comparisons: the JSON of `validate`, and its table."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from planner.planning.validation.compare import DIMENSIONS, METRICS, Comparison, Metric, Missing

Report = dict[str, dict[str, Any]]


def error_report(items: Iterable[Comparison | Missing], unreadable: Mapping[Metric, Mapping[str, int]]) -> Report:
    """One object per metric, in a fixed order; figures are None where nothing was predicted.

    `rows` counts every measured figure, unreadable rows included; `skipped` says why figures are not `predicted`.
    """
    found: dict[str, list[Comparison]] = defaultdict(list)
    missing: dict[str, Counter[str]] = defaultdict(Counter)
    for metric, reasons in unreadable.items():
        missing[metric].update(reasons)
    for item in items:
        if isinstance(item, Comparison):
            found[item.metric].append(item)
        else:
            missing[item.metric][item.reason] += 1
    return {metric: _metric_report(found[metric], missing[metric]) for metric in METRICS}


def _metric_report(found: Sequence[Comparison], missing: Counter[str]) -> dict[str, Any]:
    return {
        "rows": len(found) + missing.total(),
        "predicted": len(found),
        "skipped": dict(missing.most_common()),
        **_figures(found),
        "by": {dimension: _groups(found, dimension) for dimension in DIMENSIONS},
    }


def _groups(found: Sequence[Comparison], dimension: str) -> dict[str, Any]:
    parts: dict[str, list[Comparison]] = defaultdict(list)
    for item in found:
        parts[item.groups[dimension]].append(item)
    ordered = sorted(parts.items(), key=lambda part: (-len(part[1]), part[0]))
    return {name: {"predicted": len(items), **_figures(items)} for name, items in ordered}


def _figures(found: Sequence[Comparison]) -> dict[str, float | None]:
    """Median and p90 of the absolute percentage error, median error as bias, mean and median of the groups' medians."""
    errors = np.array([100.0 * (item.ratio - 1.0) for item in found])
    covered = [item.covered for item in found if item.covered is not None]
    scores = [item.interval_score for item in found if item.interval_score is not None]
    return {
        "median_ape_pct": _rounded(np.median(np.abs(errors)) if errors.size else None),
        "p90_ape_pct": _rounded(np.quantile(np.abs(errors), 0.9) if errors.size else None),
        "bias_pct": _rounded(np.median(errors) if errors.size else None),
        "macro_median_ape_pct": _rounded(np.mean(_group_medians(found)) if found else None),
        "median_of_medians_ape_pct": _rounded(np.median(_group_medians(found)) if found else None),
        "interval_coverage_pct": _rounded(100.0 * sum(covered) / len(covered) if covered else None),
        "interval_score": _rounded(np.mean(scores) if scores else None),
    }


def _group_medians(found: Sequence[Comparison]) -> list[float]:
    """The median per model x GPU x engine, so that no source's many rows hide the rest."""
    parts: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for item in found:
        key = (item.groups["model"], item.groups["gpu"], item.groups["engine"])
        parts[key].append(abs(100.0 * (item.ratio - 1.0)))
    return [float(np.median(part)) for part in parts.values()]


def _rounded(value: Any) -> float | None:
    return None if value is None else round(float(value), 2)


def error_table(report: Report) -> str:
    """The report for reading: a line per metric, then the reasons for what is missing."""
    names = ("rows", "predicted", "median %", "p90 %", "bias %", "macro %", "in 80 %")
    widths = (7, 11, 10, 8, 8, 9, 9)
    lines = [f"{'metric':<12}" + "".join(f"{name:>{width}}" for name, width in zip(names, widths, strict=True))]
    for metric, part in report.items():
        if not part["rows"]:
            continue
        keys = ("median_ape_pct", "p90_ape_pct", "bias_pct", "macro_median_ape_pct", "interval_coverage_pct")
        figures = [_cell(part[key], width) for key, width in zip(keys, (10, 8, 8, 9, 9), strict=True)]
        lines.append(f"{metric:<12}{part['rows']:>7}{part['predicted']:>11}{''.join(figures)}")
    for metric, part in report.items():
        for reason, count in part["skipped"].items():
            lines.append(f"  {metric}: {count} not counted: {reason}")
    return "\n".join(lines)


def _cell(value: float | None, width: int) -> str:
    return f"{'-' if value is None else format(value, '.1f'):>{width}}"
