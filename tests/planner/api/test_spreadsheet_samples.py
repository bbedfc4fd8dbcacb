"""docs/spreadsheets.md: every sample asks a live server as written, but for its address and its token."""

import base64
import csv
import io
import json
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

import pytest
from pytest_django.live_server_helper import LiveServer

from planner import planning
from planner.api.views import runs
from planner.api.views.service import SHEETS_FILE
from planner.runs.models import Run, State
from planner.teams.services import link_token_create
from tests import libreoffice
from tests.factories import make_run, make_token, make_user, scenario_dict, team_of
from tests.planner.api.support import Api
from tests.planner.reports.example import example

PAGE = SHEETS_FILE.read_text()
ROW = {
    "A2": "meta-llama/Llama-3.1-8B-Instruct",
    "B2": "H100-SXM5-80GB",
    "C2": "2,5",
    "D2": "600",
    "E2": "200",
    "F2": "1000",
}
COLUMNS = ("model", "gpu", "rps", "prompt_tokens", "output_tokens", "ttft_p95_ms")
QUESTION = dict(zip(COLUMNS, (value.replace(",", ".") for value in ROW.values()), strict=True))
_PIECE = re.compile(r'"((?:[^"]|"")*)"|ENCODEURL\((\w+)\)|SUBSTITUTE\((\w+),",","\."\)|([A-Z]+[0-9]+)')


def samples(language: str) -> list[str]:
    found = re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
    assert found, language
    return list(found)


class Sheet:
    """A live server and what opens it."""

    def __init__(self, server: LiveServer) -> None:
        user = make_user()
        self.url, self.token = server.url, make_token(user, "run")[1]
        self.link = link_token_create(team=team_of(user), user=user)[1]

    def filled(self, sample: str) -> str:
        return (
            sample.replace("http://127.0.0.1:8000", self.url).replace("stl_…", self.link).replace("stc_…", self.token)
        )

    def fetch(self, path: str, headers: dict[str, str] | None = None) -> str:
        url = path if path.startswith("http") else self.url + path
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers or {}), timeout=30) as response:
            return str(response.read().decode())


@pytest.fixture
def sheet(live_server: LiveServer, transactional_db: None) -> Sheet:
    return Sheet(live_server)


def month_usd() -> float:
    document = scenario_dict(
        traffic={
            "arrival": {"kind": "poisson", "mean_rps": 2.5},
            "prompt_tokens": {"kind": "fixed", "tokens": 600},
            "output_tokens": {"kind": "fixed", "tokens": 200},
        },
        slo={"ttft_p95_ms": 1000},
    )
    return float(planning.estimate_cells(planning.parse_scenario(document))["monthly_cost_usd"])


def address(formula: str, cells: dict[str, str]) -> str:
    """What a sheet makes of `"…"&ENCODEURL(A2)&…`."""
    parts = []
    for text, encoded, pointed, plain in _PIECE.findall(formula):
        if encoded:
            parts.append(quote(cells[encoded], safe=""))
        elif pointed:
            parts.append(cells[pointed].replace(",", "."))
        else:
            parts.append(cells[plain] if plain else text.replace('""', '"'))
    return "".join(parts)


@pytest.mark.parametrize("function", ["IMPORTDATA", "WEBSERVICE"])
def test_a_cell_functions_address_gives_a_bare_number(sheet: Sheet, function: str) -> None:
    (formula,) = [sample for sample in samples("text") if function in sample]
    argument = formula.split(f"{function}(", 1)[1].removesuffix("\n").removesuffix(")")
    argument = argument.removesuffix('),"."')
    asked = address(sheet.filled(argument), ROW)
    assert asked.startswith(sheet.url)
    assert float(sheet.fetch(asked)) == pytest.approx(month_usd(), rel=0.5)
    assert float(sheet.fetch(asked + "&priced_at=2026-11-30")) == month_usd()
    assert sheet.fetch(asked + "&refresh=7") == sheet.fetch(asked)


def test_power_query_asks_for_each_row_with_the_token_as_password(sheet: Sheet) -> None:
    per_row, catalog, _ = samples("powerquery")
    password = base64.b64encode(f"anyone:{sheet.token}".encode()).decode()
    headers = {"Authorization": f"Basic {password}"}
    path = re.search(r'RelativePath = "([^"]+)"', per_row)
    fixed = dict(re.findall(r'(\w+) = "([^"]*)"', per_row.split("& [", 1)[1].split("]", 1)[0]))
    assert path is not None
    found = sheet.fetch(f"/{path[1]}?{urlencode({**QUESTION, 'tp': '', **fixed})}", headers)
    (row,) = csv.DictReader(io.StringIO(found))
    assert list(row) == fixed["fields"].split(",")
    assert {"replicas", "monthly_cost_usd"} <= set(row)
    path = re.search(r'RelativePath = "([^"]+)"', catalog)
    query = dict(re.findall(r'(\w+) = "([^"]*)"', catalog.split("Query = [", 1)[1].split("]", 1)[0]))
    assert path is not None
    rows = list(csv.DictReader(io.StringIO(sheet.fetch(f"/{path[1]}?{urlencode(query)}", headers))))
    assert float(rows[0]["usd_per_gpu_hour"]) > 0


def test_libreoffice_shows_the_number_and_the_linked_table(sheet: Sheet) -> None:
    (formula,) = (sheet.filled(sample).strip() for sample in samples("text") if "WEBSERVICE" in sample)
    (pattern,) = re.findall(r"`(http[^`]+/sheets/estimate\?token=[^`]+)`", PAGE)
    question = urlencode({**QUESTION, "fields": "gpu,replicas,monthly_cost_usd"})
    linked = sheet.filled(pattern).partition("&model=")[0] + f"&{question}"
    shown = libreoffice.asked([ROW[f"{column}2"] for column in "ABCDEF"], formula, linked)
    (row,) = csv.DictReader(io.StringIO(sheet.fetch(linked)))
    assert shown["error"] == 0
    assert shown["value"] == float(row["monthly_cost_usd"])
    assert shown["table"] == [list(row), list(row.values())]


def test_power_query_goes_through_the_pages_of_a_list(sheet: Sheet) -> None:
    """As the sample does: the same query, and the cursor of the path that the page before names."""
    *_, paged = samples("powerquery")
    path = re.search(r'RelativePath = "([^"]+)"', paged)
    assert path is not None
    query = dict(re.findall(r'(\w+) = "([^"]*)"', paged.split("Query = [", 1)[1].split("]", 1)[0]))
    user = make_user()
    runs_of_team = [str(make_run(user, seed=seed).pk) for seed in range(5)]
    password = base64.b64encode(f"anyone:{make_token(user)[1]}".encode()).decode()
    seen, cursor = [], {}
    while cursor is not None:
        asked = urlencode({**query, "limit": 2, **cursor})
        page = json.loads(sheet.fetch(f"/{path[1]}?{asked}", {"Authorization": f"Basic {password}"}))
        seen += page["items"]
        following = dict(parse_qsl(urlsplit(page["next"]).query)) if page["next"] else None
        cursor = following and {"cursor": following["cursor"]}
    assert [item["id"] for item in seen] == runs_of_team
    assert set(re.findall(r"(\w+) = (?:nullable )?text", paged)) >= set(query["fields"].split(",")) == set(seen[0])


def test_excel_is_asked_for_a_password(sheet: Sheet) -> None:
    with pytest.raises(urllib.error.HTTPError) as refused:
        sheet.fetch("/api/v1/sheets/estimate?model=x")
    assert refused.value.code == 401
    assert refused.value.headers["WWW-Authenticate"].startswith("Basic ")
    refused.value.close()


def test_the_r_sample_asks_with_a_link(sheet: Sheet) -> None:
    (sample,) = samples("r")
    question = dict(re.findall(r'(\w+) = "([^"]*)"', sheet.filled(sample).split("c(", 1)[1].split(")\n", 1)[0]))
    server = re.search(r'"(http[^"]+\?)"', sheet.filled(sample))
    assert server is not None
    (row,) = csv.DictReader(io.StringIO(sheet.fetch(server[1] + urlencode(question))))
    assert float(row["monthly_cost_usd"]) > 0


def test_the_r_sample_runs(sheet: Sheet) -> None:
    command = shutil.which("Rscript")
    if command is None:
        pytest.skip("R is not installed")
    (sample,) = samples("r")
    done = subprocess.run([command, "-e", sheet.filled(sample)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) > 0


def test_the_curl_sample_runs(sheet: Sheet) -> None:
    (sample,) = samples("sh")
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", sheet.filled(sample)], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    (row,) = csv.DictReader(io.StringIO(done.stdout))
    assert row["feasible"] == "true"
    assert float(row["api_monthly_cost_usd"]) > 0


def test_the_python_sample_runs(sheet: Sheet) -> None:
    (sample,) = samples("python")
    command = [sys.executable, "-I", "-c", sheet.filled(sample)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[1]) > 0


APPS_SCRIPT_SERVICES = """
const {execFileSync} = require('child_process');
const PropertiesService = {getScriptProperties: () => ({getProperty: () => process.env.TOKEN})};
const Utilities = {sleep: () => {}};
const UrlFetchApp = {fetch: (url, options) => {
  const flags = ['-sS', '-X', options.method.toUpperCase(), '-w', '\\n%{http_code}'];
  for (const [name, value] of Object.entries(options.headers)) flags.push('-H', name + ': ' + value);
  if (options.payload) flags.push('-H', 'Content-Type: ' + options.contentType, '--data-binary', options.payload);
  const out = execFileSync('curl', [...flags, url]).toString();
  const end = out.lastIndexOf('\\n');
  return {getContentText: () => out.slice(0, end), getResponseCode: () => Number(out.slice(end + 1))};
}};
"""


def apps_script(sheet: Sheet, call: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node is not installed, which stands in for Apps Script")
    (sample,) = samples("javascript")
    file = tmp_path / "sample.js"
    file.write_text(f"{APPS_SCRIPT_SERVICES}\n{sheet.filled(sample)}\nconsole.log(JSON.stringify({call}));\n")
    environment = {"TOKEN": sheet.token, "PATH": "/usr/local/bin:/usr/bin:/bin"}
    return subprocess.run([node, str(file)], capture_output=True, text=True, timeout=60, env=environment)


def test_the_apps_script_function_fills_a_table(sheet: Sheet, tmp_path: Path) -> None:
    good = [QUESTION["model"], QUESTION["gpu"], 2.5, 600, 200, 1000]
    done = apps_script(sheet, f"STAIRCASE({json.dumps([good, [*good[:1], 'Foo', *good[2:]]])})", tmp_path)
    assert done.returncode == 0, done.stderr
    header, first, second = json.loads(done.stdout)
    assert first[header.index("candidate")].startswith("H100-SXM5-80GB/")
    assert first[header.index("monthly_cost_usd")] > 0
    assert second[0] == "error"
    assert len(header) == len(first) == len(second)


def test_the_apps_script_waits_for_a_run(sheet: Sheet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = planning.report_bytes(example()).decode()
    monkeypatch.setattr(runs, "wait_while", lambda *_: Run.objects.update(state=State.DONE, report=report))
    done = apps_script(sheet, f"planAndWait({json.dumps(scenario_dict())})", tmp_path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == example()["verdict"]["sentence"]
    wrong = apps_script(sheet, f"planAndWait({json.dumps(scenario_dict(slo={}))})", tmp_path)
    assert wrong.returncode != 0
    assert "/slo" in wrong.stderr


def test_two_hundred_rows_refresh_twice_and_the_second_time_from_the_cache(
    sheet: Sheet, monkeypatch: pytest.MonkeyPatch
) -> None:
    computed = []
    compute = planning.estimate_cells
    monkeypatch.setattr(planning, "estimate_cells", lambda scenario: computed.append(1) or compute(scenario))
    rows = [{**QUESTION, "rps": 1 + place / 100, "tp": "1"} for place in range(200)]
    caller = Api(sheet.token)
    answers = [
        [caller.get(f"/sheets/estimate?{urlencode({**row, 'fields': 'gpus', 'header': 0})}").content for row in rows]
        for _ in range(2)
    ]
    assert answers[0] == answers[1]
    assert len(computed) == 200


def test_the_page_shows_the_address_it_was_opened_by(sheet: Sheet) -> None:
    shown = sheet.fetch("/api/v1/docs/spreadsheets")
    assert "http://127.0.0.1:8000" not in shown
    assert f"SERVER = '{sheet.url}'" in shown
    assert "# Spreadsheets" in shown


def test_what_is_served_is_in_the_image() -> None:
    root = SHEETS_FILE.parents[1]
    for name in ("docs/api.md", "docs/spreadsheets.md"):
        assert f"!{name}" in (root / ".dockerignore").read_text()
        assert name in (root / "Dockerfile").read_text()
