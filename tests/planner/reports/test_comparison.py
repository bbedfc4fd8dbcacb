"""Results side by side, and the names that they go by."""

import json
import uuid
from datetime import date

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.reports.compared import NotComparable, Ref, compared, read_refs
from planner.reports.comparison import results
from planner.runs.models import Run, State
from planner.runs.services import version_run
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.services import scenario_edit
from planner.teams.models import User
from tests.factories import make_scenario, make_user, parsed_scenario, team_of
from tests.planner.reports.example import example, infeasible_example

A, B = uuid.uuid4(), uuid.uuid4()


def finished(version: ScenarioVersion, user: User, priced_at: date | None = None) -> Run:
    run = version_run(version=version, user=user, priced_at=priced_at)
    run.state, run.report, run.finished_at = State.DONE, json.dumps(example()), timezone.now()
    run.save()
    return run


def test_names_are_read() -> None:
    assert read_refs([f"{A}", f"{B}:3", f"run:{A}"]) == (Ref(A), Ref(B, 3), Ref(A, is_run=True))
    assert [str(ref) for ref in read_refs([f" {A}:2 ", "", f"run:{B}"])] == [f"{A}:2", f"run:{B}"]


@pytest.mark.parametrize(
    "texts",
    [
        [],
        [f"{A}"],
        [f"{A}", f"{A}"],
        [f"{A}", "nothing"],
        [f"{A}", f"run:{A}:2"],
        [f"{A}", f"{B}:0000000000"],
        [f"{A}", "-" * 36],
        [f"{uuid.UUID(int=number)}" for number in range(6)],
        [f"{A}", "\x00"],
    ],
)
def test_what_cannot_be_compared_is_refused(texts: list[str]) -> None:
    with pytest.raises(NotComparable):
        read_refs(texts)


def test_a_version_comes_with_its_newest_run_on_its_own_prices(user: User) -> None:
    first = make_scenario(user, name="Chat")
    second = scenario_edit(
        scenario=first.scenario, user=user, parsed=parsed_scenario(name="Chat", seed=2), base_number=1
    )
    own = finished(first, user)
    finished(first, user, date(2026, 12, 24))
    repriced = finished(second, user, date(2026, 12, 24))
    sides = compared(team_of(user), (Ref(first.scenario_id, 1), Ref(first.scenario_id)))
    assert [side.run for side in sides] == [own, repriced]
    assert [side.version for side in sides] == [first, second]
    assert [side.label for side in sides] == ["Chat, v1", "Chat, v2"]
    assert sides[1].document["priced_at"] == "2026-12-24"


def test_a_version_without_a_run_has_its_document_alone(user: User) -> None:
    one, two = make_scenario(user, name="A"), make_scenario(user, name="B")
    version_run(version=two, user=user)
    sides = compared(team_of(user), (Ref(one.scenario_id), Ref(two.scenario_id)))
    assert [(side.label, side.report, side.document["name"]) for side in sides] == [("A", None, "A"), ("B", None, "B")]
    assert [str(side.ref) for side in sides] == [f"{one.scenario_id}:1", f"{two.scenario_id}:1"]


def test_two_runs_of_one_version_are_told_apart(user: User) -> None:
    version = make_scenario(user, name="Chat")
    runs = [finished(version, user), finished(version, user, date(2026, 12, 24))]
    sides = compared(team_of(user), tuple(Ref(run.pk, is_run=True) for run in runs))
    assert [side.label for side in sides] == ["Chat, v1, prices of 2026-11-30", "Chat, v1, prices of 2026-12-24"]
    assert [str(side.ref) for side in sides] == [f"run:{run.pk}" for run in runs]


def test_nothing_of_another_team_can_be_named(user: User) -> None:
    other = make_user()
    mine, theirs = make_scenario(user), make_scenario(other)
    run = finished(theirs, other)
    for ref in (
        Ref(theirs.scenario_id),
        Ref(theirs.scenario_id, 1),
        Ref(run.pk, is_run=True),
        Ref(mine.scenario_id, 9),
    ):
        with pytest.raises(KeyError):
            compared(team_of(user), (Ref(mine.scenario_id), ref))


def test_five_take_no_more_queries_than_two(user: User) -> None:
    versions = [make_scenario(user, name=f"S{n}") for n in range(5)]
    for version in versions:
        finished(version, user)
    counts = []
    for many in (2, 5):
        refs = tuple(Ref(version.scenario_id) for version in versions[:many])
        with CaptureQueriesContext(connection) as captured:
            compared(team_of(user), refs)
        counts.append(len(captured))
    assert counts[0] == counts[1] <= 5


def test_results_stand_side_by_side() -> None:
    rows = {row.name: row for row in results([example(), infeasible_example(), None])}
    report = example()
    assert rows["verdict"].values == (report["verdict"]["choice"], "none", None)
    assert rows["usd_per_month"].values == (report["cost"]["usd_per_month"], None, None)
    assert rows["gpus"].values[0] == report["recommended"]["gpus"]
    ttft = rows["ttft_p95_ms"].values[0]
    assert ttft["low"] < ttft["mid"] <= ttft["target"] < ttft["high"]
    assert ttft["met"] is True
    assert rows["break_even_rps"].values[0] is not None


def test_a_result_that_no_side_has_is_left_out() -> None:
    assert results([None, None]) == ()
    names = {row.name for row in results([infeasible_example(), infeasible_example()])}
    assert "usd_per_month" not in names
