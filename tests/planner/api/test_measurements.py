"""The way of a load test through the API: read, asked about, kept, set beside its prediction, calibrated on."""

import json

import pytest

from planner.datasets.models import Measurement, TraceUpload
from planner.datasets.tasks import calibrate, compare
from tests.factories import make_measurement, make_user
from tests.load_tests import DEPLOYMENT, bench_run, bench_serving, slower_server
from tests.planner.api.support import problem

SAID = {name: DEPLOYMENT[name] for name in ("gpu", "tensor_parallel")}


def sent(api, data, name="sweep.json"):
    upload = api.post("/measurements/uploads", {"name": name}).json()
    assert api.post(f"{upload['link']}/parts?number=1", data).status_code == 200
    return upload["link"]


def test_a_load_test_is_sent_looked_at_and_kept(api):
    link = sent(api, bench_serving())
    told = api.post(f"{link}/preview", None).json()
    assert told["says"] == {name: DEPLOYMENT[name] for name in ("model", "engine", "measured_on")}
    assert told["asked"] == ["gpu", "tensor_parallel"]
    assert told["known"] is None
    assert {check["ok"] for run in told["measurement"]["runs"] for check in run["checks"]} == {True}
    assert {"ttft", "tpot", "e2e"} <= {each["metric"] for each in told["definitions"]}
    kept = api.post(f"{link}/confirm", {"deployment": SAID})
    assert kept.status_code == 201, kept.content
    row = api.get(kept["Location"]).json()
    assert row == kept.json()
    assert (row["state"], row["comparison"], row["weight_dtype"], row["outside"]) == ("waiting", None, "bf16", None)
    assert [item["id"] for item in api.get("/measurements").json()["items"]] == [row["id"]]
    assert not TraceUpload.objects.exists()
    assert api.delete(row["link"]).status_code == 204
    problem(api.get(row["link"]), 404, "not-found")


def test_what_the_file_does_not_say_is_asked_with_all_faults_at_once(api):
    link = sent(api, bench_serving())
    body = problem(
        api.post(f"{link}/confirm", {"deployment": {"gpu": "H100", "tensor_parallel": 0}}), 422, "invalid-body"
    )
    assert {(fault["code"], fault["pointer"]) for fault in body["errors"]} == {
        ("ambiguous_id", "/deployment/gpu"),
        ("out_of_range", "/deployment/tensor_parallel"),
    }
    body = problem(api.post(f"{link}/confirm", {"deployment": {}}), 422, "invalid-body")
    assert [fault["pointer"] for fault in body["errors"]] == ["/deployment/gpu", "/deployment/tensor_parallel"]
    assert not Measurement.objects.exists()


def test_the_same_file_twice_is_one_import_within_a_team(api):
    first = api.post(f"{sent(api, bench_serving())}/confirm", {"deployment": SAID}).json()
    link = sent(api, bench_serving(), "another name")
    assert api.post(f"{link}/preview", None).json()["known"] == first["id"]
    again = api.post(f"{link}/confirm", {"deployment": SAID})
    assert (again.status_code, again.json()["id"]) == (200, first["id"])
    assert make_measurement(make_user()).digest == first["digest"]
    assert Measurement.objects.count() == 2


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"0,10,5\n1,10,5\n", "not_a_measurement"), (b"PK\x03\x04" + b"\0" * 99, "archive_refused"), (b" ", "empty")],
    ids=["trace", "zip", "empty"],
)
def test_a_file_of_another_kind_is_refused_by_name(api, data, code):
    for action, content in (("preview", None), ("confirm", {"deployment": SAID})):
        body = problem(api.post(f"{sent(api, data)}/{action}", content), 422, "invalid-body")
        assert body["errors"][0]["code"] == code


def test_files_of_traffic_and_of_measurements_do_not_mix(api):
    link = sent(api, bench_serving())
    identity = link.rsplit("/", 1)[1]
    problem(api.post(f"/traces/uploads/{identity}/confirm", {}), 404, "not-found")
    assert api.get("/traces/uploads").json()["items"] == []
    assert len(api.get("/measurements/uploads").json()["items"]) == 1


def test_disagreeing_numbers_are_shown(api):
    wrong = bench_run(4, tpot_ms=7.0, ttft_ms=60.0, output_throughput=9_999.0)
    told = api.post(f"{sent(api, bench_serving(wrong))}/preview", None).json()
    assert [c["name"] for c in told["measurement"]["runs"][0]["checks"] if not c["ok"]] == [
        "output_tokens_over_duration"
    ]


def test_a_worker_sets_it_beside_its_prediction_and_a_figure_outside_says_so(api, user):
    slow = make_measurement(user, bench_serving(bench_run(4, tpot_ms=40.0, ttft_ms=60.0)))
    compare(str(slow.pk))
    row = api.get(f"/measurements/{slow.pk}").json()
    figures = {figure["metric"]: figure for figure in row["comparison"]["runs"][0]["figures"]}
    assert row["state"] == "ready"
    assert set(figures) == {"ttft", "tpot", "e2e", "throughput"}
    assert all(figure["low"] <= figure["predicted"] <= figure["high"] for figure in figures.values())
    assert figures["tpot"]["inside"] is False
    assert row["outside"] == sum(not figure["inside"] for figure in figures.values()) > 0
    before = json.dumps(row)
    compare(str(slow.pk))  # a doubled message does nothing
    assert json.dumps(api.get(f"/measurements/{slow.pk}").json()) == before


def test_a_calibration_is_made_used_and_dropped(api, user):
    row = make_measurement(user, slower_server(1.2))
    started = api.post("/calibrations", {"measurement_id": str(row.pk)})
    assert started.status_code == 202
    link = started["Location"]
    assert api.post("/calibrations", {"measurement_id": str(row.pk)})["Location"] == link  # it waits already
    calibrate(link.rsplit("/", 1)[1])
    made = api.get(link).json()
    assert made["state"] == "ready", made["failure"]
    assert made["told"]["median_error_pct"]["after"] < made["told"]["median_error_pct"]["before"]
    assert made["in_use"] is made["told"]["helps"] is True
    assert len(made["told"]["figures"]) == 8
    dropped = api.delete(f"{link}/use").json()
    assert {**dropped, "in_use": True} == made
    assert api.call("PUT", f"{link}/use").json() == made
