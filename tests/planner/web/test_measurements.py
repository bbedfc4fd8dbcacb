"""Measurements on the pages: seen before they are kept, beside their prediction, calibrated on, dropped."""

import json

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from planner.datasets.models import Calibration, Measurement, TraceUpload
from planner.datasets.tasks import calibrate, compare
from planner.runs.models import State
from planner.teams.models import User
from tests.factories import make_measurement, make_ready_calibration, make_run, make_scenario, make_user
from tests.load_tests import DEPLOYMENT, bench_run, bench_serving, slower_server
from tests.planner.reports.example import example
from tests.planner.web.support import form_data, latest_document, signed_in

pytestmark = pytest.mark.django_db
WHERE = {name: str(value) for name, value in DEPLOYMENT.items()}


@pytest.fixture
def editor(user: User) -> Client:
    return signed_in(user)


def send(client: Client, content: bytes, name: str = "sweep.json") -> str:
    """Uploads a file; the address that it leads to, or the explanation."""
    response = client.post("/measurements/new/", {"file": SimpleUploadedFile(name, content)})
    if response.status_code == 302:
        return str(response["Location"])
    assert response.status_code == 422
    return response.content.decode()


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200
    return response.content.decode()


def test_a_file_is_seen_asked_about_and_kept(editor: Client) -> None:
    address = send(editor, bench_serving(bench_run(4, tpot_ms=7.0, ttft_ms=60.0, output_throughput=9_999.0)))
    page = text_of(editor, address)
    assert "Numbers that disagree." in page
    assert "The file does not say all of it" in page
    assert f'value="{DEPLOYMENT["model"]}"' in page
    asked = editor.post(address, {**WHERE, "gpu": "", "tensor_parallel": ""})
    assert asked.status_code == 422
    assert asked.content.decode().count('class="field bad"') == 2
    wrong = editor.post(address, {**WHERE, "gpu": "H100"})
    assert "could mean several accelerators" in wrong.content.decode()
    assert not Measurement.objects.exists()
    kept = editor.post(address, WHERE)
    row = Measurement.objects.get()
    assert kept["Location"] == f"/measurements/{row.pk}/"
    assert not TraceUpload.objects.exists()
    assert "A worker simulates the same requests." in text_of(editor, kept["Location"])
    assert send(editor, bench_serving(bench_run(4, tpot_ms=7.0, ttft_ms=60.0, output_throughput=9_999.0))) == (
        f"/measurements/{row.pk}/?again=1"
    )
    assert "The team had this file already." in text_of(editor, f"/measurements/{row.pk}/?again=1")
    editor.post(f"/measurements/{row.pk}/delete/")
    assert not Measurement.objects.exists()


def test_a_file_of_another_kind_is_explained_and_not_kept(editor: Client) -> None:
    assert "Traffic goes under Traces." in send(editor, b"0,10,5\n1,10,5\n")
    assert "Archives" in send(editor, b"PK\x03\x04" + b"\0" * 99)
    assert "holds nothing" in send(editor, b"")
    assert "Choose a file first." in editor.post("/measurements/new/", {}).content.decode()
    assert not TraceUpload.objects.exists()


def test_predicted_stands_beside_measured_and_drift_is_said(editor: Client, user: User) -> None:
    row = make_measurement(user, bench_serving(bench_run(4, tpot_ms=40.0, ttft_ms=60.0)))
    compare(str(row.pk))
    page = text_of(editor, f"/measurements/{row.pk}/")
    assert "lie outside the predicted interval" in page
    assert "The prediction is off for this server." in page
    assert "outside" in text_of(editor, "/measurements/")


def test_a_calibration_is_made_used_and_dropped_by_one_click(editor: Client, user: User) -> None:
    row = make_measurement(user, slower_server(1.25))
    address = editor.post(f"/measurements/{row.pk}/calibrate/")["Location"]
    assert "A worker fits it." in text_of(editor, address)
    made = Calibration.objects.get()
    calibrate(str(made.pk))
    page = text_of(editor, address)
    assert "Factors on the shipped constants" in page
    assert "Drop it" in page
    assert "planned with" in text_of(editor, f"/measurements/{row.pk}/")
    assert "Drop<span" in text_of(editor, "/measurements/")
    editor.post(f"{address}use/", {"use": "0"})
    assert "Drop<span" not in text_of(editor, "/measurements/")
    made.refresh_from_db()
    assert not made.in_use
    assert "Use it" in text_of(editor, address)


def test_the_list_asks_as_often_for_many_as_for_few(editor: Client, user: User) -> None:
    def queries() -> int:
        with CaptureQueriesContext(
            connection,
        ) as found:
            editor.get("/measurements/")
        return len(found)

    make_measurement(user)
    few = queries()
    for number in range(2, 6):
        make_measurement(user, bench_serving(bench_run(number, tpot_ms=7.0, ttft_ms=60.0)))
    assert queries() == few


def test_an_edit_keeps_the_calibrations_that_a_scenario_states_itself(editor: Client, user: User) -> None:
    """The form has no field for them; [] says that none of the team's is to be taken."""
    version = make_scenario(user, calibrations=[])
    data = form_data(version.document, name="Renamed") | {"base_number": ["1"]}
    assert editor.post(f"/scenarios/{version.scenario.pk}/edit/", data).status_code == 302
    assert (latest_document()["name"], latest_document()["calibrations"]) == ("Renamed", [])


def test_a_report_of_a_calibrated_plan_leads_to_it_and_compares_with_one_without(editor: Client, user: User) -> None:
    row = make_measurement(user, slower_server(1.25))
    editor.post(f"/measurements/{row.pk}/calibrate/")
    calibrate(str(Calibration.objects.get().pk))
    taken = make_run(user)
    Calibration.objects.update(in_use=False)
    plain = make_run(user)
    for run, stated in ((taken, json.loads(taken.body)["calibrations"]), (plain, None)):
        report = example()
        report["provenance"]["scenario"]["calibrations"] = stated
        run.state, run.report = State.DONE, json.dumps(report)
        run.started_at = run.finished_at = timezone.now()
        run.save()
    assert "See or drop the calibration" in text_of(editor, f"/reports/{taken.pk}/")
    assert "See or drop the calibration" not in text_of(editor, f"/reports/{plain.pk}/")
    assert "alibration" in text_of(editor, f"/compare/?of=run:{taken.pk},run:{plain.pk}")


def test_the_estimate_beside_the_form_says_that_it_is_calibrated(editor: Client, user: User) -> None:
    def says_so(client: Client) -> bool:
        return "Calibrated on 6 runs of your own." in client.post("/scenarios/estimate/", form_data()).content.decode()

    assert not says_so(editor)
    row = make_ready_calibration(user)
    assert (says_so(editor), says_so(signed_in(make_user()))) == (True, False)
    row.in_use = False
    row.save()
    assert not says_so(editor)
