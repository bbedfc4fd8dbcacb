"""A team's calibrations: in its scenarios and in no one else's, until they are dropped."""

import json
import uuid
import zipfile
from typing import Any

import pytest

from planner.datasets import jobs
from planner.datasets.calibrating import (
    CalibrationRefused,
    calibration_compute,
    calibration_start,
    calibration_use,
    with_team_calibrations,
)
from planner.datasets.jobs import JobState
from planner.datasets.models import Calibration, Measurement
from planner.datasets.tasks import calibrate
from planner.reports.team_export import team_export
from planner.runs.services import run_submit
from planner.scenarios.services import scenario_create
from planner.scenarios.upkeep import scenario_copy
from planner.teams.models import User
from tests.factories import make_calibration, make_measurement, make_user, parsed_scenario, team_of
from tests.load_tests import bench_run, bench_serving, slower_server

pytestmark = pytest.mark.django_db
COMPUTED: dict[str, Any] = {}
"""What a worker writes, computed once: it follows from the files alone."""


@pytest.fixture
def made(user: User) -> Calibration:
    row = calibration_start(measurement=make_measurement(user, slower_server(1.25)), user=user)
    if not COMPUTED:
        COMPUTED.update(calibration_compute(row))
    Calibration.objects.filter(pk=row.pk).update(**COMPUTED, state=JobState.READY)
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
