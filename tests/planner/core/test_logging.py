import json
import logging
import sys
from typing import Any

import pytest

from planner.core.logging import JsonFormatter, RedactingFormatter, RequestIdFilter, redact
from planner.runs import leases
from planner.runs.execution import execute
from planner.teams.models import User
from tests.factories import make_run, team_of


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("token stc_0123456789ab_00ff00ff00ff", "token stc_0123456789ab_***"),
        ("link stl_0123456789ab_00ff00ff00ff", "link stl_0123456789ab_***"),
        ("Not Found: /sign-in/link/abc-DEF_1/", "Not Found: /sign-in/link/***/"),
        ("GET /shared/abc-DEF_1/ HTTP/1.1", "GET /shared/***/ HTTP/1.1"),
        ("GET /api/v1/runs?limit=5&token=abc HTTP/1.1", "GET /api/v1/runs?limit=5&token=*** HTTP/1.1"),
        ("postgres://me:pass@db:5432/x", "postgres://me:***@db:5432/x"),
        ("redis://:pass@cache/0", "redis://:***@cache/0"),
        ("{'Authorization': 'Basic QWxhZGRpbg=='}", "{'Authorization': 'Basic ***'}"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("failed for ada.l+x@mail.example.com", "failed for ***@mail.example.com"),
        ("nothing to hide at http://127.0.0.1:8000/", "nothing to hide at http://127.0.0.1:8000/"),
    ],
)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_a_sender_writes_no_line_of_its_own() -> None:
    record = logging.LogRecord("x", logging.WARNING, "f", 1, "at %s", ("/a\r\n2026 INFO forged\u2028\x1b[2J",), None)
    line = RedactingFormatter("%(message)s").format(record)
    assert line == r"at /a\r\n2026 INFO forged\u2028\x1b[2J"


def test_arguments_and_tracebacks_are_covered() -> None:
    try:
        raise ValueError("stc_0123456789ab_ffff")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "at %s", ("redis://:pw@h",), sys.exc_info())
    line = RedactingFormatter("%(message)s").format(record)
    assert "ffff" not in line
    assert "pw@" not in line
    assert "ValueError" in line


def json_lines(caplog: pytest.LogCaptureFixture) -> list[dict[str, Any]]:
    """What was logged, formatted when it was: ids are those of that moment."""
    formatter, lines = JsonFormatter(), []

    class Keep(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            lines.append(json.loads(formatter.format(record)))

    handler = Keep()
    caplog.handler.addFilter(lambda record: handler.emit(record) or True)
    return lines


def test_a_json_line_is_one_line_without_secrets(caplog: pytest.LogCaptureFixture) -> None:
    lines = json_lines(caplog)
    try:
        raise ValueError("stc_0123456789ab_ffff")
    except ValueError:
        logging.getLogger("x").exception('at %s\n"quoted"', "redis://:pw@h")
    (line,) = lines
    assert (line["level"], line["logger"], line["message"]) == ("ERROR", "x", 'at redis://:***@h\n"quoted"')
    assert "ffff" not in line["traceback"]
    assert "ValueError" in line["traceback"]
    assert line["time"].endswith("+00:00")
    assert not {"request", "run", "team"} & set(line)


def test_lines_of_a_run_name_it_and_its_team(
    user: User, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise RuntimeError

    monkeypatch.setattr("planner.planning.plan", fail)
    lines = json_lines(caplog)
    run = make_run(user)
    lease = leases.claim(run.pk)
    assert lease is not None
    execute(lease)
    logging.getLogger("x").warning("after")
    assert [(line.get("run"), line.get("team")) for line in lines[-2:]] == [
        (str(run.pk), str(team_of(user).pk)),
        (None, None),
    ]


def test_lines_of_a_request_name_it_and_its_team(user: User, client: Any, caplog: pytest.LogCaptureFixture) -> None:
    lines = json_lines(caplog)
    client.force_login(user)
    for address in ("/api/v1/runs/00000000-0000-0000-0000-000000000000", "/runs/00000000-0000-0000-0000-000000000000/"):
        answer = client.get(address)
        assert answer.status_code == 404
        told = [line for line in lines if line.get("request") == answer.headers["X-Request-Id"]]
        assert {line["team"] for line in told} == {str(team_of(user).pk)}
        (record,) = [each for each in caplog.records if each.getMessage() == f"Not Found: {address}"]
        RequestIdFilter().filter(record)
        assert record.request_id == answer.headers["X-Request-Id"]
