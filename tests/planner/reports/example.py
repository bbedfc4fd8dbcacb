"""Whole reports as a plan wrote them: of the sample scenario, and of the sample with targets that nothing meets."""

import json
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent
SECTIONS = (
    "Recommended fleet",
    "Latency targets",
    "Cost against the API",
    "Break-even",
    "Other ways to run it",
    "Latency and throughput",
    "Load over the week",
    "Memory",
    "Candidates",
    "Sensitivity",
    "How sure",
    "Assumptions and sources",
)


def example() -> dict[str, Any]:
    """A fresh copy of the report of the sample scenario."""
    report: dict[str, Any] = json.loads((FOLDER / "report_example.json").read_text())
    return report


def infeasible_example() -> dict[str, Any]:
    """A fresh copy of a report without a fleet."""
    report: dict[str, Any] = json.loads((FOLDER / "report_infeasible.json").read_text())
    return report
