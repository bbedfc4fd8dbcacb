"""Tags, search, archive, comments, copies."""

import pytest
from django.core.exceptions import PermissionDenied, ValidationError

from planner import planning
from planner.scenarios.models import Scenario
from planner.scenarios.selectors import comments_of, person, scenarios_of, tags_of
from planner.scenarios.services import scenario_edit
from planner.scenarios.upkeep import (
    comment_add,
    comment_delete,
    copy_name,
    scenario_archive,
    scenario_copy,
    scenario_tag,
    scenario_unarchive,
)
from planner.teams.audit import audit_events_of
from planner.teams.models import Role, User
from tests.factories import add_member, make_scenario, make_user, parsed_scenario, team_of


def found(user: User, search: str) -> list[str]:
    return [row.name for row in scenarios_of(team_of(user), search=search)]


def test_tags_are_trimmed_small_and_once(user: User) -> None:
    scenario = make_scenario(user).scenario
    assert scenario_tag(scenario=scenario, user=user, names=[" Budget  2027 ", "budget 2027", "", "EU"]) == [
        "budget 2027",
        "eu",
    ]
    assert scenario_tag(scenario=scenario, user=user, names=["eu"]) == ["eu"]
    assert tags_of(team_of(user)) == ["eu"]


@pytest.mark.parametrize("names", [["x" * 41], ["a,b"], ["a\x00b"], [str(n) for n in range(21)]])
def test_tags_that_are_no_tags_are_refused(user: User, names: list[str]) -> None:
    scenario = make_scenario(user).scenario
    scenario_tag(scenario=scenario, user=user, names=["kept"])
    with pytest.raises(ValidationError):
        scenario_tag(scenario=scenario, user=user, names=names)
    assert tags_of(team_of(user)) == ["kept"]


def test_the_list_takes_one_tag(user: User) -> None:
    one = make_scenario(user, name="One").scenario
    make_scenario(user, name="Two")
    scenario_tag(scenario=one, user=user, names=["eu", "chat"])
    assert list(scenarios_of(team_of(user), tag="eu")) == [one]
    assert not scenarios_of(team_of(user), tag="us").exists()


def test_every_word_of_a_search_must_be_found(user: User) -> None:
    first = make_scenario(user, name="Support Chat")
    make_scenario(user, name="Batch", seed=2)
    scenario_edit(
        scenario=first.scenario,
        user=user,
        parsed=parsed_scenario(name="Support Chat", seed=3),
        base_number=1,
        note="after the March peak",
    )
    scenario_tag(scenario=first.scenario, user=user, names=["Zürich"])
    for search in ("support", "SUPPORT march", "llama-3.1-8b chat", "h100 zürich", "  "):
        assert "Support Chat" in found(user, search), search
    assert found(user, "support batch") == []
    assert found(user, "\x00 100% _") == []


def test_an_archived_scenario_leaves_the_list_and_comes_back(user: User) -> None:
    scenario = make_scenario(user).scenario
    scenario_archive(scenario=scenario, user=user)
    first = Scenario.objects.get(pk=scenario.pk).archived_at
    scenario_archive(scenario=scenario, user=user)
    assert Scenario.objects.get(pk=scenario.pk).archived_at == first
    assert list(scenarios_of(team_of(user))) == []
    assert list(scenarios_of(team_of(user), archived=True)) == [scenario]
    scenario_unarchive(scenario=scenario, user=user)
    assert list(scenarios_of(team_of(user))) == [scenario]


def test_orders_are_total(user: User) -> None:
    older, newer = make_scenario(user, name="B").scenario, make_scenario(user, name="A").scenario
    scenario_edit(scenario=older, user=user, parsed=parsed_scenario(name="B", seed=9), base_number=1)
    assert list(scenarios_of(team_of(user))) == [newer, older]
    assert list(scenarios_of(team_of(user), order="-changed_at")) == [older, newer]
    assert list(scenarios_of(team_of(user), order="name")) == [newer, older]


def test_a_comment_keeps_its_author_time_and_version(user: User) -> None:
    scenario = make_scenario(user).scenario
    comment_add(scenario=scenario, user=user, text=" Peak looks high.\r\nSee March.\x07 ")
    (comment,) = comments_of(scenario)
    assert comment.text == "Peak looks high.\nSee March."
    assert (comment.created_by, comment.version.number) == (user, 1)


@pytest.mark.parametrize("text", ["", "  \n ", "x" * 4001])
def test_an_empty_or_endless_comment_is_refused(user: User, text: str) -> None:
    with pytest.raises(ValidationError):
        comment_add(scenario=make_scenario(user).scenario, user=user, text=text)


def test_a_comment_is_taken_back_by_its_author_or_an_owner(user: User) -> None:
    scenario = make_scenario(user).scenario
    editor, other = add_member(team_of(user)), add_member(team_of(user))
    comments = [comment_add(scenario=scenario, user=editor, text=str(n)) for n in range(2)]
    with pytest.raises(PermissionDenied):
        comment_delete(comment=comments[0], user=other)
    comment_delete(comment=comments[0], user=editor)
    comment_delete(comment=comments[1], user=user)
    assert not comments_of(scenario).exists()


def test_a_copy_within_the_team_is_called_so(user: User) -> None:
    version = make_scenario(user, name="Chat")
    copy = scenario_copy(version=version, team=team_of(user), user=user)
    assert (copy.number, copy.scenario.name) == (1, "Chat (copy)")
    assert copy.document == version.document | {"name": "Chat (copy)"}
    assert copy.note == "Copy of version 1 of Chat"


def test_a_copy_to_another_team_takes_the_content_alone(user: User) -> None:
    version = make_scenario(user, name="Chat")
    scenario_tag(scenario=version.scenario, user=user, names=["secret"])
    comment_add(scenario=version.scenario, user=user, text="only for us")
    there = team_of(make_user())
    there.memberships.create(user=user, role=Role.EDITOR)
    copy = scenario_copy(version=version, team=there, user=user)
    assert (copy.scenario.team, copy.body) == (there, version.body)
    assert not copy.scenario.tags.exists()
    assert not copy.scenario.comments.exists()


@pytest.mark.parametrize("role", [None, Role.VIEWER])
def test_only_who_may_write_there_copies_there(user: User, role: Role | None) -> None:
    version = make_scenario(user)
    there = team_of(make_user())
    if role:
        there.memberships.create(user=user, role=role)
    with pytest.raises(PermissionDenied):
        scenario_copy(version=version, team=there, user=user)
    assert not Scenario.objects.filter(team=there).exists()


def test_a_copy_can_be_named_within_bounds(user: User) -> None:
    version = make_scenario(user)
    assert scenario_copy(version=version, team=team_of(user), user=user, name="Other").scenario.name == "Other"
    with pytest.raises(planning.ScenarioInvalid):
        scenario_copy(version=version, team=team_of(user), user=user, name="x" * 201)
    assert len(copy_name("x" * 200)) == 200


def test_someone_who_has_left_is_named_so(user: User) -> None:
    assert person(user) == user.email
    assert person(None) == "someone who has left"


def test_the_audit_log_has_who_did_what(user: User) -> None:
    scenario = make_scenario(user, name="Chat").scenario
    scenario_edit(scenario=scenario, user=user, parsed=parsed_scenario(name="Chat", seed=2), base_number=1, note="seed")
    scenario_tag(scenario=scenario, user=user, names=["eu"])
    scenario_archive(scenario=scenario, user=user)
    scenario_unarchive(scenario=scenario, user=user)
    scenario_unarchive(scenario=scenario, user=user)
    there = team_of(make_user())
    there.memberships.create(user=user, role=Role.EDITOR)
    scenario_copy(version=scenario.versions.latest("number"), team=there, user=user)
    rows = [row for row in audit_events_of(team_of(user)) if row.object_kind == "scenario"]
    assert [row.action for row in reversed(rows)] == [
        "scenario.saved",
        "scenario.edited",
        "scenario.tagged",
        "scenario.archived",
        "scenario.brought_back",
        "scenario.copied_away",
    ]
    assert rows[-2].details == {"version": 2, "note": "seed"}
    assert [row.action for row in audit_events_of(there) if row.object_kind == "scenario"] == ["scenario.saved"]
