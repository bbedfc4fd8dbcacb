"""GET /api/v1/catalog/…: the real tables, and on a small one their filters, pages and CSV."""

import csv
import io
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from typing import Any

import pytest

from planner import planning
from planner.api.views import catalog
from tests.planner.api.support import Api, problem

KINDS = ("accelerators", "models", "gpu-prices", "api-prices")
each = pytest.mark.parametrize("kind", KINDS)
ROWS = [
    {
        "gpu": "H100-SXM5-80GB",
        "provider": "aws",
        "region": "us-east-1",
        "usd_per_gpu_hour": Decimal("3.20"),
        "note": None,
    },
    {"gpu": "H100-SXM5-80GB", "provider": "lambda", "region": "", "usd_per_gpu_hour": Decimal("2.99"), "note": "=1+1"},
    {"gpu": "H200-SXM-141GB", "provider": "aws", "region": "eu", "usd_per_gpu_hour": Decimal("4.00"), "note": "-"},
]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[str, date]]]:
    """The small table in place of all four; holds what was asked for."""
    asked: list[tuple[str, date]] = []

    def listing(kind: str, priced_at: date) -> list[dict[str, Any]]:
        asked.append((kind, priced_at))
        return ROWS

    monkeypatch.setattr(planning, "catalog_listing", listing, raising=False)
    catalog._kept.cache_clear()
    yield asked
    catalog._kept.cache_clear()


def table(response: Any) -> list[list[str]]:
    return list(csv.reader(io.StringIO(response.content.decode())))


@each
def test_every_row_comes_once_and_has_numbers_for_numbers(api: Api, kind: str) -> None:
    rows, link = [], f"/catalog/{kind}?priced_at=2026-11-30&limit=500"
    while link:
        response = api.get(link)
        assert response.status_code == 200, response.content
        rows += response.json()["items"]
        link = response.json()["next"]
    listed = planning.catalog_listing(kind, date(2026, 11, 30))
    assert len(rows) == len(listed) > 0
    for row in rows:
        for name, value in row.items():
            if "usd" in name or name.endswith(("_gib", "_tflops", "_per_s")):
                assert value is None or (isinstance(value, int | float) and not isinstance(value, bool)), name


@each
def test_csv_is_the_same_table(api: Api, kind: str) -> None:
    response = api.get(f"/catalog/{kind}?priced_at=2026-11-30&format=csv")
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    header, *rows = table(response)
    listed = planning.catalog_listing(kind, date(2026, 11, 30))
    assert header == [*listed[0], "origin"]
    assert len(rows) == len(listed)
    assert {len(row) for row in rows} == {len(header)}


@each
def test_every_filter_names_a_column(kind: str) -> None:
    view = next(v for v in catalog.CatalogView.__subclasses__() if v.kind == kind)
    filters = set(view.query.model_fields) - set(catalog.CatalogQuery.model_fields)
    assert filters
    assert all(filters <= set(row) for row in planning.catalog_listing(kind, date(2026, 11, 30)))


@pytest.mark.usefixtures("small")
def test_filters_hold_together_whatever_the_case(api: Api) -> None:
    items = api.get("/catalog/gpu-prices?provider=AWS&gpu=h100-sxm5-80gb").json()["items"]
    assert items == [{**ROWS[0], "usd_per_gpu_hour": 3.2, "origin": "public"}]


@pytest.mark.usefixtures("small")
def test_an_unknown_id_is_answered_with_the_nearest(api: Api) -> None:
    body = problem(api.get("/catalog/gpu-prices?gpu=H100-SXM-80GB"), 400, "invalid-parameter")
    fault = body["errors"][0]
    assert (fault["code"], fault["pointer"]) == ("unknown_id", "?gpu")
    assert fault["allowed"].startswith("H100-SXM5-80GB")


@pytest.mark.parametrize(
    ("address", "meant"), [("gpu-prices?gpu=H100", "H100-SXM5-80GB"), ("gpu-prices?gpu=a100", "A100-SXM4-80GB")]
)
def test_a_short_name_is_answered_with_those_that_hold_it(api: Api, address: str, meant: str) -> None:
    (fault,) = problem(api.get(f"/catalog/{address}"), 400, "invalid-parameter")["errors"]
    assert meant in fault["allowed"].split(", ")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("query", ["vendor=x", "provider=", "gpu=a&gpu=b", "usd_per_gpu_hour=3"])
def test_only_listed_filters_are_taken(api: Api, query: str) -> None:
    problem(api.get(f"/catalog/gpu-prices?{query}"), 400, "invalid-parameter")


@pytest.mark.parametrize("day", ["2026-13-01", "today", "20261130", "1999-01-01", "2026-W01-1"])
def test_a_day_that_is_none_is_refused(api: Api, day: str, small: list[tuple[str, date]]) -> None:
    problem(api.get(f"/catalog/models?priced_at={day}"), 400, "invalid-parameter")
    assert small == []


def test_the_day_reaches_the_catalog(api: Api, small: list[tuple[str, date]]) -> None:
    assert api.get("/catalog/api-prices?priced_at=2026-11-30").json()["priced_at"] == "2026-11-30"
    assert small == [("api-prices", date(2026, 11, 30))]


@pytest.mark.usefixtures("small")
def test_pages_hold_each_row_once(api: Api) -> None:
    first = api.get("/catalog/gpu-prices?limit=2")
    assert first["Link"] == f'<{first.json()["next"]}>; rel="next"'
    second = api.get(first.json()["next"]).json()
    assert [row["region"] for row in first.json()["items"] + second["items"]] == ["us-east-1", "", "eu"]
    assert second["next"] is None


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("cursor", ["x", "WyItMSJd", "WyLCsiJd", "WzFd", "WyI5OTk5OTk5OTk5OTk5OTk5OTk5OSJd"])
def test_a_forged_cursor_is_refused(api: Api, cursor: str) -> None:
    problem(api.get(f"/catalog/gpu-prices?cursor={cursor}"), 400, "invalid-parameter")


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    "how", [{"path": "?format=csv"}, {"path": "?format=csv", "accept": "application/json"}, {"accept": "text/csv"}]
)
def test_csv_comes_by_parameter_or_header(api: Api, how: dict[str, str]) -> None:
    response = api.get(
        "/catalog/gpu-prices" + how.get("path", ""), **({"Accept": how["accept"]} if "accept" in how else {})
    )
    assert table(response) == [
        ["gpu", "provider", "region", "usd_per_gpu_hour", "note", "origin"],
        ["H100-SXM5-80GB", "aws", "us-east-1", "3.2", "", "public"],
        ["H100-SXM5-80GB", "lambda", "", "2.99", "'=1+1", "public"],
        ["H200-SXM-141GB", "aws", "eu", "4", "'-", "public"],
    ]


@pytest.mark.usefixtures("small")
def test_an_error_in_a_csv_request_is_a_problem(api: Api) -> None:
    problem(api.get("/catalog/gpu-prices?format=csv&colour=red"), 400, "invalid-parameter")


@pytest.mark.usefixtures("small")
def test_a_sheet_that_asks_again_gets_304(api: Api) -> None:
    first = api.get("/catalog/gpu-prices?format=csv&refresh=1")
    assert first["Cache-Control"] == "private, no-cache", "the team's own rows may change at any time"
    assert api.get("/catalog/gpu-prices?format=csv&refresh=2", If_None_Match=first["ETag"]).status_code == 304
    assert api.get("/catalog/gpu-prices", If_None_Match=first["ETag"]).status_code == 200


@pytest.mark.usefixtures("small")
def test_a_cached_table_depends_on_the_accept_header(api: Api) -> None:
    assert "Accept" in api.get("/catalog/gpu-prices")["Vary"]
