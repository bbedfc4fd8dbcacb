"""What an attacker with an account would try on pages and API, each kind as one case over everything."""

import json
import re
from typing import Any

import pytest
from django.apps import apps
from django.db import connection, models
from django.test import Client
from django.test.utils import CaptureQueriesContext

from planner.runs.models import Run
from planner.runs.services import run_submit
from planner.teams.models import AuditEvent, Role
from tests.factories import add_member, make_token, make_user, parsed_scenario, team_of
from tests.planner.web.support import Office, form_data, make_office, signed_in
from tests.planner.web.test_permissions import (
    FOR_EDITORS,
    LISTS,
    OF_A_TEAM,
    OF_THE_PERSON,
    get,
)

pytestmark = pytest.mark.django_db
PAYLOAD = "\"'><svg onload=evil()>{{7*7}}</script>=evil()"
TYPED = frozenset({"name", "text", "note", "browser", "failure", "error", "disabled_reason", "source", "words"})
"""Fields of rows that hold what somebody typed, or what quotes it."""


def put_everywhere(payload: str) -> set[str]:
    """Writes the payload into every typed text of every row; returns the fields that had a row."""
    reached = set()
    for model in apps.get_models():
        names = [
            field.name
            for field in model._meta.concrete_fields
            if isinstance(field, models.CharField | models.TextField) and field.name in TYPED
        ]
        if not model.__module__.startswith("planner.") or not names:
            continue
        for row in model._default_manager.all():
            for name in names:
                longest = model._meta.get_field(name).max_length
                text = payload[: longest or None]
                model._default_manager.filter(pk=row.pk).update(**{name: text})
                reached.add(f"{model._meta.label}.{name}")
    return reached


def planted(value: Any, payload: str) -> Any:
    """A JSON value with the payload behind each of its texts that no number, date or keyword is."""
    if isinstance(value, dict):
        return {key: planted(item, payload) for key, item in value.items()}
    if isinstance(value, list):
        return [planted(item, payload) for item in value]
    return f"{value}{payload}" if isinstance(value, str) and " " in value else value


@pytest.fixture
def office() -> Office:
    made = make_office()
    report = planted(json.loads(made.done.report or "{}"), PAYLOAD)
    Run.objects.filter(pk=made.done.pk).update(report=json.dumps(report))
    return made


def test_no_text_becomes_markup_on_any_page(office: Office) -> None:
    reached = put_everywhere(PAYLOAD)
    assert {"scenarios.Comment.text", "datasets.TraceUpload.name", "teams.Team.name", "teams.User.name"} <= reached
    assert {"datasets.Trace.name", "webhooks.Webhook.name", "runs.Run.name", "reports.ShareLink.name"} <= reached
    client = signed_in(office.owner)
    answers = get(client, office, OF_A_TEAM, FOR_EDITORS, LISTS, OF_THE_PERSON)
    type(office.owner).objects.filter(pk=office.owner.pk).update(is_staff=True)
    answers["operations"] = client.get("/operations/")
    assert answers["operations"].status_code == 200
    answers["shared"] = Client().get(f"/shared/{office.share_secret}/")
    seen = 0
    for name, answer in answers.items():
        assert answer.status_code < 500, name
        if not answer["Content-Type"].startswith("text/html"):
            continue
        page = answer.content.decode()  # type: ignore[attr-defined]
        assert "<svg onload" not in page, name
        assert "evil()>49" not in page, name
        for script in re.findall(r"<script[^>]*json[^>]*>(.*?)</script>", page, re.DOTALL):
            json.loads(script)  # a text that ended the element early would leave broken JSON
        seen += "svg onload" in page
    assert seen >= 15  # the payload was there to be seen, escaped


def test_no_file_starts_a_formula(office: Office) -> None:
    put_everywhere("=cmd|' /C calc'!A0")
    client = signed_in(office.owner)
    text = client.get(f"/reports/{office.done.pk}/tables/candidates.csv").content.decode()
    head = {"HTTP_AUTHORIZATION": f"Bearer {make_token(office.owner)[1]}"}
    for path in (
        "scenarios",
        "traces",
        f"teams/{team_of(office.owner).pk}/audit",
        f"teams/{team_of(office.owner).pk}/tokens",
    ):
        answer = client.get(f"/api/v1/{path}?format=csv", **head)
        assert answer.status_code == 200, path
        text += answer.content.decode()
    assert "cmd|" in text
    assert not re.search(r'(^|,|\n)"?[=+@]', text)


@pytest.fixture
def rival() -> tuple[Client, str]:
    """Somebody of another team: browser and token."""
    user = make_user()
    return signed_in(user), make_token(user)[1]


def test_the_same_question_of_another_team_tells_nothing(office: Office) -> None:
    rival = make_user()
    run = run_submit(team=team_of(rival), user=rival, parsed=parsed_scenario())
    assert run.digest == office.done.digest
    assert (run.state, run.report, run.pk == office.done.pk) == ("queued", "", False)


@pytest.mark.parametrize("header", ["HTTP_IF_NONE_MATCH", "HTTP_IF_MATCH"])
def test_an_etag_opens_and_confirms_nothing(office: Office, rival: tuple[Client, str], header: str) -> None:
    _, token = rival
    mine = {"HTTP_AUTHORIZATION": f"Bearer {make_token(office.owner)[1]}"}
    theirs = {"HTTP_AUTHORIZATION": f"Bearer {token}"}
    for path in (f"/api/v1/runs/{office.done.pk}/report", f"/api/v1/scenarios/{office.scenario.pk}"):
        etag = Client().get(path, **mine)["ETag"]
        for tag in (etag, '"guess"', "*"):
            answer = Client().get(path, **theirs, **{header: tag})
            unknown = Client().get(re.sub(r"[0-9a-f]{8}-", "00000000-", path), **theirs, **{header: tag})
            assert (answer.status_code, unknown.status_code) == (404, 404), (path, tag)
            assert answer.json()["detail"] == unknown.json()["detail"]
            assert "ETag" not in answer.headers


def test_what_another_team_has_takes_no_more_questions_than_what_nobody_has(
    office: Office, rival: tuple[Client, str]
) -> None:
    """Time follows the questions to the database: with as many, an id of another team is as slow as one of nobody."""
    client, _ = rival
    client.get("/account/")
    for address in OF_A_TEAM.values():
        path = address(office)
        if "/compare/" in path:
            continue
        counts = []
        for tried in (path, re.sub(r"[0-9a-f]{8}-", "00000000-", path, count=1)):
            with CaptureQueriesContext(
                connection,
            ) as asked:
                assert client.get(tried).status_code == 404, tried
            counts.append(len(asked))
        assert counts[0] == counts[1], path


def test_a_form_takes_no_field_that_is_not_its_own(office: Office) -> None:
    """Mass assignment: what is stored, whose it is and what it may do come from no form."""
    editor = signed_in(office.editor)
    extra = {"team": str(team_of(make_user()).pk), "user": "1", "is_staff": "on", "is_superuser": "on", "id": "1"}
    editor.post("/account/name/", {"name": "Ed", "email": "other@example.com", "is_active": "", **extra})
    office.editor.refresh_from_db()
    assert (office.editor.name, office.editor.is_staff, office.editor.is_superuser) == ("Ed", False, False)
    assert office.editor.email != "other@example.com"
    editor.post(
        "/team/tokens/", {"name": "t", "kind": "personal", "scope": "read", "days": "3", "of_team": "on", **extra}
    )
    token = office.editor.tokens.get(name="t")
    assert (token.team, token.user, token.of_team) == (team_of(office.owner), office.editor, False)
    editor.post(f"/scenarios/{office.scenario.pk}/comments/", {"text": "hi", **extra, "user": str(office.owner.pk)})
    assert office.scenario.comments.get(text="hi").created_by == office.editor
    before = Run.objects.count()
    editor.post("/scenarios/new/", form_data(name="Planted") | {"state": "done", "report": "{}", **extra, "run": "1"})
    for run in Run.objects.order_by("-created_at")[: Run.objects.count() - before]:
        assert (run.team, run.report) == (team_of(office.owner), "")
    assert add_member(team_of(office.owner), Role.VIEWER).is_staff is False


def test_a_form_of_a_million_fields_is_refused_at_once(office: Office) -> None:
    body = "&".join(f"f{i}=" for i in range(1_000_000))
    for path in ("/sign-in/", "/scenarios/new/", "/api/v1/scenarios"):
        answer = signed_in(office.owner).post(path, body, "application/x-www-form-urlencoded")
        assert answer.status_code in (400, 413, 415), path


@pytest.mark.parametrize(
    "body",
    [
        "[" * 100_000,
        '{"a":' * 100_000,
        '{"traffic":' + "[" * 5_000 + "]" * 5_000 + "}",
        "9" * 1_000_000,
        '{"a":' + "9" * 1_000_000 + "}",
    ],
    ids=["lists", "objects", "closed", "number", "number inside"],
)
def test_deep_and_long_json_is_refused(office: Office, body: str) -> None:
    head = {"HTTP_AUTHORIZATION": f"Bearer {make_token(office.owner)[1]}"}
    for path in (
        "/api/v1/scenarios",
        "/api/v1/runs",
        "/api/v1/estimates",
        f"/api/v1/teams/{team_of(office.owner).pk}/tokens",
    ):
        answer = Client().post(path, body, "application/json", **head)
        assert answer.status_code in (400, 422), path


def test_trace_echoes_nothing(office: Office) -> None:
    for path in ("/", "/sign-in/", "/account/", "/api/v1/runs", "/healthz"):
        answer = signed_in(office.owner).generic("TRACE", path, HTTP_X_PROBE="echo-me")
        assert b"echo-me" not in answer.content, path


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example", "localhost@evil.example", "[::1", "a b"])
def test_a_foreign_host_is_refused(host: str, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["localhost"]
    assert Client(raise_request_exception=False).get("/sign-in/", HTTP_HOST=host).status_code == 400


def test_the_audit_log_has_no_way_to_be_changed(office: Office) -> None:
    before = list(AuditEvent.objects.order_by("pk").values())
    head = {"HTTP_AUTHORIZATION": f"Bearer {make_token(office.owner)[1]}"}
    path = f"/api/v1/teams/{team_of(office.owner).pk}/audit"
    for method in ("post", "put", "patch", "delete"):
        for target in (path, f"{path}/{before[0]['id']}"):
            assert getattr(Client(), method)(target, "{}", "application/json", **head).status_code in (404, 405)
    assert signed_in(office.owner).post("/team/audit/").status_code == 405
    kept = [row for row in AuditEvent.objects.order_by("pk").values() if row["id"] in {old["id"] for old in before}]
    assert kept == before
