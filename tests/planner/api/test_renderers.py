"""JSON and CSV as bytes."""

import csv
import io
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.api.renderers import Csv, Json
from planner.reports.tables import Table


def cells(value: Any) -> str:
    return list(csv.reader(io.StringIO(Csv().render(Table(["x"], [{"x": value}])).decode())))[1][0]


@pytest.mark.parametrize(
    ("value", "cell"),
    [
        (None, ""),
        (True, "true"),
        (-3, "-3"),
        (2.5, "2.5"),
        (1e-7, "1e-07"),
        (Decimal("0.10"), "0.1"),
        (Decimal("3.00"), "3"),
        (date(2026, 11, 30), "2026-11-30"),
        (["eu-west", "us-east"], "eu-west; us-east"),
        ({"a": 1}, '{"a": 1}'),
        ('say "hi", twice', 'say "hi", twice'),
        ("Zürich", "Zürich"),
    ],
)
def test_a_cell(value: Any, cell: str) -> None:
    assert cells(value) == cell


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@x", "\t=1", "\r=1", "\n=1", "  =1", "＝1"])
def test_nothing_starts_a_formula(text: str) -> None:
    assert cells(text) == f"'{text}"


def test_a_list_starts_no_formula_either() -> None:
    assert cells(["=1", "b"]) == "'=1; b"


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30))
def test_text_survives_and_is_harmless(text: str) -> None:
    read = cells(text)
    assert read.removeprefix("'") == text.removeprefix("'")
    assert not read.startswith(("=", "+", "-", "@", "\t", "\r"))


def test_lines_follow_rfc_4180() -> None:
    data = Csv().render(Table(["b", "a"], [{"a": 1, "b": "x", "more": 1}, {"a": "two\nlines"}]))
    assert data == b'b,a\r\nx,1\r\n,"two\nlines"\r\n'


def test_json_numbers_are_numbers() -> None:
    data = Json().render({"usd_per_hour": Decimal("3.20"), "at": datetime(2026, 11, 30, tzinfo=UTC), "name": "é"})
    assert data.decode() == '{"usd_per_hour":3.2,"at":"2026-11-30T00:00:00Z","name":"é"}'


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_never_written(value: float) -> None:
    with pytest.raises(ValueError):
        Json().render({"x": value})
    with pytest.raises(ValueError):
        cells(value)
