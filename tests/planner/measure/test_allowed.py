"""Only this machine, and what the operator allows."""

from typing import Any

import pytest

from planner.core.addresses import TargetRefused
from planner.measure.allowed import parse_base, resolve_allowed
from tests.planner.webhooks.test_targets import answers


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://localhost:8000", ""),
        ("http://localhost:8000/", ""),
        ("http://localhost:8000/v1", ""),
        ("http://localhost:8000/v1/chat/completions", ""),
        ("https://gateway.example/llm/v1/", "/llm"),
    ],
)
def test_where_v1_begins(url: str, path: str) -> None:
    assert parse_base(url).path == path


@pytest.mark.parametrize("url", ["", "localhost:8000", "ftp://x/", "http://u:p@x/", "http://x/?key=1", "http://x/#a"])
def test_what_is_no_address(url: str) -> None:
    with pytest.raises(TargetRefused) as refused:
        parse_base(url)
    assert refused.value.code == "invalid_url"


@pytest.mark.parametrize(
    ("host", "found", "allowed"),
    [
        ("name.example", ("127.0.0.1", "::1"), ()),
        ("name.example", ("::ffff:127.0.0.1",), ()),
        ("name.example", ("10.1.2.3",), ("10.0.0.0/8",)),
        ("name.example", ("10.1.2.3",), ("10.1.2.3",)),
        ("NAME.example", ("8.8.8.8",), ("name.example",)),
        ("name.example", ("fd00::1", "10.0.0.1"), ("fd00::/8", "10.0.0.0/8")),
    ],
)
def test_allowed(host: str, found: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    assert resolve_allowed(parse_base(f"http://{host}:8000"), allowed, answers(*found))


@pytest.mark.parametrize(
    ("found", "allowed"),
    [
        (("10.1.2.3",), ()),
        (("127.0.0.1", "10.1.2.3"), ()),
        (("8.8.8.8",), ("10.0.0.0/8", "other.example")),
        (("::ffff:10.1.2.3",), ("11.0.0.0/8",)),
        (("169.254.169.254",), ("10.0.0.0/8",)),
    ],
)
def test_not_allowed(found: tuple[str, ...], allowed: tuple[str, ...]) -> None:
    lookup: Any = answers(*found)
    with pytest.raises(TargetRefused) as refused:
        resolve_allowed(parse_base("http://name.example:8000"), allowed, lookup)
    assert refused.value.code == "not_allowed"
    assert lookup.asked == 1
