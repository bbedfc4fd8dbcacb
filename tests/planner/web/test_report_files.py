"""The report on one sheet and as files: the same figures everywhere."""

import csv
import io
import json
import re

import pytest
from openpyxl import load_workbook

from planner.reports.tables import LABELS, TABLES
from tests.planner.reports.example import example, infeasible_example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def test_every_table_is_a_csv_file_named_after_the_run(office: Office) -> None:
    client = signed_in(office.viewer)
    page = client.get(f"/reports/{office.done.pk}/").content.decode()
    assert set(LABELS) == set(TABLES)
    for name in TABLES:
        address = f"/reports/{office.done.pk}/tables/{name}.csv"
        assert f'href="{address}"' in page
        response = client.get(address)
        assert response["Content-Type"] == "text/csv"
        assert response["Content-Disposition"] == f'attachment; filename="small-chat-{name}.csv"'
        rows = list(csv.DictReader(io.StringIO(response.content.decode())))
        assert len(rows) == len(TABLES[name](example()).rows)
    assert client.get(f"/reports/{office.done.pk}/tables/secrets.csv").status_code == 404


def test_the_workbook_opens(office: Office) -> None:
    response = signed_in(office.viewer).get(f"/reports/{office.done.pk}/report.xlsx")
    assert response["Content-Disposition"] == 'attachment; filename="small-chat.xlsx"'
    assert "Candidates" in load_workbook(io.BytesIO(response.content)).sheetnames


def test_files_wait_for_the_report(office: Office) -> None:
    client = signed_in(office.owner)
    for path in ("report.xlsx", "report.json", "tables/cost.csv"):
        assert client.get(f"/reports/{office.queued.pk}/{path}").status_code == 404
    assert client.get(f"/reports/{office.queued.pk}/sheet/")["Location"] == f"/runs/{office.queued.pk}/"


def test_one_sheet_says_the_same_as_the_whole_report(office: Office) -> None:
    page = signed_in(office.viewer).get(f"/reports/{office.done.pk}/sheet/").content.decode()
    said = re.sub("<[^>]+>", "", page.split("<h1>")[1].split("</h1>")[0]).replace("&#x27;", "'")
    assert said == example()["verdict"]["sentence"]
    for title in ("Where the money goes", "When the answer turns", "Rests on", "Not included", "Over 12 months"):
        assert title in page
    assert page.count('class="chart"') == 2
    assert " style=" not in page


def test_one_sheet_without_a_fleet_says_why(office: Office) -> None:
    office.done.report = json.dumps(infeasible_example())
    office.done.save()
    page = signed_in(office.viewer).get(f"/reports/{office.done.pk}/sheet/").content.decode()
    assert "Why nothing meets the targets" in page
    assert "When the answer turns" not in page
