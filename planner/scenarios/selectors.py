"""Reads of saved scenarios; the team comes first, so that nothing of another team can be named."""

import uuid
from collections.abc import Iterable
from typing import Literal

from django.db.models import OuterRef, QuerySet, Subquery

from planner.scenarios.models import Comment, Scenario, ScenarioTag, ScenarioVersion
from planner.scenarios.search import search_words
from planner.teams.models import Team, User
from planner.teams.selectors import owned_get

Order = Literal["-created_at", "-changed_at", "name"]
ORDERS: dict[Order, tuple[str, ...]] = {
    "-created_at": ("-created_at", "pk"),
    "-changed_at": ("-changed_at", "pk"),
    "name": ("name", "pk"),
}
"""Total orders of a list of scenarios."""


def scenarios_of(
    team: Team, *, archived: bool = False, tag: str | None = None, search: str = "", order: Order = "-created_at"
) -> QuerySet[Scenario]:
    """The team's scenarios, each with `newest_number`.

    archived: only those put away, else only the others. tag: only those with this tag. search: only those in which
    each of its words is found.
    """
    numbers = ScenarioVersion.objects.filter(scenario=OuterRef("pk")).order_by("-number").values("number")[:1]
    scenarios = Scenario.objects.filter(team=team, archived_at__isnull=not archived).defer("words")
    if tag is not None:
        scenarios = scenarios.filter(tags__name=tag) if tag.isprintable() else scenarios.none()
    for word in search_words(search):
        scenarios = scenarios.filter(words__contains=word)
    return scenarios.annotate(newest_number=Subquery(numbers)).order_by(*ORDERS[order])


def scenario_get(team: Team, scenario_id: uuid.UUID | str) -> Scenario:
    """One scenario of the team. Scenario.DoesNotExist: no such one here (malformed ids included)."""
    return owned_get(Scenario, team, scenario_id)


def version_newest(scenario: Scenario) -> ScenarioVersion:
    """The scenario's current content."""
    return scenario.versions.select_related("created_by").latest("number")


def newest_versions(scenarios: Iterable[Scenario]) -> dict[uuid.UUID, ScenarioVersion]:
    """The current version of each scenario by the scenario's key, without bodies."""
    ids = [scenario.pk for scenario in scenarios]
    newest = ScenarioVersion.objects.filter(scenario=OuterRef("pk")).order_by("-number").values("pk")[:1]
    picked = Scenario.objects.filter(pk__in=ids).annotate(newest=Subquery(newest)).values("newest")
    found = ScenarioVersion.objects.filter(pk__in=picked).select_related("created_by").defer("body")
    return {version.scenario_id: version for version in found}


def version_get(team: Team, scenario_id: uuid.UUID | str, number: int | None = None) -> ScenarioVersion:
    """A version of a scenario of the team, the newest without a number.

    Scenario.DoesNotExist or ScenarioVersion.DoesNotExist: no such one here.
    """
    scenario = scenario_get(team, scenario_id)
    if number is None:
        return version_newest(scenario)
    return scenario.versions.select_related("created_by").get(number=number)


def versions_of(scenario: Scenario) -> QuerySet[ScenarioVersion]:
    """The scenario's versions, newest first, without their bodies, which load when touched."""
    return scenario.versions.select_related("created_by").defer("body").order_by("-created_at", "pk")


def comments_of(scenario: Scenario) -> QuerySet[Comment]:
    """What was said about the scenario, newest first."""
    comments = scenario.comments.select_related("created_by", "version").defer("version__body")
    return comments.order_by("-created_at", "pk")


def tags_of(team: Team) -> list[str]:
    """The tags that the team's scenarios have, archived ones left out."""
    names = ScenarioTag.objects.filter(scenario__team=team, scenario__archived_at=None).order_by("name")
    return list(names.values_list("name", flat=True).distinct())


def person(user: User | None) -> str:
    """How a person is named to colleagues."""
    return "someone who has left" if user is None else user.name or user.email
