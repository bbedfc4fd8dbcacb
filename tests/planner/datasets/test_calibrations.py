"""A team's calibrations: in its scenarios and in no one else's, until they are dropped."""

import json
import uuid
import zipfile
from datetime import date
from typing import Any

import pytest

from planner.datasets import jobs
from planner.datasets.calibrating import (
    CalibrationRefused,
    calibration_compute,
    calibration_settle,
    calibration_start,
    calibration_use,
    with_team_calibrations,
)
from planner.datasets.comparing import comparison_again
from planner.datasets.jobs import JobState
from planner.datasets.measurements import measurement_compare
from planner.datasets.models import Calibration, EntryKind, Measurement
from planner.datasets.own import entry_delete, entry_save
from planner.datasets.tasks import calibrate, compare
from planner.reports.team_export import team_export
from planner.runs.services import run_submit
from planner.scenarios.services import scenario_create
from planner.scenarios.upkeep import scenario_copy
from planner.teams.models import AuditEvent, User
from planner.web.audit_table import audit_table
from tests.factories import make_calibration, make_measurement, make_user, parsed_scenario, team_of
from tests.factories_of_own import ACCELERATOR, CONFIG, MODEL
from tests.load_tests import bench_run, bench_serving, slower_server

pytestmark = pytest.mark.django_db
COMPUTED: dict[str, Any] = {}
"""What a worker writes, computed once: it follows from the files alone."""


@pytest.fixture
def made(user: User) -> Calibration:
    row = calibration_start(measurement=make_measurement(user, slower_server(1.25)), user=user)
    if not COMPUTED:
        COMPUTED.update(calibration_compute(row))
    jobs.work_on(Calibration, row.pk, lambda _: COMPUTED, calibration_settle)
    row.refresh_from_db()
    assert row.in_use
    return row


def stated_in(run) -> list[int] | None:
    found = json.loads(run.body).get("calibrations")
    return None if found is None else [each["number"] for each in found]


def test_runs_of_the_team_take_it_and_those_of_another_team_do_not(made: Calibration, user: User) -> None:
    other = make_user()
    own = run_submit(team=team_of(user), user=user, parsed=parsed_scenario())
    theirs = run_submit(team=team_of(other), user=other, parsed=parsed_scenario())
    assert (stated_in(own), stated_in(theirs)) == ([1], None)
    assert own.digest != theirs.digest
    assert with_team_calibrations(team_of(other), parsed_scenario()) == parsed_scenario()


def test_dropped_it_is_planned_as_shipped_again_and_a_stored_report_keeps_its_bytes(
    made: Calibration, user: User
) -> None:
    version = scenario_create(team=team_of(user), user=user, parsed=parsed_scenario())
    assert "calibrations" not in version.document  # what is in use when it runs, not when it was saved
    with_it = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    with_it.state, with_it.report = "done", '{"kept": true}'
    with_it.save()
    calibration_use(calibration=made, actor=user, use=False)
    without = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    assert (stated_in(without), without.pk == with_it.pk) == (None, False)
    calibration_use(calibration=made, actor=user, use=True)
    again = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    assert (again.pk, again.report) == (with_it.pk, '{"kept": true}')


def test_a_scenario_that_says_none_takes_none(made: Calibration, user: User) -> None:
    run = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(calibrations=[]))
    assert stated_in(run) == []


def test_the_next_one_takes_the_place_of_the_one_before(made: Calibration, user: User) -> None:
    measurement = make_measurement(user, slower_server(1.2, (2, 8, 32)))
    second = calibration_start(measurement=measurement, user=user)
    calibrate(str(second.pk))
    made.refresh_from_db()
    second.refresh_from_db()
    assert (made.in_use, second.in_use, second.number, len(second.sources)) == (False, True, 2, 2)
    calibration_use(calibration=made, actor=user, use=True)
    assert list(Calibration.objects.filter(in_use=True)) == [made]


def test_a_worker_that_is_lost_leaves_the_team_with_the_one_it_had(made: Calibration, user: User) -> None:
    second = calibration_start(measurement=make_measurement(user, slower_server(1.2, (2, 8, 32))), user=user)

    def lost_after_computing(row: Calibration) -> Any:
        calibration_compute(row)
        raise KeyboardInterrupt

    def lost_while_settling(row: Calibration) -> None:
        calibration_settle(row)
        raise KeyboardInterrupt

    for compute, settle in ((lost_after_computing, calibration_settle), (lambda _: COMPUTED, lost_while_settling)):
        with pytest.raises(KeyboardInterrupt):
            jobs.work_on(Calibration, second.pk, compute, settle)
        second.refresh_from_db()
        assert (second.state, list(Calibration.objects.filter(in_use=True))) == (JobState.WAITING, [made])
        Calibration.objects.filter(pk=second.pk).update(lease_until=None)


def test_one_that_does_not_help_or_was_overtaken_is_kept_and_not_used(made: Calibration, user: User) -> None:
    measurement = make_measurement(user, bench_serving(bench_run(2, tpot_ms=7.0, ttft_ms=60.0)))
    unhelpful = calibration_start(measurement=measurement, user=user)
    told = COMPUTED["told"] | {"helps": False}
    jobs.work_on(Calibration, unhelpful.pk, lambda _: {**COMPUTED, "told": told}, calibration_settle)
    early, late = (calibration_start(measurement=measurement, user=user) for _ in range(2))
    assert early == late  # it waits already
    Measurement.objects.filter(pk=measurement.pk).delete()
    late = calibration_start(measurement=Measurement.objects.get(), user=user)
    for row in (late, early):
        jobs.work_on(Calibration, row.pk, lambda _: COMPUTED, calibration_settle)
    assert list(Calibration.objects.filter(state=JobState.READY, in_use=True)) == [late]
    assert Calibration.objects.filter(state=JobState.READY).count() == 4


def test_where_it_was_made_may_be_forgotten_and_the_sentence_says_so(user: User) -> None:
    said: dict[str, Any] = {"team": team_of(user), "actor": user, "source": "Data sheet", "as_of": date(2026, 11, 1)}
    entry, _ = entry_save(kind=EntryKind.ACCELERATOR, value=ACCELERATOR[1], **said)
    measurement = make_measurement(user, gpu="Our chip")
    asked = calibration_start(measurement=measurement, user=user)
    entry_delete(entry=entry, actor=user)
    compare(str(measurement.pk))
    calibrate(str(asked.pk))
    for row in (measurement, asked):
        row.refresh_from_db()
        assert row.state == JobState.FAILED
        assert "Where it was made cannot be read any more: " in row.failure
        assert "Our chip" in row.failure
    assert asked.failure.startswith("None of the runs can be simulated.")


def test_a_model_of_that_name_with_other_weights_is_not_what_was_measured(user: User) -> None:
    said: dict[str, Any] = {"team": team_of(user), "actor": user, "source": "Our lab", "as_of": date(2026, 11, 1)}
    entry_save(kind=EntryKind.MODEL, value=MODEL[1], **said)
    measurement = make_measurement(user, model="our-8b")
    in_fp8 = CONFIG | {"quantization_config": {"quant_method": "fp8", "activation_scheme": "dynamic"}}
    entry_save(kind=EntryKind.MODEL, value={"id": "our-8b", "hf_config": in_fp8}, **said)
    asked = calibration_start(measurement=measurement, user=user)
    compare(str(measurement.pk))
    calibrate(str(asked.pk))
    for row in (measurement, asked):
        row.refresh_from_db()
        assert row.state == JobState.FAILED
        assert "our-8b in bf16" in row.failure
        assert "our-8b in fp8" in row.failure


def test_it_is_not_changed_by_a_second_message_nor_by_deleting_its_measurements(made: Calibration) -> None:
    before = (made.stated, made.told)
    Measurement.objects.all().delete()
    calibrate(str(made.pk))
    made.refresh_from_db()
    assert (made.stated, made.told) == before


def test_a_copy_to_another_team_leaves_stated_calibrations_behind(made: Calibration, user: User) -> None:
    version = scenario_create(team=team_of(user), user=user, parsed=parsed_scenario(calibrations=[made.stated]))
    other = make_user()
    other.memberships.all().delete()
    target = team_of(make_user())
    target.memberships.create(user=user, role="owner")
    copied = scenario_copy(version=version, team=target, user=user)
    assert "calibrations" in version.document
    assert "calibrations" not in copied.document


def test_runs_that_cannot_be_simulated_end_it_with_a_sentence(user: User) -> None:
    silent = bench_run(4, tpot_ms=7.0, ttft_ms=60.0, max_concurrency=None, request_rate=None)
    row = calibration_start(measurement=make_measurement(user, bench_serving(silent)), user=user)
    calibrate(str(row.pk))
    row.refresh_from_db()
    assert row.state == JobState.FAILED
    assert "neither a rate nor requests in flight" in row.failure
    with pytest.raises(CalibrationRefused):
        calibration_use(calibration=row, actor=user, use=True)


def test_a_worker_that_is_lost_three_times_ends_the_row_and_a_doubled_one_waits(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = make_calibration(user)
    woken: list[uuid.UUID] = []
    monkeypatch.setattr(jobs, "wake_worker", lambda task, key: woken.append(key) or True)

    def lost(found: Calibration) -> dict[str, object]:
        jobs.work_on(Calibration, found.pk, calibration_compute)  # a second worker at the same time
        raise KeyboardInterrupt

    for _ in range(jobs.MAX_ATTEMPTS):
        with pytest.raises(KeyboardInterrupt):
            jobs.work_on(Calibration, row.pk, lost)
        row.refresh_from_db()
        assert row.state == JobState.WAITING
        Calibration.objects.update(lease_until="2026-01-01T00:00Z", due_at="2026-01-01T00:00Z")
        jobs.wake_due(Calibration, "task")
    row.refresh_from_db()
    assert (row.state, row.attempts, len(woken)) == (JobState.FAILED, jobs.MAX_ATTEMPTS, jobs.MAX_ATTEMPTS - 1)


def test_a_team_takes_its_measurements_and_calibrations_along(made: Calibration, user: User) -> None:
    with team_export(team_of(user)) as file, zipfile.ZipFile(file) as archive:
        measurements = json.loads(archive.read("measurements.json"))
        calibrations = json.loads(archive.read("calibrations.json"))
    assert [row["deployment"]["gpu"] for row in measurements] == ["H100-SXM5-80GB"]
    assert calibrations[0]["stated"]["number"] == 1
    team_of(user).delete()
    assert not Measurement.objects.exists()
    assert not Calibration.objects.exists()


def test_an_entry_that_changes_or_goes_sets_what_was_measured_on_it_beside_its_prediction_again(user: User) -> None:
    said: dict[str, Any] = {"team": team_of(user), "actor": user, "source": "Data sheet", "as_of": date(2026, 11, 1)}
    entry, _ = entry_save(kind=EntryKind.ACCELERATOR, value=ACCELERATOR[1], **said)
    measured = make_measurement(user, gpu="Our chip")
    elsewhere = make_measurement(user, slower_server(1.2))
    for row in (measured, elsewhere):
        jobs.work_on(Measurement, row.pk, lambda _: {"comparison": {}, "outside": 0})

    def states() -> list[str]:
        return [str(Measurement.objects.get(pk=row.pk).state) for row in (measured, elsewhere)]

    def overtaken(row: Measurement) -> dict[str, Any]:
        """The entry comes back while a worker computes without it: what it found is not written."""
        found = measurement_compare(row)
        entry_save(kind=EntryKind.ACCELERATOR, value=ACCELERATOR[1], **said)
        return found

    entry_delete(entry=entry, actor=user)
    assert states() == ["waiting", "ready"]
    compare(str(measured.pk))
    assert states() == ["failed", "ready"]
    entry, _ = entry_save(kind=EntryKind.ACCELERATOR, value=ACCELERATOR[1], **said)
    assert states() == ["waiting", "ready"]
    jobs.work_on(Measurement, measured.pk, overtaken)
    assert states() == ["waiting", "ready"]
    compare(str(measured.pk))
    measured.refresh_from_db()
    assert (measured.state, measured.failure) == (JobState.READY, "")
    assert measured.comparison["figures"] > 0


def test_a_comparison_is_made_again_with_the_calibration_of_the_day(made: Calibration, user: User) -> None:
    row = Measurement.objects.get()
    compare(str(row.pk))
    calibration_use(calibration=made, actor=user, use=False)
    comparison_again(measurement=row, actor=user)
    compare(str(row.pk))
    row.refresh_from_db()
    assert row.comparison["calibration"] is None
    assert comparison_again(measurement=row, actor=user) == comparison_again(measurement=row, actor=user)
    assert AuditEvent.objects.filter(action="measurement.compared_again").count() == 2  # one that waits, waits on


def test_what_is_taken_into_use_by_itself_is_in_the_audit_log(made: Calibration, user: User) -> None:
    second = calibration_start(measurement=make_measurement(user, slower_server(1.2, (2, 8, 32))), user=user)
    jobs.work_on(Calibration, second.pk, lambda _: COMPUTED, calibration_settle)
    events = AuditEvent.objects.filter(team=team_of(user), action="calibration.taken").order_by("created_at")
    assert [(event.actor, event.object_id, event.details["replaces"]) for event in events] == [
        (None, str(made.pk), None),
        (None, str(second.pk), 1),
    ]
    assert "by itself" in str(audit_table(events, ""))
