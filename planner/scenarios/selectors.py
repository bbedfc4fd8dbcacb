"""Reads of saved scenarios; the team comes first, so that nothing of another team can be named."""

import uuid

from django.db.models import OuterRef, QuerySet, Subquery

from planner.scenarios.models import Scenario, ScenarioVersion
from planner.teams.models import Team
from planner.teams.selectors import owned_get


def scenarios_of(team: Team) -> QuerySet[Scenario]:
    """The team's scenarios that are not archived, newest first, each with `newest_number`."""
    numbers = ScenarioVersion.objects.filter(scenario=OuterRef("pk")).order_by("-number").values("number")[:1]
    scenarios = Scenario.objects.filter(team=team, archived_at=None)
    return scenarios.annotate(newest_number=Subquery(numbers)).order_by("-created_at", "pk")


def scenario_get(team: Team, scenario_id: uuid.UUID | str) -> Scenario:
    """One scenario of the team. Scenario.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Scenario, team, scenario_id)


def version_newest(scenario: Scenario) -> ScenarioVersion:
    """The scenario's current content."""
    return scenario.versions.latest("number")
