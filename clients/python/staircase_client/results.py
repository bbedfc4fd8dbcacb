"""Reports and estimates with names that read like the documentation; `raw` is the whole document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from staircase_client.kinds import ReportSections


@dataclass(frozen=True, slots=True)
class Verdict:
    """The answer. choice: self_host, api, hybrid (a split of both), self_host_only (no API was asked for) or none."""

    sentence: str
    detail: str
    choice: str
    saving_usd_per_month: float | None

    def __str__(self) -> str:
        return self.sentence


class _Document:
    """What reports and estimates share."""

    def __init__(self, raw: Mapping[str, Any]) -> None:
        self.raw = dict(raw)

    @property
    def verdict(self) -> Verdict:
        verdict = self.raw["verdict"]
        saving = verdict["saving_usd_per_month"]
        return Verdict(verdict["sentence"], verdict["detail"], verdict["choice"], saving["mid"] if saving else None)

    @property
    def feasible(self) -> bool:
        """Whether some candidate meets the targets."""
        return self.raw["recommended"] is not None

    @property
    def candidates(self) -> list[dict[str, Any]]:
        return list(self.raw["candidates"])

    @property
    def _best_id(self) -> str | None:
        raise NotImplementedError

    @property
    def recommended(self) -> dict[str, Any] | None:
        """The recommended candidate's row; None when none meets the targets."""
        return next((row for row in self.raw["candidates"] if row["id"] == self._best_id), None)

    def _shared_values(self, row: Mapping[str, Any]) -> dict[str, Any]:
        offered = [api["usd_per_month"] for api in self.raw["api"] if api["available"]]
        targets = {_name(item): item["predicted"] for item in row["slo"]}
        return {
            **targets,
            "usd_per_month": row["usd_per_month"]["mid"],
            "api_usd_per_month": min(offered, default=None),
            "saving_usd_per_month": self.verdict.saving_usd_per_month,
            "gpus": row["gpus"],
            "replicas": row["replicas"],
            "capacity_rps": row["capacity_rps"]["mid"],
        }


def _name(target: Mapping[str, Any]) -> str:
    percentile = target["percentile"]
    return "goodput_ratio" if percentile is None else f"{target['metric']}_p{percentile}_ms"


def _per_mtok(prices: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "usd_per_mtok": prices["blended"],
        "usd_per_mtok_input": prices["input"],
        "usd_per_mtok_output": prices["output"],
    }


class Report(_Document, ReportSections):
    """The simulated report of a run; its sections have the names that the documentation has.

    `recommended` is the row of the recommended candidate; `raw["recommended"]` has its engine settings and commands.
    """

    @property
    def _best_id(self) -> str | None:
        recommended = self.raw["recommended"]
        return recommended["candidate"] if recommended else None

    @cached_property
    def values(self) -> dict[str, Any]:
        """Figures of the recommended fleet by name; empty without one."""
        row = self.recommended
        if row is None:
            return {}
        return {
            **self._shared_values(row),
            **_per_mtok(self.raw["cost"]["usd_per_mtok"]),
            "utilisation_ratio": self.raw["load"]["utilisation_ratio"],
        }


class Estimate(_Document):
    """The closed-form estimate."""

    @property
    def _best_id(self) -> str | None:
        best: str | None = self.raw["recommended"]
        return best

    @cached_property
    def values(self) -> dict[str, Any]:
        """Figures of the cheapest candidate that meets the targets, by name; empty without one."""
        row = self.recommended
        if row is None:
            return {}
        capacity = row["capacity_rps"]["mid"] * row["serving_replicas"]
        return {
            **self._shared_values(row),
            **_per_mtok(row["usd_per_mtok"]),
            "utilisation_ratio": self.raw["load"]["peak_rps"] / capacity,
        }
