"""Lines beside the GPUs and the API's list price, which a first report leaves at zero and names."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from costmodel.pricing.money import to_decimal
from planner.planning.report.plain import usd
from planner.planning.schema import Scenario

LABELS = (
    ("staff", "Staff", "self_host", "staff_usd_per_month"),
    ("on_call", "On-call", "self_host", "on_call_usd_per_month"),
    ("network_storage", "Network and storage", "self_host", "network_storage_usd_per_month"),
    ("monitoring", "Monitoring", "self_host", "monitoring_usd_per_month"),
    ("api_staff", "Staff for the API", "api", "api_staff_usd_per_month"),
)


@dataclass(frozen=True, slots=True)
class Further:
    """Monthly sums beside GPUs and API bill, USD, and the names of the lines that are in."""

    self_host_usd: Decimal
    api_usd: Decimal
    counted: tuple[str, ...]
    left_out: tuple[str, ...]

    @property
    def sentence(self) -> str:
        """Which lines are in."""
        if not self.counted:
            return "GPUs only: staff, on-call, network, storage and monitoring are not in."
        out = f"; {_listed(self.left_out)} not in" if self.left_out else ""
        return f"Beside GPUs and API bill: {_listed(self.counted)} in{out}."


def _listed(labels: tuple[str, ...]) -> str:
    """Labels within a sentence."""
    return ", ".join(label[0].lower() + label[1:] for label in labels)


def further_of(scenario: Scenario) -> Further:
    """The lines that the scenario gives."""
    given = [(label, side, getattr(scenario.costs, field)) for _, label, side, field in LABELS]
    sums = {
        wanted: sum((to_decimal(value) for _, side, value in given if side == wanted), Decimal(0))
        for wanted in ("self_host", "api")
    }
    counted = tuple(label for label, _, value in given if value)
    left_out = tuple(label for label, side, value in given if not value and side == "self_host")
    return Further(sums["self_host"], sums["api"], counted, left_out)


def further_rows(scenario: Scenario) -> list[dict[str, Any]]:
    """Every line, given or zero, with what is usual."""
    fields = type(scenario.costs).model_fields
    return [
        {
            "key": key,
            "label": label,
            "side": side,
            "usd_per_month": usd(to_decimal(getattr(scenario.costs, field))),
            "counted": bool(getattr(scenario.costs, field)),
            "usual": fields[field].description or "",
        }
        for key, label, side, field in LABELS
    ]
