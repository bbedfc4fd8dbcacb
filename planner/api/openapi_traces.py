"""What the OpenAPI document says about the operations on traces."""

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiResponse

from planner.api import problems
from planner.api.openapi_parts import ALWAYS, LINK, SMALL_BODY, failures, header, json_answer, listed, reading
from planner.api.query import TimedQuery
from planner.api.wire_traces import (
    AnswersRequest,
    InspectionAnswer,
    ScenarioTrace,
    TraceDetail,
    TracePage,
    Upload,
    UploadPage,
    UploadRequest,
)

_ID = "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b10"
_UPLOAD = {
    "id": _ID,
    "name": "October, chat",
    "parts": 1,
    "size_bytes": 1048576,
    "created_at": "2026-11-30T10:00:00Z",
    "link": f"/api/v1/traces/uploads/{_ID}",
}
_TRACE = {
    "id": _ID,
    "name": "October, chat",
    "format": "azure_llm_trace",
    "requests": 19366,
    "digest": "9f" * 32,
    "created_at": "2026-11-30T10:00:05Z",
    "link": f"/api/v1/traces/{_ID}",
}
_DETAIL = {**_TRACE, "reading": {"format": "azure_llm_trace"}, "profile": {"requests": 19366}}
_INSPECTION = {
    "kind": "requests",
    "reading": {"format": "azure_llm_trace", "questions": []},
    "profile": {"requests": 19366},
    "usage": None,
    "rates": None,
    "length_tables": None,
    "measurement": None,
}
_ANSWERS: dict[str, Any] = {
    "request": {"application/json": AnswersRequest},
    "examples": [OpenApiExample("answers", value={"answers": {"time_unit": "ms"}}, request_only=True)],
}
_UPLOAD_FAILURES = failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND)

TRACE_LIST = reading(
    "traces_list",
    "List traces",
    listed(TracePage, "Traces.", {"items": [_TRACE], "next": None}),
    query=TimedQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
TRACE_READ = reading(
    "traces_read",
    "Read a trace",
    {200: json_answer(TraceDetail, "The trace.", trace=_DETAIL)},
    also=(problems.NOT_FOUND,),
)
TRACE_FOR_SCENARIO = reading(
    "traces_for_scenario",
    "Read a trace as a scenario takes it",
    {
        200: json_answer(
            ScenarioTrace, "For `traffic.trace`.", trace={"csv": "timestamp_s,prompt_tokens,output_tokens\n"}
        )
    },
    also=(problems.NOT_FOUND, problems.BODY_TOO_LARGE),
)
TRACE_DELETE: dict[str, Any] = {
    "operation_id": "traces_delete",
    "summary": "Delete a trace",
    "description": "Scenarios hold copies of their own and are not changed.",
    "responses": {204: OpenApiResponse(description="It is gone."), **failures(*ALWAYS, problems.NOT_FOUND)},
}
UPLOAD_LIST = reading(
    "traces_uploads_list",
    "List uploads that were not finished",
    listed(UploadPage, "Uploads.", {"items": [_UPLOAD], "next": None}),
    query=TimedQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
UPLOAD_BEGIN: dict[str, Any] = {
    "operation_id": "traces_uploads_begin",
    "summary": "Begin to send a file of traffic",
    "description": "Then send its parts, look at the preview, and confirm. It is swept after a day.",
    "request": {"application/json": UploadRequest},
    "examples": [OpenApiExample("upload", value={"name": "October, chat"}, request_only=True)],
    "parameters": [header("Location", "Path of the upload.", 201)],
    "responses": {201: json_answer(Upload, "It may come.", upload=_UPLOAD), **failures(*ALWAYS, *SMALL_BODY)},
}
UPLOAD_READ = reading(
    "traces_uploads_read",
    "Read an upload",
    {200: json_answer(Upload, "What has come so far.", upload=_UPLOAD)},
    also=(problems.NOT_FOUND,),
)
UPLOAD_DELETE: dict[str, Any] = {
    "operation_id": "traces_uploads_delete",
    "summary": "Give up an upload",
    "responses": {204: OpenApiResponse(description="It is gone."), **failures(*ALWAYS, problems.NOT_FOUND)},
}
UPLOAD_PART: dict[str, Any] = {
    "operation_id": "traces_uploads_part",
    "summary": "Send the next part of a file",
    "description": "At most 4 MiB a part and 32 MiB a file; gzip is unpacked. The last part may be sent again.",
    "request": {"application/octet-stream": OpenApiTypes.BINARY},
    "parameters": [
        OpenApiParameter(
            "number",
            {"type": "integer", "minimum": 1, "maximum": 32, "examples": [1]},
            OpenApiParameter.QUERY,
            required=True,
            description="Counted from 1.",
        )
    ],
    "responses": {
        200: json_answer(Upload, "It was added.", upload=_UPLOAD),
        **failures(
            *ALWAYS, problems.MALFORMED_BODY, problems.BODY_TOO_LARGE, problems.NOT_FOUND, problems.INVALID_BODY
        ),
    },
}
UPLOAD_PREVIEW: dict[str, Any] = {
    "operation_id": "traces_uploads_preview",
    "summary": "See what an uploaded file is",
    "description": "What it says of people goes, and no part is added from here on. `reading.questions` must be "
    "answered before the file can be kept.",
    **_ANSWERS,
    "responses": {
        200: json_answer(InspectionAnswer, "What the file is and says.", inspection=_INSPECTION),
        **_UPLOAD_FAILURES,
    },
}
UPLOAD_CONFIRM: dict[str, Any] = {
    "operation_id": "traces_uploads_confirm",
    "summary": "Keep an uploaded file as a trace",
    "description": "The upload ends. A file that the team already has, with the same answers, is answered with 200.",
    **_ANSWERS,
    "parameters": [header("Location", "Path of the trace.", 201)],
    "responses": {
        200: json_answer(TraceDetail, "The team had it already.", trace=_DETAIL),
        201: json_answer(TraceDetail, "It is kept.", trace=_DETAIL),
        **_UPLOAD_FAILURES,
    },
}
