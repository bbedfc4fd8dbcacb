"""Parts of the OpenAPI document that the descriptions of all operations are made of."""

from collections.abc import Mapping
from typing import Any, get_args

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from pydantic import BaseModel

from planner.api import openapi_examples as examples
from planner.api import problems
from planner.api.listing import flat_columns, flat_row
from planner.api.problems import MEDIA_TYPE, Kind
from planner.api.query import (
    CatalogQuery,
    NoQuery,
    query_parameters,
)
from planner.api.renderers import Csv, Xlsx
from planner.api.wire import (
    CatalogPage,
    Problem,
)
from planner.reports.tables import Table


def blank(keys: Mapping[str, tuple[Any, str]]) -> dict[str, Any]:
    """A document of these keys with nothing in it, for an example that shows some of them."""
    empty: dict[str, Any] = {"object": {}, "array": [], "string": "", "integer": 1}
    return {name: None if isinstance(kind, list) else empty[kind] for name, (kind, _) in keys.items()}


def json_answer(model: type[BaseModel] | dict[str, Any], description: str, **values: Any) -> OpenApiResponse:
    shown = [
        OpenApiExample(name, value=value, response_only=True, media_type="application/json")
        for name, value in values.items()
    ]
    return OpenApiResponse(model, description=description, examples=shown)


def failures(*kinds: Kind) -> dict[Any, OpenApiResponse]:
    """Problem answers, one entry per status with an example of each kind that has it."""
    out: dict[Any, OpenApiResponse] = {}
    for status in sorted({kind.status for kind in kinds}):
        same = [kind for kind in kinds if kind.status == status]
        examples = [
            OpenApiExample(kind.anchor, value=example_of(kind), response_only=True, media_type=MEDIA_TYPE)
            for kind in same
        ]
        title = "; or: ".join(kind.title for kind in same) + "."
        out[(status, MEDIA_TYPE)] = OpenApiResponse(Problem, description=title, examples=examples)
    return out


def example_of(kind: Kind) -> dict[str, Any]:
    errors = []
    if kind is problems.INVALID_SCENARIO:
        errors = [
            {
                "code": "unit_slip",
                "pointer": "/slo/ttft_p95_ms",
                "given": "1",
                "allowed": "5 to 3600000 ms",
                "detail": "ttft_p95_ms must be 5 to 3600000 ms. This looks like seconds: did you mean 1000 ms?",
            }
        ]
    return {
        "type": f"{problems.DOCS_PATH}#{kind.anchor}",
        "title": kind.title,
        "status": kind.status,
        "detail": f"{kind.title}.",
        "errors": errors,
        "request_id": examples.REQUEST_ID,
    }


def header(name: str, description: str, *statuses: int) -> OpenApiParameter:
    return OpenApiParameter(
        name, str, OpenApiParameter.HEADER, response=list(statuses) or True, description=description
    )


WORKBOOK = (200, Xlsx.media_type)

ALWAYS = (
    problems.INVALID_PARAMETER,
    problems.NOT_AUTHENTICATED,
    problems.FORBIDDEN,
    problems.NOT_ACCEPTABLE,
    problems.TOO_MANY_REQUESTS,
    problems.INTERNAL_ERROR,
    problems.DATABASE_AWAY,
)

BODY = (
    problems.MALFORMED_BODY,
    problems.BODY_TOO_LARGE,
    problems.UNSUPPORTED_MEDIA_TYPE,
    problems.INVALID_SCENARIO,
)

SMALL_BODY = (problems.MALFORMED_BODY, problems.BODY_TOO_LARGE, problems.UNSUPPORTED_MEDIA_TYPE, problems.INVALID_BODY)

_NOT_MODIFIED = {
    304: OpenApiResponse(description="Unchanged since the ETag in If-None-Match."),
    414: OpenApiResponse(description="The address is longer than 8,190 bytes; the web server says so, not the API."),
}

_ETAG = [
    OpenApiParameter("If-None-Match", str, OpenApiParameter.HEADER, description="ETag of the answer already held."),
    header("ETag", "Digest of the answer's bytes.", 200, 304),
]

LINK = header("Link", 'The next page, as `<path>; rel="next"`.', 200)


def reading(
    operation: str,
    summary: str,
    answers: dict[Any, OpenApiResponse],
    *,
    query: type[Any] = NoQuery,
    formats: tuple[str, ...] = ("json",),
    also: tuple[Kind, ...] = (),
    headers: tuple[OpenApiParameter, ...] = (),
) -> dict[str, Any]:
    """The description of a GET."""
    return {
        "operation_id": operation,
        "summary": summary,
        "parameters": [*query_parameters(query, formats=formats), *_ETAG, *headers],
        "responses": {**answers, **_NOT_MODIFIED, **failures(*ALWAYS, *also)},
    }


def catalog(kind: str, query: type[CatalogQuery]) -> dict[str, Any]:
    """The description of one catalog table, in both its formats."""
    row = examples.CATALOG_ROWS[kind]
    page = {"priced_at": "2026-11-30", "items": [row], "next": None}
    lines = Csv().render(Table(list(row), [row])).decode()
    return reading(
        f"catalog_{kind.replace('-', '_')}",
        f"List {kind.replace('-', ' ').replace('gpu', 'GPU').replace('api', 'API')}",
        {
            (200, "application/json"): json_answer(CatalogPage, "Rows in a fixed order.", page=page),
            **as_tables("The whole table.", lines),
        },
        query=query,
        formats=("json", "csv", "xlsx"),
        headers=(LINK,),
    )


def as_tables(description: str, lines: str = "") -> dict[Any, OpenApiResponse]:
    """The same as CSV and as a workbook. lines: an example of the CSV."""
    shown = [OpenApiExample("table", value=lines, response_only=True, media_type="text/csv")] if lines else []
    return {
        (200, "text/csv"): OpenApiResponse(OpenApiTypes.STR, description=description, examples=shown),
        WORKBOOK: OpenApiResponse(OpenApiTypes.BINARY, description="The same as a workbook."),
    }


def listed(page: type[BaseModel], description: str, example: dict[str, Any]) -> dict[Any, OpenApiResponse]:
    """A list in both its formats. With `fields` items have only those columns."""
    return {
        (200, "application/json"): json_answer(page, description, page=example),
        **as_tables("The whole list; objects become columns.", _lines(page, example)),
    }


def _lines(page: type[BaseModel], example: dict[str, Any]) -> str:
    """The example of a page as the list's CSV."""
    (kind,) = get_args(page.model_fields["items"].annotation)
    columns = flat_columns(kind)
    return Csv().render(Table(columns, [flat_row(row) for row in example["items"]])).decode()
