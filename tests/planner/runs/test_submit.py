import uuid
from typing import Any

import pytest
from django.utils import timezone

from planner.runs import services
from planner.runs.models import Run, State
from planner.runs.selectors import run_get, run_report_bytes, runs_of
from planner.runs.services import IdempotencyConflict, run_cancel, run_submit
from planner.teams.audit import audit_events_of
from planner.teams.models import User
from tests.factories import make_run, make_scenario, make_user, parsed_scenario, team_of


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[uuid.UUID]:
    """The runs that a message was sent for."""
    runs: list[uuid.UUID] = []
    monkeypatch.setattr(services, "wake", lambda run_id: runs.append(run_id) or True)
    return runs


def finish(run: Run, report: str = '{"a":1}\n') -> None:
    Run.objects.filter(pk=run.pk).update(state=State.DONE, report=report, finished_at=timezone.now())


def submit(user: User, **arguments: Any) -> Run:
    changes = arguments.pop("changes", {})
    return run_submit(team=team_of(user), user=user, parsed=parsed_scenario(**changes), **arguments)


def test_a_run_is_queued_and_a_message_sent_after_the_commit(
    user: User, sent: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        run = submit(user)
        assert sent == []
    assert run.state == State.QUEUED
    assert sent == [run.pk]


def test_the_same_question_while_under_way_is_the_same_run(user: User) -> None:
    assert submit(user) == submit(user)


def test_the_same_question_once_done_is_the_same_run(user: User) -> None:
    run = submit(user)
    finish(run)
    again = submit(user)
    assert again == run
    assert run_report_bytes(again) == b'{"a":1}\n'


def test_another_seed_is_another_question(user: User) -> None:
    assert submit(user) != submit(user, changes={"seed": 2})


def test_another_version_of_engine_or_catalog_is_another_question(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    run = submit(user)
    monkeypatch.setattr("planner.planning.result_version", lambda: "another")
    assert submit(user) != run


def test_teams_do_not_share(user: User) -> None:
    run = submit(user)
    finish(run)
    assert submit(make_user()).state == State.QUEUED


@pytest.mark.parametrize("state", [State.FAILED, State.CANCELLED])
def test_what_did_not_end_well_is_computed_again(user: User, state: State) -> None:
    run = submit(user)
    Run.objects.filter(pk=run.pk).update(state=state)
    assert submit(user) != run


def test_a_saved_version_gets_a_row_of_its_own_with_the_same_bytes(
    user: User, sent: list[uuid.UUID], django_capture_on_commit_callbacks: Any
) -> None:
    run = submit(user)
    finish(run)
    version = make_scenario(user)
    with django_capture_on_commit_callbacks(execute=True):
        own = submit(user, scenario_version=version)
    assert own != run
    assert own.scenario_version == version
    assert run_report_bytes(own) == b'{"a":1}\n'
    assert submit(user, scenario_version=version) == own
    assert sent == []


def test_an_idempotency_key_repeats_its_run_in_any_state(user: User) -> None:
    run = submit(user, idempotency_key="k")
    run_cancel(run=run)
    assert submit(user, idempotency_key="k") == run


def test_an_idempotency_key_with_another_body_conflicts(user: User) -> None:
    submit(user, idempotency_key="k")
    with pytest.raises(IdempotencyConflict):
        submit(user, idempotency_key="k", changes={"seed": 2})
    assert Run.objects.count() == 1


def test_idempotency_keys_are_the_teams_own(user: User) -> None:
    assert submit(user, idempotency_key="k") != submit(make_user(), idempotency_key="k", changes={"seed": 2})


def test_a_queued_run_is_cancelled_at_once(user: User) -> None:
    run = run_cancel(run=make_run(user))
    assert run.state == State.CANCELLED
    assert run.finished_at is not None


def test_a_running_run_is_asked_to_stop(user: User) -> None:
    run = make_run(user)
    Run.objects.filter(pk=run.pk).update(state=State.RUNNING)
    run = run_cancel(run=run)
    assert (run.state, run.cancel_requested) == (State.RUNNING, True)


def test_cancelling_a_finished_run_changes_nothing(user: User) -> None:
    run = make_run(user)
    finish(run)
    run = run_cancel(run=run)
    assert (run.state, run.cancel_requested) == (State.DONE, False)


def test_the_list_is_the_teams_own_newest_first(user: User) -> None:
    older, newer = make_run(user), make_run(user, seed=2)
    make_run(make_user())
    assert list(runs_of(team_of(user))) == [newer, older]


def test_another_teams_run_cannot_be_named(user: User) -> None:
    foreign = make_run(make_user())
    for key in (foreign.pk, str(foreign.pk), uuid.uuid4(), "not-an-id"):
        with pytest.raises(Run.DoesNotExist):
            run_get(team_of(user), key)


def test_there_are_no_report_bytes_before_the_end(user: User) -> None:
    assert run_report_bytes(make_run(user)) is None


def test_who_starts_and_cancels_a_run_stands_in_the_log_once(user: User) -> None:
    version = make_scenario(user)
    run = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    submit(user)  # the same question: nothing starts
    run_cancel(run=run, user=user)
    run_cancel(run=run, user=user)
    rows = audit_events_of(team_of(user)).filter(object_id=str(run.pk))
    assert {(row.action, row.actor, row.object_label) for row in rows} == {
        ("run.started", user, run.name),
        ("run.cancelled", user, run.name),
    }
    assert len(rows) == 2
    started = rows.get(action="run.started")
    assert started.details == {"scenario": f"{version.scenario_id}:1", "priced_at": "2026-11-30"}
