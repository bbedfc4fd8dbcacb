"""Reports and estimates with names that read like the documentation; `raw` is the whole document."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any


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


def _section(name: str, about: str) -> property:
    """A part of a report under its own name; None where a report of an older server has none."""
    return property(lambda report: report.raw.get(name), doc=about)


class Report(_Document):
    """The simulated report of a run; its sections have the names that the documentation has.

    `recommended` is the row of the recommended candidate; `raw["recommended"]` has its engine settings and commands.
    """

    name = _section("name", "The scenario's name.")
    slo = _section("slo", "The targets and what is predicted for the recommended fleet.")
    load = _section("load", "Rates, utilisation, concurrency, KV use, headroom.")
    memory = _section("memory", "The memory subtraction, line by line in GiB.")
    cost = _section("cost", "Monthly lines and USD per million tokens.")
    api = _section("api", "The bill of each hosted model for the same tokens.")
    owned = _section("owned", "What the GPUs that the scenario owns can take within the targets.")
    break_even = _section("break_even", "The cost staircase and its crossings.")
    hybrid = _section("hybrid", "Base load self-hosted, overflow at the API: the cheapest split.")
    operation = _section("operation", "The same fleet by schedule, autoscaled, to zero, committed or on spot.")
    horizon = _section("horizon", "Both sides over the months.")
    curves = _section("curves", "The recommended fleet at rising load.")
    frontier = _section("frontier", "Cost against TTFT and TPOT of every fleet.")
    knobs = _section("knobs", "What tokens per step and seats do to a replica's capacity.")
    sensitivity = _section("sensitivity", "What the saving becomes when one assumption changes.")
    uncertainty = _section("uncertainty", "How far predictions may be off, and on what that rests.")
    advice = _section("advice", "What to watch, limits, failure modes near, load-test plan.")
    provenance = _section("provenance", "Scenario, versions, seed, price dates, sources, assumptions.")

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
