"""Strict query parameters: each view names a closed pydantic model, and everything else in the query is an error.

`refresh` is the exception: GET requests accept and ignore it, because adding something to the address is how
spreadsheets are made to fetch again. `format` belongs to content negotiation.
"""

import re
from datetime import date
from typing import Annotated, Any, ClassVar, Literal, TypeVar
from uuid import UUID

from drf_spectacular.utils import OpenApiParameter
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import PydanticCustomError
from rest_framework.request import Request

from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.wire import Fault, RunState
from planner.planning.errors import show

MAX_WAIT_S = 20
MAX_LIMIT = 500
_AN_ID = "0f3a5d0e-6c1b-4b53-9a0e-3b8f3f6f2f10"
FIRST_DAY, LAST_DAY = date(2020, 1, 1), date(2100, 12, 31)

_WITH_COMMA = re.compile(r"[-+]?[0-9][0-9.,]*")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_CODES = {
    "extra_forbidden": ("unknown_parameter", "a parameter of this address", "There is no such parameter here."),
    "int_parsing": ("not_whole", "a whole number", "It must be a whole number."),
    "int_parsing_size": ("not_whole", "a whole number", "It must be a whole number."),
    "float_parsing": ("not_a_number", "a number", "It must be a number."),
    "finite_number": ("not_a_number", "a number", "It must be a number."),
    "missing": ("missing", "required", "It is required."),
    "bool_parsing": ("not_true_or_false", "true or false", "It must be true or false."),
    "uuid_parsing": ("not_an_id", "an id", "It must be an id, a UUID."),
}


class Query(BaseModel):
    """The parameters of one address."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    elsewhere: ClassVar[frozenset[str]] = frozenset()
    """Parameters that something else reads."""
    needed: ClassVar[frozenset[str]] = frozenset()
    """Parameters that must be there, where the view itself says so of all at once."""


def iso_date(value: object) -> object:
    """The day that a text names; raises what pydantic reports."""
    try:
        if (
            isinstance(value, str)
            and _DAY.fullmatch(value)
            and FIRST_DAY <= (day := date.fromisoformat(value)) <= LAST_DAY
        ):
            return day
    except ValueError:
        pass
    allowed = f"YYYY-MM-DD, {FIRST_DAY} to {LAST_DAY}"
    raise PydanticCustomError("not_a_date", "It must be a date.", {"allowed": allowed})


CatalogDate = Annotated[date, BeforeValidator(iso_date)]
Text = Annotated[str, Field(min_length=1, max_length=200)]


class NoQuery(Query):
    """An address without parameters."""


class PageQuery(Query):
    """One page of a list."""

    limit: int = Field(50, ge=1, le=MAX_LIMIT, description="Most items in one answer.")
    cursor: Text | None = Field(
        None, description="Where the page starts; taken from `next` of the page before.", examples=["WyIxIl0"]
    )


_Fields = Annotated[str, Field(min_length=1, max_length=2000)]


class ListQuery(PageQuery):
    """A list of which columns can be chosen. CSV is not paged: there `limit` and `cursor` change nothing."""

    fields: _Fields | None = Field(
        None, description="Only these columns, separated by commas, in this order.", examples=["id,created_at"]
    )


class TimedQuery(ListQuery):
    """A list by time."""

    order: Literal["-created_at", "created_at"] = Field("-created_at", description="Newest first, or oldest first.")
    created_from: CatalogDate | None = Field(
        None, description="Only those made on this day (UTC) or later.", examples=["2026-11-01"]
    )
    created_before: CatalogDate | None = Field(
        None, description="Only those made before this day (UTC).", examples=["2026-12-01"]
    )


class RunListQuery(TimedQuery):
    """Which runs."""

    state: RunState | None = Field(None, description="Only runs in this state.")


class ScenarioListQuery(TimedQuery):
    """Which saved scenarios."""

    search: Text | None = Field(
        None,
        description="Words that must all be found in name, model, GPUs, hosted models, tags or notes.",
        examples=["llama chat"],
    )
    tag: Text | None = Field(None, description="Only scenarios with this tag.", examples=["eu"])
    archived: bool = Field(False, description="Those put away, in place of the others.")


class DiffQuery(Query):
    """Which two versions."""

    from_number: int = Field(
        alias="from", ge=1, le=2_147_483_647, description="The first version's number.", examples=[1]
    )
    to: int | None = Field(
        None, ge=1, le=2_147_483_647, description="The second version's number; left out: the newest.", examples=[3]
    )
    other: UUID | None = Field(
        None, description="The scenario that `to` is a version of; left out: the same.", examples=[_AN_ID]
    )


class ComparisonQuery(Query):
    """What to compare."""

    of: Annotated[str, Field(min_length=1, max_length=400)] = Field(
        description="2 to 5 names, separated by commas: a scenario (`ID`: its newest version), a version (`ID:3`) or a "
        "run (`run:ID`).",
        examples=[f"{_AN_ID}:3,run:{_AN_ID}"],
    )


class ShareLinkListQuery(TimedQuery):
    """Which share links."""

    run_id: UUID | None = Field(None, description="Only links to the report of this run.", examples=[_AN_ID])


_Stored = Annotated[str, Field(min_length=1, max_length=200, pattern=r"^[^\x00]*$")]
"""What is compared with text in the database, which holds no NUL."""


class AuditQuery(TimedQuery):
    """Which changes."""

    action: _Stored | None = Field(None, description="Only this action.", examples=["run.started"])
    actor: _Stored | None = Field(
        None, description="Only changes by the person with this address.", examples=["ada@example.com"]
    )
    object_kind: _Stored | None = Field(None, description="Only changes to things of this kind.", examples=["run"])
    object_id: _Stored | None = Field(None, description="Only changes to the thing of this id.", examples=[_AN_ID])


class ReportQuery(Query):
    """Which sections of a report."""

    fields: _Fields | None = Field(
        None, description="Only these sections, separated by commas.", examples=["verdict,cost"]
    )


class RunQuery(Query):
    """How to read one run."""

    wait: int = Field(
        0, ge=0, le=MAX_WAIT_S, description="Seconds to hold the answer back while the run is unfinished."
    )


class CatalogQuery(ListQuery):
    """Which day's catalog, in which order."""

    order: Text | None = Field(
        None,
        description="A column to order by, with a minus in front for falling; left out: the catalog's order.",
        examples=["-as_of"],
    )
    priced_at: CatalogDate | None = Field(
        None, description="Prices valid on this day; left out: today.", examples=["2026-11-30"]
    )
    origin: Literal["public", "team"] | None = Field(None, description="Only the catalog's, or only the team's own.")


class AcceleratorsQuery(CatalogQuery):
    id: Text | None = Field(None, description="Only this accelerator.", examples=["H100-SXM5-80GB"])
    vendor: Text | None = Field(None, description="Only accelerators of this vendor.", examples=["NVIDIA"])


class ModelsQuery(CatalogQuery):
    id: Text | None = Field(None, description="Only this model.", examples=["meta-llama/Llama-3.1-8B-Instruct"])


class GpuPricesQuery(CatalogQuery):
    gpu: Text | None = Field(None, description="Only prices of this accelerator.", examples=["H100-SXM5-80GB"])
    provider: Text | None = Field(None, description="Only prices of this provider.", examples=["aws"])
    region: Text | None = Field(None, description="Only prices in this region.", examples=["us-east-1"])


class ApiPricesQuery(CatalogQuery):
    provider: Text | None = Field(None, description="Only prices of this provider.", examples=["groq"])
    model: Text | None = Field(
        None, description="Only prices of this model, by the provider's id.", examples=["llama-3.1-8b-instant"]
    )


AnyQuery = TypeVar("AnyQuery", bound=Query)


def read_query(request: Request, model: type[AnyQuery]) -> AnyQuery:
    """The query as its model; ApiProblem 400 with every fault at once."""
    ignored = {"format"} | model.elsewhere
    if request.method in ("GET", "HEAD"):
        ignored = ignored | {"refresh"}
    lists = {name: values for name, values in request.query_params.lists() if name not in ignored}
    faults = [
        _fault(name, "repeated_parameter", f"{len(values)} values", "one value", "It is given more than once.")
        for name, values in lists.items()
        if len(values) > 1
    ]
    try:
        query = model.model_validate({name: values[-1] for name, values in lists.items()})
    except ValidationError as error:
        faults.extend(_translate(dict(e)) for e in error.errors(include_url=False))
    if faults:
        raise ApiProblem(INVALID_PARAMETER, "The query has parameters that are not accepted.", errors=faults)
    return query


def number_detail(given: str, detail: str) -> str:
    """What to say of a text that is no number: half of all sheets write a comma where this API has a point."""
    if "," in given and _WITH_COMMA.fullmatch(given.strip()):
        return (
            f"Write it with a decimal point and without thousands separators, as in 2.5: {given.strip()} is not read."
        )
    return detail


def _translate(error: dict[str, Any]) -> Fault:
    name, kind, ctx = str(error["loc"][0]), str(error["type"]), error.get("ctx") or {}
    given = show(name if kind == "extra_forbidden" else error.get("input"))
    if kind in _CODES:
        code, allowed, detail = _CODES[kind]
        detail = number_detail(given, detail) if code in ("not_whole", "not_a_number") else detail
    elif kind == "greater_than":
        allowed, code = f"above {ctx['gt']}", "out_of_range"
        detail = f"It must be {allowed}."
    elif kind in ("greater_than_equal", "less_than_equal"):
        allowed = f"at {'least' if kind.startswith('greater') else 'most'} {ctx.get('ge', ctx.get('le'))}"
        code, detail = "out_of_range", f"It must be {allowed}."
    elif kind in ("string_too_long", "string_too_short"):
        allowed = "1 to 200 characters"
        code, detail = "wrong_length", f"It must have {allowed}."
    elif kind == "literal_error":
        allowed = str(ctx.get("expected", "")).replace("'", "")
        code, detail = "unknown_choice", f"It must be {allowed}."
    else:
        code, allowed, detail = kind, str(ctx.get("allowed", "")), str(error["msg"])
    return _fault(name, code, given, allowed, detail)


def _fault(name: str, code: str, given: str, allowed: str, detail: str) -> Fault:
    return Fault(code=code, pointer=f"?{show(name)}", given=given, allowed=allowed, detail=detail)


def query_parameters(model: type[Query], *, formats: tuple[str, ...] = ("json",)) -> list[OpenApiParameter]:
    """The OpenAPI parameters of a query model, with the two that every GET takes."""
    schema_of_all = model.model_json_schema() if model.model_fields else {}
    properties = schema_of_all.get("properties", {})
    required = model.needed | set(schema_of_all.get("required", ()))
    own = [
        OpenApiParameter(
            name,
            _parameter_schema(schema),
            OpenApiParameter.QUERY,
            required=name in required,
            description=schema.get("description", ""),
        )
        for name, schema in properties.items()
    ]
    refresh = OpenApiParameter(
        "refresh",
        {"type": "string", "examples": ["7"]},
        OpenApiParameter.QUERY,
        description="Ignored; changes the address for a cache.",
    )
    return [*own, refresh, format_parameter(formats)]


def format_parameter(formats: tuple[str, ...]) -> OpenApiParameter:
    """What every address takes that answers in more than one format."""
    return OpenApiParameter(
        "format",
        {"type": "string", "enum": list(formats)},
        OpenApiParameter.QUERY,
        description="Format of the answer; goes before the Accept header.",
    )


def _parameter_schema(schema: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is left out is not null: keep what it may be when it is there."""
    present = next((option for option in schema.get("anyOf", ()) if option.get("type") != "null"), schema)
    shown = {"examples": schema["examples"]} if "examples" in schema else {}
    kept = {key: value for key, value in {**present, **shown}.items() if key not in ("title", "description")}
    return {key: value for key, value in kept.items() if (key, value) != ("default", None)}
