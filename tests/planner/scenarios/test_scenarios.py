import uuid

import pytest
from django.utils import timezone

from planner import planning
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import scenario_get, scenarios_of, version_newest
from planner.scenarios.services import DOUBLE_CLICK, VersionConflict, scenario_edit
from planner.teams.models import User
from tests.factories import make_scenario, make_user, parsed_scenario, team_of


def test_a_new_scenario_is_version_one(user: User) -> None:
    version = make_scenario(user)
    assert version.number == 1
    assert version.body == planning.canonical_json(parsed_scenario())
    assert version.digest == planning.scenario_digest(parsed_scenario())


def test_an_edit_makes_the_next_version_and_keeps_the_old_one(user: User) -> None:
    first = make_scenario(user)
    second = scenario_edit(scenario=first.scenario, user=user, parsed=parsed_scenario(name="Renamed"), base_number=1)
    assert second.number == 2
    assert scenario_get(team_of(user), first.scenario.pk).name == "Renamed"
    assert ScenarioVersion.objects.get(pk=first.pk).body == first.body
    assert version_newest(first.scenario) == second


def test_a_double_click_saves_one_scenario(user: User) -> None:
    first = make_scenario(user)
    assert make_scenario(user) == first
    ScenarioVersion.objects.update(created_at=timezone.now() - 2 * DOUBLE_CLICK)
    assert make_scenario(user) != first


def test_an_edit_of_an_older_version_conflicts_and_saves_nothing(user: User) -> None:
    scenario = make_scenario(user).scenario
    second = scenario_edit(scenario=scenario, user=user, parsed=parsed_scenario(name="Mine"), base_number=1)
    with pytest.raises(VersionConflict) as caught:
        scenario_edit(scenario=scenario, user=user, parsed=parsed_scenario(name="Theirs"), base_number=1)
    assert caught.value.newest == second
    assert scenario_get(team_of(user), scenario.pk).name == "Mine"
    assert scenario.versions.count() == 2


def test_an_edit_that_changes_nothing_makes_no_version(user: User) -> None:
    first = make_scenario(user)
    assert scenario_edit(scenario=first.scenario, user=user, parsed=parsed_scenario(), base_number=1) == first


def test_the_list_shows_the_teams_own_newest_first(user: User) -> None:
    older, newer = make_scenario(user, name="A").scenario, make_scenario(user, name="B").scenario
    make_scenario(make_user())
    scenario_edit(scenario=older, user=user, parsed=parsed_scenario(name="A2"), base_number=1)
    listed = list(scenarios_of(team_of(user)))
    assert listed == [newer, older]
    assert [row.newest_number for row in listed] == [1, 2]  # type: ignore[attr-defined]


def test_another_teams_scenario_cannot_be_named(user: User) -> None:
    foreign = make_scenario(make_user()).scenario
    for key in (foreign.pk, str(foreign.pk), uuid.uuid4(), "not-an-id"):
        with pytest.raises(Scenario.DoesNotExist):
            scenario_get(team_of(user), key)
