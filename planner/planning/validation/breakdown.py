"""The breakdowns of an error report as Markdown, in the form of docs/validation.md."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.planning.validation.compare import DIMENSIONS
from planner.planning.validation.errors import Report

FEW_ROWS = 5
BROKEN_DOWN = ("throughput", "tpot", "ttft_low", "ttft_closed")


def overall_markdown(report: Report) -> str:
    """A line per metric."""
    lines = [
        "| metric | rows | predicted | median / p90 / bias, % | mean of group medians | median of group medians"
        " | in the 80 % interval | interval score |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for metric, part in report.items():
        if not part["predicted"]:
            continue
        cells = [metric, str(part["rows"]), str(part["predicted"]), _cell(part, counted=False)]
        cells += [_short(part["macro_median_ape_pct"]), _short(part["median_of_medians_ape_pct"])]
        covered, score = part["interval_coverage_pct"], part["interval_score"]
        cells += ["–", "–"] if covered is None else [f"{covered:.0f} %", f"{score:.2f}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def breakdown_markdown(report: Report) -> str:
    """A table per dimension: median / p90 / bias in %, rows in brackets; groups below FEW_ROWS are left out."""
    return "\n\n".join(_dimension(report, dimension) for dimension in DIMENSIONS)


def _dimension(report: Report, dimension: str) -> str:
    groups = {metric: report[metric]["by"][dimension] for metric in BROKEN_DOWN}
    sizes: dict[str, int] = {}
    for found in groups.values():
        for name, part in found.items():
            sizes[name] = sizes.get(name, 0) + part["predicted"]
    lines = [f"By {dimension}:", "", f"| {dimension} | {' | '.join(BROKEN_DOWN)} |", "|---|---|---|---|---|"]
    for name in sorted(sizes, key=lambda name: (-sizes[name], name)):
        cells = [_cell(found.get(name)) for found in groups.values()]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(part: Mapping[str, Any] | None, *, counted: bool = True) -> str:
    if part is None or (counted and part["predicted"] < FEW_ROWS):
        return ""
    figures = [_short(part["median_ape_pct"]), _short(part["p90_ape_pct"]), f"{part['bias_pct']:+.0f}"]
    return " / ".join(figures) + (f" ({part['predicted']})" if counted else "")


def _short(value: float) -> str:
    return f"{value:.1f}" if value < 20 else f"{value:.0f}"
