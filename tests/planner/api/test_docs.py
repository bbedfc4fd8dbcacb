"""docs/api.md: its commands run as written, and every problem has its section."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from pytest_django.live_server_helper import LiveServer

from planner.api.problems import KINDS, NO_REPORT
from planner.api.views import runs
from planner.api.views.service import MANUAL_FILE
from planner.runs.models import Run, State
from tests.factories import make_token, make_user
from tests.planner.api.support import Api

MANUAL = MANUAL_FILE.read_text()


def test_every_problem_has_its_section() -> None:
    sections = set(re.findall(r"^### (.+)$", MANUAL, re.MULTILINE))
    assert sections == {kind.anchor for kind in KINDS}


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.anchor)
def test_each_section_names_the_status(kind: Any) -> None:
    assert f"### {kind.anchor}\n{kind.status}. " in MANUAL


def test_the_type_of_a_problem_can_be_followed(db: None) -> None:
    page = Api().get("/docs")
    assert page.status_code == 200
    assert f"### {NO_REPORT.anchor}" in page.content.decode()
    assert page["Content-Type"] == "text/plain; charset=utf-8"


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/docs", "/docs/"])
def test_a_browser_gets_a_page_and_all_others_the_text(db: None, path: str) -> None:
    page = Api().get(path, Accept=BROWSER)
    assert page["Content-Type"] == "text/html; charset=utf-8"
    for kind in KINDS:
        assert f'id="{kind.anchor}"' in page.content.decode()
    for accepted in ("*/*", "text/plain", "application/json, */*;q=0.1"):
        assert Api().get(path, Accept=accepted)["Content-Type"] == "text/plain; charset=utf-8"
    assert "text/plain" in Api().get(f"{path}?format=text", Accept=BROWSER)["Content-Type"]
    assert "Accept" in page["Vary"]


def test_the_page_keeps_the_strict_policy_and_loads_only_our_files(db: None) -> None:
    page = Api().get("/docs", Accept=BROWSER)
    policy = page["Content-Security-Policy"]
    assert "default-src 'self'" in policy
    assert "unsafe" not in policy
    assert not re.search(r"(?:src|href)=\"https?:", page.content.decode())
    assert "<style" not in page.content.decode()


@pytest.mark.django_db(transaction=True)
def test_the_first_run_works_as_written(
    live_server: LiveServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = '{"schema_version":1}'

    def work(*_: object) -> None:
        Run.objects.update(state=State.DONE, report=report)

    monkeypatch.setattr(runs, "wait_while", work)
    text = make_token(make_user(), "run")[1]
    blocks = re.findall(r"```sh\n(.*?)```", MANUAL, re.DOTALL)
    script = "\n".join(blocks)
    script = script.replace("http://127.0.0.1:8000", live_server.url).replace("stc_…", text)
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr + done.stdout
    started = json.loads((tmp_path / "started.json").read_text())
    assert started["name"] == "Support chat"
    assert started["state"] == "queued"
    assert json.loads((tmp_path / "run.json").read_text())["state"] == "done"
    assert (tmp_path / "report.json").read_text() == report


def test_every_address_that_the_manual_shows_answers(api: Api) -> None:
    shown = re.findall(r"^    GET +(/api/v1/\S+)$", MANUAL, re.MULTILINE)
    assert len(shown) >= 9
    for path in shown:
        assert api.get(path).status_code == 200, path
