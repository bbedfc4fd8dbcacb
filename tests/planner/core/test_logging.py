import logging
import sys

import pytest

from planner.core.logging import RedactingFormatter, redact


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
        ("nothing to hide at http://127.0.0.1:8000/", "nothing to hide at http://127.0.0.1:8000/"),
    ],
)
def test_secrets_are_hidden(text: str, expected: str) -> None:
    assert redact(text) == expected


def test_arguments_and_tracebacks_are_covered() -> None:
    try:
        raise ValueError("stc_0123456789ab_ffff")
    except ValueError:
        record = logging.LogRecord("x", logging.ERROR, "f", 1, "at %s", ("redis://:pw@h",), sys.exc_info())
    line = RedactingFormatter("%(message)s").format(record)
    assert "ffff" not in line
    assert "pw@" not in line
    assert "ValueError" in line
