"""Saving scenarios: version 1, and the next one of an editor who began with the newest."""

from datetime import timedelta

from django.db import transaction
from django.utils import timezone

from planner import planning
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.search import words_of
from planner.scenarios.selectors import version_newest
from planner.teams.audit import Detail, record
from planner.teams.models import Team, User

DOUBLE_CLICK = timedelta(seconds=10)


class VersionConflict(Exception):  # noqa: N818 - the name says what happened
    """Someone saved a newer version meanwhile; `newest` is it, so that the two can be compared."""

    def __init__(self, newest: ScenarioVersion) -> None:
        self.newest = newest
        super().__init__(f"version {newest.number} is newer")


@transaction.atomic
def scenario_create(*, team: Team, user: User | None, parsed: planning.Scenario, note: str = "") -> ScenarioVersion:
    """Saves a new scenario as its version 1; what the same person sent a moment ago (a double click) is that one.

    ValidationError: name or note too long.
    """
    Team.objects.select_for_update().get(pk=team.pk)  # two at once: the second sees the first
    if user is not None and (twin := _just_made(team, user, parsed)) is not None:
        return twin
    scenario = Scenario(team=team, name=parsed.name, created_by=user)
    scenario.full_clean()
    scenario.save()
    version = _add_version(scenario, 1, user, parsed, note)
    record(team=team, actor=user, action="scenario.saved", thing=scenario)
    return version


def _just_made(team: Team, user: User, parsed: planning.Scenario) -> ScenarioVersion | None:
    since = timezone.now() - DOUBLE_CLICK
    made = ScenarioVersion.objects.filter(scenario__team=team, scenario__archived_at=None, created_by=user, number=1)
    return made.filter(digest=planning.scenario_digest(parsed), created_at__gte=since).order_by("created_at").first()


@transaction.atomic
def scenario_edit(
    *, scenario: Scenario, user: User | None, parsed: planning.Scenario, base_number: int, note: str = ""
) -> ScenarioVersion:
    """Saves the next version, made from version `base_number`; an edit that changes nothing returns that version.

    VersionConflict: `base_number` is not the newest version.
    """
    Scenario.objects.select_for_update().get(pk=scenario.pk)  # two editors at once: the second sees the first's version
    newest = version_newest(scenario)
    if newest.number != base_number:
        raise VersionConflict(newest)
    if newest.body == planning.canonical_json(parsed):
        return newest
    scenario.name = parsed.name
    scenario.full_clean()
    scenario.save(update_fields=["name"])
    version = _add_version(scenario, newest.number + 1, user, parsed, note)
    details: dict[str, Detail] = {"version": version.number, "note": note}
    record(team=scenario.team, actor=user, action="scenario.edited", thing=scenario, details=details)
    return version


def _add_version(
    scenario: Scenario, number: int, user: User | None, parsed: planning.Scenario, note: str
) -> ScenarioVersion:
    version = ScenarioVersion(
        scenario=scenario,
        number=number,
        body=planning.canonical_json(parsed),
        digest=planning.scenario_digest(parsed),
        priced_at=parsed.priced_at,
        note=note,
        created_by=user,
    )
    version.full_clean()
    version.save()
    scenario.changed_at, scenario.words = version.created_at, words_of(scenario)
    scenario.save(update_fields=["changed_at", "words"])
    return version
