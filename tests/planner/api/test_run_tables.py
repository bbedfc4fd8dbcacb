"""GET /runs/{id}/candidates, /curves, /timeseries and the other tables of a report; sections of the report."""

import csv
import io
import json
from typing import Any

import openpyxl
import pytest

from planner import planning
from planner.reports.export_xlsx import report_xlsx
from planner.reports.tables import TABLES
from planner.runs.models import Run, State
from planner.teams.models import User
from tests.factories import make_run
from tests.planner.api.support import Api, problem
from tests.planner.reports.example import example, infeasible_example

each = pytest.mark.parametrize("name", TABLES)


@pytest.fixture
def run(user: User) -> str:
    row = make_run(user)
    Run.objects.update(state=State.DONE, report=planning.report_bytes(example()).decode())
    return str(row.pk)


def table(response: Any) -> list[list[str]]:
    assert response.status_code == 200, response.content
    return list(csv.reader(io.StringIO(response.content.decode())))


@each
def test_csv_and_json_are_the_same_flat_rows(api: Api, run: str, name: str) -> None:
    header, *rows = table(api.get(f"/runs/{run}/{name}?format=csv"))
    items = api.get(f"/runs/{run}/{name}?limit=500").json()["items"]
    assert [list(item) for item in items] == [header] * len(rows)
    assert rows
    assert not any(isinstance(value, dict | list) for item in items for value in item.values())


@each
@pytest.mark.parametrize("report", [example(), infeasible_example()], ids=["fleet", "none"])
def test_every_report_has_every_table(report: dict[str, Any], name: str) -> None:
    found = TABLES[name](report)
    assert len(set(found.columns)) == len(found.columns)
    assert all(set(row) == set(found.columns) for row in found.rows)


def test_the_columns_of_candidates_do_not_depend_on_the_scenario() -> None:
    assert TABLES["candidates"](example()).columns == TABLES["candidates"](infeasible_example()).columns


def test_candidates_hold_what_the_report_says(api: Api, run: str) -> None:
    items = api.get(f"/runs/{run}/candidates").json()["items"]
    for item, row in zip(items, example()["candidates"], strict=True):
        assert item["id"] == row["id"]
        assert item["monthly_cost_usd"] == (row["usd_per_month"] or {}).get("mid")
        assert item["reason_code"] == (row["reason"] or {}).get("code")
        for target in row["slo"]:
            if target["percentile"]:
                assert item[f"{target['metric']}_p{target['percentile']}_ms"] == target["predicted"]


def test_the_week_has_168_hours(api: Api, run: str) -> None:
    header, *rows = table(api.get(f"/runs/{run}/timeseries?format=csv"))
    assert header == ["hour", "rps", "replicas_needed"]
    assert [int(row[0]) for row in rows] == list(range(168))


def test_columns_and_pages_of_a_table(api: Api, run: str) -> None:
    body = api.get(f"/runs/{run}/timeseries?fields=rps&limit=100").json()
    rest = api.get(body["next"]).json()
    assert len(body["items"]) == 100
    assert len(rest["items"]) == 68
    assert set(rest["items"][0]) == {"rps"}


@each
def test_a_table_has_an_etag(api: Api, run: str, name: str) -> None:
    etag = api.get(f"/runs/{run}/{name}")["ETag"]
    assert api.get(f"/runs/{run}/{name}", If_None_Match=etag).status_code == 304


def test_an_unfinished_run_has_no_tables(api: Api, run: str) -> None:
    Run.objects.update(state=State.RUNNING)
    assert problem(api.get(f"/runs/{run}/candidates"), 409, "no-report")


def test_sections_of_a_report_are_chosen(api: Api, run: str) -> None:
    response = api.get(f"/runs/{run}/report?fields=verdict,cost")
    assert json.loads(response.content) == {name: example()[name] for name in ("verdict", "cost")}
    assert api.get(f"/runs/{run}/report?fields=verdict", If_None_Match=response["ETag"]).status_code == 200
    problem(api.get(f"/runs/{run}/report?fields=colour"), 400, "invalid-parameter")


def test_a_report_is_a_workbook_too(api: Api, run: str) -> None:
    first = api.get(f"/runs/{run}/report?format=xlsx")
    assert first.content == report_xlsx(example())
    assert first["Content-Type"] == "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
    assert first["Content-Disposition"].endswith('.xlsx"')
    assert api.get(f"/runs/{run}/report?format=xlsx", If_None_Match=first["ETag"]).status_code == 304


def test_a_workbook_of_some_sections_is_refused(api: Api, run: str) -> None:
    problem(api.get(f"/runs/{run}/report?format=xlsx&fields=verdict"), 400, "invalid-parameter")


@pytest.mark.parametrize("path", ["/runs", "/scenarios", "/sheets/links", "/catalog/api-prices", "candidates"])
def test_every_list_is_a_workbook(api: Api, run: str, path: str) -> None:
    full = path if path.startswith("/") else f"/runs/{run}/{path}"
    sheet = openpyxl.load_workbook(io.BytesIO(api.get(f"{full}?format=xlsx").content)).active
    found = table(api.get(f"{full}?format=csv"))
    assert [cell.value for cell in sheet[1]] == found[0]
    assert sheet.max_row == len(found)
