"""Rows of a list of scenarios: each with its newest run and what its report says."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from planner.reports.view import Summary, summary
from planner.runs.models import FINAL_STATES, Run, State
from planner.runs.selectors import newest_runs
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import newest_versions

PER_PAGE = 25
OLD_PRICE_DAYS = 90
STATE_SHAPES = {
    State.QUEUED: "clock",
    State.RUNNING: "run",
    State.DONE: "check",
    State.FAILED: "x",
    State.CANCELLED: "x",
}


@dataclass(frozen=True, slots=True)
class ScenarioRow:
    """A scenario with its newest version, that version's newest run and the report's summary, as far as they exist."""

    scenario: Scenario
    version: ScenarioVersion
    run: Run | None
    summary: Summary | None

    @property
    def under_way(self) -> bool:
        return self.run is not None and self.run.state not in FINAL_STATES

    @property
    def price_age_days(self) -> int | None:
        """Days since the day of the report's prices; 0 for one ahead."""
        if self.summary is None:
            return None
        return max(0, (timezone.now().date() - date.fromisoformat(self.summary.priced_at)).days)

    @property
    def prices_are_old(self) -> bool:
        return (self.price_age_days or 0) > OLD_PRICE_DAYS

    @property
    def shape(self) -> str:
        return STATE_SHAPES[State(self.run.state)] if self.run else ""


def scenario_rows(scenarios: Iterable[Scenario]) -> list[ScenarioRow]:
    """Rows in the given order, in two queries however many there are."""
    versions = newest_versions(scenarios)
    runs = newest_runs(versions.values())
    return [_row(scenario, versions[scenario.pk], runs.get(versions[scenario.pk].pk)) for scenario in scenarios]


def _row(scenario: Scenario, version: ScenarioVersion, run: Run | None) -> ScenarioRow:
    said = summary(json.loads(run.report)) if run is not None and run.state == State.DONE else None
    return ScenarioRow(scenario, version, run, said)


def paged(request: HttpRequest, rows: QuerySet[Any]) -> Page[Any]:
    """The page of a list that the address asks for, 25 rows each; one beyond the last is the last."""
    return Paginator(rows, PER_PAGE).get_page(request.GET.get("page"))
