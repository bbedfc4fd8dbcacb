"""What the OpenAPI document says about the operations on saved scenarios."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse
from pydantic import BaseModel

from planner.api import problems
from planner.api.openapi_examples import DIGEST, SCENARIO
from planner.api.openapi_parts import (
    ALWAYS,
    LINK,
    SMALL_BODY,
    as_tables,
    failures,
    header,
    json_answer,
    listed,
    reading,
)
from planner.api.problems import Kind
from planner.api.query import DiffQuery, ScenarioListQuery, TimedQuery
from planner.api.wire_scenarios import (
    CommentPage,
    CommentRequest,
    CommentSummary,
    CopyRequest,
    Diff,
    ScenarioDetail,
    ScenarioPage,
    ScenarioRequest,
    Tags,
    VersionDetail,
    VersionPage,
    VersionRequest,
)

_ID = "0f3a5d0e-6c1b-4b53-9a0e-3b8f3f6f2f10"
_PATH = f"/api/v1/scenarios/{_ID}"
_TIME = "2026-11-30T09:00:00Z"
_SUMMARY: dict[str, Any] = {
    "id": _ID,
    "name": "Support chat",
    "newest_number": 3,
    "created_at": _TIME,
    "link": _PATH,
    "changed_at": _TIME,
    "archived_at": None,
    "tags": ["budget 2027", "eu"],
}
_VERSION: dict[str, Any] = {
    "number": 3,
    "digest": DIGEST,
    "note": "New peak",
    "created_at": _TIME,
    "author": "Ada",
    "priced_at": "2026-11-30",
    "link": f"{_PATH}/versions/3",
}
_DETAIL = {**_SUMMARY, "versions": [_VERSION], "scenario": SCENARIO}
_COMMENT: dict[str, Any] = {
    "id": 12,
    "text": "The peak is the one of last March.",
    "author": "Ada",
    "version_number": 3,
    "created_at": _TIME,
    "link": f"{_PATH}/comments/12",
}
_DIFF: dict[str, Any] = {
    "first": {"scenario_id": _ID, "number": 2, "link": f"{_PATH}/versions/2"},
    "second": {"scenario_id": _ID, "number": 3, "link": f"{_PATH}/versions/3"},
    "differences": [{"pointer": "/traffic/shape/peak_to_mean", "old": 2.0, "new": 2.4}],
}
LISTS = ("json", "csv", "xlsx")


def _if_match(*, required: bool) -> OpenApiParameter:
    return OpenApiParameter(
        "If-Match",
        {"type": "string"},
        OpenApiParameter.HEADER,
        required=required,
        description="The ETag of the scenario that was read, or the number of its newest version in quotes; `*`: any.",
    )


def created(made: type[BaseModel], description: str, example: dict[str, Any]) -> dict[Any, OpenApiResponse]:
    """The answer to what was made."""
    return {201: json_answer(made, description, created=example)}


def writing(
    operation: str,
    summary: str,
    answers: dict[Any, OpenApiResponse],
    *,
    description: str = "",
    body: type[BaseModel] | None = None,
    example: dict[str, Any] | None = None,
    parameters: tuple[OpenApiParameter, ...] = (),
    also: tuple[Kind, ...] = (),
) -> dict[str, Any]:
    """The description of a change."""
    kinds = (*ALWAYS, *(SMALL_BODY if body else ()), *also)
    out: dict[str, Any] = {
        "operation_id": operation,
        "summary": summary,
        "parameters": list(parameters),
        "responses": {**answers, **failures(*kinds)},
    }
    if description:
        out["description"] = description
    out["request"] = {"application/json": body} if body else None
    if body is not None:
        out["examples"] = [OpenApiExample("body", value=example, request_only=True)]
    return out


LOCATION = header("Location", "Path of what was made.", 201)
_DONE = {204: OpenApiResponse(description="Done.")}

SCENARIO_LIST = reading(
    "scenarios_list",
    "List saved scenarios",
    listed(ScenarioPage, "Scenarios.", {"items": [_SUMMARY], "next": None}),
    query=ScenarioListQuery,
    formats=LISTS,
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
SCENARIO_CREATE = writing(
    "scenarios_create",
    "Save a scenario",
    created(ScenarioDetail, "It was saved as version 1.", _DETAIL | {"newest_number": 1}),
    description="Nothing is run. The same scenario sent again within seconds is that one.",
    body=ScenarioRequest,
    example={"scenario": SCENARIO, "note": "First guess", "tags": ["budget 2027"]},
    parameters=(LOCATION,),
    also=(problems.INVALID_SCENARIO,),
)
SCENARIO_READ = reading(
    "scenarios_read",
    "Read a saved scenario",
    {200: json_answer(ScenarioDetail, "The scenario.", scenario=_DETAIL)},
    also=(problems.NOT_FOUND,),
)
VERSION_LIST = reading(
    "scenarios_versions_list",
    "List the versions of a scenario",
    listed(VersionPage, "Versions.", {"items": [_VERSION], "next": None}),
    query=TimedQuery,
    formats=LISTS,
    also=(problems.NOT_FOUND, problems.TOO_MANY_ROWS),
    headers=(LINK,),
)
VERSION_CREATE = writing(
    "scenarios_versions_create",
    "Save the next version of a scenario",
    {
        200: json_answer(
            VersionDetail,
            "Nothing differs from the newest version, which is this one.",
            unchanged={**_VERSION, "scenario": SCENARIO},
        ),
        **created(VersionDetail, "It was saved.", {**_VERSION, "scenario": SCENARIO}),
    },
    description="Saved only while the version that If-Match names is the newest; otherwise 412 says who saved another "
    "one and when, and nothing is overwritten.",
    body=VersionRequest,
    example={"scenario": SCENARIO, "note": "New peak"},
    parameters=(_if_match(required=True), header("Location", "Path of the version.", 200, 201)),
    also=(problems.NOT_FOUND, problems.VERSION_CONFLICT, problems.INVALID_SCENARIO, problems.IF_MATCH_NEEDED),
)
VERSION_READ = reading(
    "scenarios_versions_read",
    "Read a version of a scenario",
    {200: json_answer(VersionDetail, "The version.", version={**_VERSION, "scenario": SCENARIO})},
    also=(problems.NOT_FOUND,),
)
DIFF = reading(
    "scenarios_diff",
    "Compare two versions",
    {
        (200, "application/json"): json_answer(Diff, "Where they differ, by JSON pointer.", diff=_DIFF),
        **as_tables("A line for each difference.", "pointer,old,new\r\n/traffic/shape/peak_to_mean,2.0,2.4\r\n"),
    },
    query=DiffQuery,
    formats=LISTS,
    also=(problems.NOT_FOUND,),
)
COPY = writing(
    "scenarios_copy",
    "Copy a version to a new scenario",
    created(ScenarioDetail, "The copy.", _DETAIL | {"name": "Support chat (copy)", "newest_number": 1}),
    description="The content alone goes along: no tags, comments, versions or runs.",
    body=CopyRequest,
    example={"number": 3, "name": "Support chat, France"},
    parameters=(LOCATION,),
    also=(problems.NOT_FOUND, problems.INVALID_SCENARIO),
)
ARCHIVE = writing(
    "scenarios_archive",
    "Put a scenario away",
    _DONE,
    description="It leaves the list and stays readable. Doing it twice changes nothing.",
    parameters=(_if_match(required=False),),
    also=(problems.NOT_FOUND, problems.VERSION_CONFLICT),
)
UNARCHIVE = writing(
    "scenarios_unarchive",
    "Bring an archived scenario back",
    _DONE,
    parameters=(_if_match(required=False),),
    also=(problems.NOT_FOUND, problems.VERSION_CONFLICT),
)
TAGS_READ = reading(
    "scenarios_tags_read",
    "Read the tags of a scenario",
    {200: json_answer(Tags, "The tags.", tags={"tags": ["budget 2027", "eu"]})},
    also=(problems.NOT_FOUND,),
)
TAGS_WRITE = writing(
    "scenarios_tags_write",
    "Set the tags of a scenario",
    {200: json_answer(Tags, "The tags as stored: trimmed, in small letters.", tags={"tags": ["budget 2027", "eu"]})},
    body=Tags,
    example={"tags": ["EU", "Budget 2027"]},
    parameters=(_if_match(required=False),),
    also=(problems.NOT_FOUND, problems.VERSION_CONFLICT),
)
COMMENT_LIST = reading(
    "scenarios_comments_list",
    "List the comments on a scenario",
    listed(CommentPage, "Comments.", {"items": [_COMMENT], "next": None}),
    query=TimedQuery,
    formats=LISTS,
    also=(problems.NOT_FOUND, problems.TOO_MANY_ROWS),
    headers=(LINK,),
)
COMMENT_CREATE = writing(
    "scenarios_comments_create",
    "Comment on a scenario",
    created(CommentSummary, "It was said.", _COMMENT),
    body=CommentRequest,
    example={"text": "The peak is the one of last March."},
    parameters=(LOCATION,),
    also=(problems.NOT_FOUND,),
)
COMMENT_READ = reading(
    "scenarios_comments_read",
    "Read a comment",
    {200: json_answer(CommentSummary, "The comment.", comment=_COMMENT)},
    also=(problems.NOT_FOUND,),
)
COMMENT_DELETE = writing(
    "scenarios_comments_delete",
    "Delete a comment",
    {204: OpenApiResponse(description="It is gone.")},
    description="For who wrote it, and for owners of the team.",
    also=(problems.NOT_FOUND,),
)
