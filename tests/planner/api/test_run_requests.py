"""GET /runs/{id}/requests: the event log of the run that confirmed the recommended fleet."""

import csv
import importlib.util
import io
import math
from typing import Any

import openpyxl
import pytest

from planner import planning
from planner.planning.report import request_log
from planner.runs import execution
from planner.runs.models import RequestPart, Run
from planner.runs.services import run_submit
from planner.runs.tasks import execute_run
from planner.teams.models import User
from tests.factories import make_run, make_scenario, make_token, make_user, parsed_scenario, team_of
from tests.planner.api.support import Api, problem

pytestmark = pytest.mark.django_db(transaction=True)
has_pyarrow = importlib.util.find_spec("pyarrow") is not None


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setattr(request_log, "PART_REQUESTS", 1_000)
    row = make_run(make_user())
    execute_run(str(row.pk))
    return Run.objects.get(pk=row.pk)


@pytest.fixture
def reader(run: Run) -> Api:
    assert run.created_by is not None
    return Api(make_token(run.created_by)[1])


def table(response: Any) -> list[dict[str, str]]:
    assert response.status_code == 200
    return list(csv.DictReader(io.StringIO(b"".join(response.streaming_content).decode())))


def test_the_log_explains_the_reports_percentiles(run: Run, reader: Api) -> None:
    rows = table(reader.get(f"/runs/{run.pk}/requests?format=csv"))
    report = reader.get(f"/runs/{run.pk}/report").json()
    judged = [row for row in rows if row["judged"] == "true"]
    for target in report["slo"]:
        if target["percentile"] is None:
            continue
        name = f"{target['metric']}_ms"
        values = sorted(float(row[name]) for row in judged if row[name])
        nearest_rank = values[math.ceil(target["percentile"] / 100 * len(values)) - 1]
        assert nearest_rank == pytest.approx(target["predicted"], rel=1e-4, abs=2e-3)
    assert {row["outcome"] for row in rows} == {"finished"}
    assert [row["request"] for row in rows] == [str(place) for place in range(len(rows))]
    arrivals = [float(row["arrival_s"]) for row in rows]
    assert arrivals == sorted(arrivals)
    for row in rows[:200]:
        assert float(row["arrival_s"]) < float(row["first_token_s"]) < float(row["end_s"])
        assert float(row["ttft_ms"]) == pytest.approx(
            (float(row["first_token_s"]) - float(row["arrival_s"])) * 1000, abs=1e-3
        )
        assert (row["prompt_tokens"], row["output_tokens"]) == ("200", "50")


def test_pages_and_columns_are_the_same_as_the_table(run: Run, reader: Api) -> None:
    rows = table(reader.get(f"/runs/{run.pk}/requests?format=csv&fields=arrival_s,replica"))
    assert RequestPart.objects.filter(run=run).count() > 2
    path, pages = f"/runs/{run.pk}/requests?fields=arrival_s,replica&limit=500", []
    while path:
        page = reader.get(path).json()
        pages += page["items"]
        path = page["next"]
    assert [{name: str(value) for name, value in item.items()} for item in pages] == rows
    problem(reader.get(f"/runs/{run.pk}/requests?fields=colour"), 400, "invalid-parameter")


def test_a_workbook_holds_what_fits_into_one(run: Run, reader: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    path = f"/runs/{run.pk}/requests?format=xlsx"
    sheet = openpyxl.load_workbook(io.BytesIO(reader.get(f"{path}&fields=request,ttft_ms").content)).active
    rows = list(sheet.iter_rows(values_only=True))
    assert [row for row in rows if row[0] == "request"] == [("request", "ttft_ms")]
    count = len(table(reader.get(f"/runs/{run.pk}/requests?format=csv")))
    assert rows[-1][0] == count - 1
    monkeypatch.setattr("planner.api.views.run_requests.MAX_XLSX_CELLS", 2 * count)
    assert reader.get(f"{path}&fields=request,ttft_ms").status_code == 200
    assert "fields" in problem(reader.get(path), 413, "too-many-rows")["detail"]


def test_a_reader_of_the_stream_knows_when_nothing_changed(run: Run, reader: Api) -> None:
    first = reader.get(f"/runs/{run.pk}/requests?format=csv")
    assert reader.get(f"/runs/{run.pk}/requests?format=csv", If_None_Match=first["ETag"]).status_code == 304
    other = reader.get(f"/runs/{run.pk}/requests?format=csv&fields=replica", If_None_Match=first["ETag"])
    assert other.status_code == 200


def test_a_run_that_shares_the_report_shares_the_log(run: Run, reader: Api) -> None:
    user = run.created_by
    assert user is not None
    version = make_scenario(user)
    again = run_submit(team=team_of(user), user=user, parsed=parsed_scenario(), scenario_version=version)
    assert again.pk != run.pk
    shared = reader.get(f"/runs/{again.pk}/requests?limit=3").json()
    assert shared["items"] == reader.get(f"/runs/{run.pk}/requests?limit=3").json()["items"]


def test_without_a_fleet_there_are_columns_and_no_rows(user: User, api: Api) -> None:
    row = make_run(user, slo={"ttft_p95_ms": 5})
    execute_run(str(row.pk))
    assert api.get(f"/runs/{row.pk}/report").json()["recommended"] is None
    assert api.get(f"/runs/{row.pk}/requests").json() == {"items": [], "next": None}
    found = b"".join(api.get(f"/runs/{row.pk}/requests?format=csv").streaming_content)
    assert found.decode() == ",".join(planning.REQUEST_COLUMNS) + "\r\n"


def test_report_and_log_are_written_together(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(execution.leases, "finish", lambda *_: False)
    row = make_run(user)
    execute_run(str(row.pk))
    assert not RequestPart.objects.exists()


@pytest.mark.skipif(has_pyarrow, reason="pyarrow is installed")
def test_without_pyarrow_parquet_says_what_to_take_instead(run: Run, reader: Api) -> None:
    body = problem(reader.get(f"/runs/{run.pk}/requests?format=parquet"), 406, "not-acceptable")
    assert "format=csv" in body["detail"]


@pytest.mark.skipif(not has_pyarrow, reason="needs the extra `parquet` (pyarrow)")
def test_parquet_holds_the_same_rows(run: Run, reader: Api) -> None:
    import pyarrow.parquet

    response = reader.get(f"/runs/{run.pk}/requests?format=parquet")
    assert response["Content-Type"] == "application/vnd.apache.parquet"
    file = pyarrow.parquet.ParquetFile(io.BytesIO(response.content))
    assert tuple(file.schema_arrow.names) == planning.REQUEST_COLUMNS
    first = reader.get(f"/runs/{run.pk}/requests?limit=5").json()["items"]
    assert file.read().slice(0, 5).to_pylist() == first
