"""One row as cells want it: CSV with or without its header, or JSON; some columns or all."""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal

from django.http import HttpResponse
from pydantic import Field, StringConstraints, model_validator
from rest_framework.authentication import SessionAuthentication
from rest_framework.request import Request

from planner.api.answers import ONE_MINUTE, answer, answer_bytes
from planner.api.authentication import (
    LINK_PARAMETER,
    BasicTokenAuthentication,
    BearerTokenAuthentication,
    LinkTokenAuthentication,
)
from planner.api.fields import chosen_fields
from planner.api.query import Query
from planner.api.renderers import Csv, Json
from planner.api.views.base import ApiView
from planner.reports.tables import Table


class CellQuery(Query):
    """What every cell may ask."""

    elsewhere: ClassVar[frozenset[str]] = frozenset({LINK_PARAMETER})

    fields: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="Columns to answer with, separated by commas; left out: all.", examples=["monthly_cost_usd"]
    )
    header: Literal["0", "1"] = Field(
        "1", description="0 leaves the header row out; with one field that gives its bare value."
    )

    @model_validator(mode="before")
    @classmethod
    def _blank_is_left_out(cls, given: dict[str, Any]) -> dict[str, Any]:
        """An empty cell that an address is put together from says nothing."""
        return {name: text for name, text in given.items() if name not in cls.model_fields or str(text).strip()}


class CellView(ApiView):
    """Open to link tokens: it shows nothing of the team."""

    authentication_classes = [
        BasicTokenAuthentication,
        BearerTokenAuthentication,
        LinkTokenAuthentication,
        SessionAuthentication,
    ]
    renderer_classes = [Csv, Json]


def row_answer(request: Request, query: CellQuery, row: Mapping[str, Any]) -> HttpResponse:
    """The row in the format asked for; no address leaks through a referrer."""
    columns = chosen_fields(query.fields, tuple(row))
    chosen = {name: row[name] for name in columns}
    headers = {"Referrer-Policy": "no-referrer"}
    if request.accepted_renderer.format == Json.format:
        return answer(request, chosen, headers=headers, cache_control=ONE_MINUTE)
    body = Csv().render(Table(columns, [chosen]), header=query.header == "1")
    if query.header == "0" and len(columns) == 1:
        body = body.removesuffix(b"\r\n")
    return answer_bytes(request, body, "text/csv; charset=utf-8", headers=headers, cache_control=ONE_MINUTE)
