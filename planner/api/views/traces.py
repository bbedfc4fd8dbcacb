"""A team's recorded traffic: files come in parts, are looked at, and are kept as traces."""

from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from pydantic import Field
from rest_framework.exceptions import NotFound
from rest_framework.parsers import BaseParser
from rest_framework.request import Request

from planner.api import openapi_traces as openapi
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.problems import BODY_TOO_LARGE, INVALID_BODY, MALFORMED_BODY, ApiProblem
from planner.api.query import NoQuery, Query, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.views.base import ApiView, ListView
from planner.api.wire import Fault
from planner.api.wire_traces import (
    AnswersRequest,
    InspectionAnswer,
    ScenarioTrace,
    TraceDetail,
    TraceSummary,
    Upload,
    UploadRequest,
)
from planner.datasets.models import Purpose, Trace, TraceUpload
from planner.datasets.selectors import trace_fields, trace_get, traces_of, upload_get, uploads_of
from planner.datasets.services import (
    MAX_PART_BYTES,
    UploadRefused,
    trace_delete,
    upload_add,
    upload_begin,
    upload_confirm,
    upload_delete,
    upload_preview,
)
from planner.planning.importers import ANSWERS, Answers, ImportRefused
from planner.teams.models import Scope

PATH = "/api/v1/traces"


class TraceList(ListView):
    """The team's traces."""

    @extend_schema(**openapi.TRACE_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = traces_of(self.caller.team)
        return list_rows(request, query, rows, TraceSummary, lambda row: TraceSummary(**_trace(row)), "traces")


class TraceItem(ApiView):
    """One trace."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}

    @extend_schema(**openapi.TRACE_READ)
    def get(self, request: Request, trace_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _detail(self.trace(trace_id)))

    @extend_schema(**openapi.TRACE_DELETE)
    def delete(self, request: Request, trace_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        trace_delete(trace=self.trace(trace_id), user=self.caller.user)
        return HttpResponse(status=204)

    def trace(self, trace_id: UUID) -> Trace:
        try:
            return trace_get(self.caller.team, trace_id)
        except Trace.DoesNotExist:
            raise NotFound("The team has no such trace.") from None


class TraceForScenario(TraceItem):
    """The requests of a trace, for `traffic.trace` of a scenario."""

    scopes: ClassVar = {}
    http_method_names = ["get", "head"]

    @extend_schema(**openapi.TRACE_FOR_SCENARIO)
    def get(self, request: Request, trace_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        fields = trace_fields(self.trace(trace_id))
        if fields is None:
            raise ApiProblem(BODY_TOO_LARGE, "The trace has more rows than a scenario takes; use its fitted traffic.")
        return answer(request, ScenarioTrace(**fields))


class UploadList(ListView):
    """Files on their way in."""

    makes_anew = True
    scopes: ClassVar = {"POST": Scope.WRITE}
    purpose: ClassVar = Purpose.TRACE

    @extend_schema(**openapi.UPLOAD_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = uploads_of(self.caller.team, self.purpose)
        return list_rows(request, query, rows, Upload, _upload, "uploads")

    @extend_schema(**openapi.UPLOAD_BEGIN)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, UploadRequest)
        try:
            row = upload_begin(team=self.caller.team, user=self.caller.user, name=wanted.name, purpose=self.purpose)
        except UploadRefused as refused:
            raise refused_file(refused.code, refused.detail) from None
        shown = _upload(row)
        return answer(request, shown, status=201, headers={"Location": shown.link})


class OfUpload(ApiView):
    """What is done to one file on its way in."""

    purpose: ClassVar = Purpose.TRACE

    def upload(self, upload_id: UUID) -> TraceUpload:
        try:
            return upload_get(self.caller.team, upload_id, self.purpose)
        except TraceUpload.DoesNotExist:
            raise NotFound("The team has no such upload.") from None


class UploadItem(OfUpload):
    """One file on its way in."""

    scopes: ClassVar = {"DELETE": Scope.WRITE}

    @extend_schema(**openapi.UPLOAD_READ)
    def get(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, _upload(self.upload(upload_id)))

    @extend_schema(**openapi.UPLOAD_DELETE)
    def delete(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        upload_delete(upload=self.upload(upload_id), user=self.caller.user)
        return HttpResponse(status=204)


class _PartQuery(Query):
    number: int = Field(ge=1, le=32, description="Counted from 1.")


class _Unparsed(BaseParser):
    """Leaves the body to the view: the check of a session's CSRF token asks for parsed data first."""

    media_type = "*/*"

    def parse(self, *_: object, **__: object) -> dict[str, str]:
        return {}


class UploadParts(OfUpload):
    """The bytes of a file, part by part, whatever type the request gives them."""

    scopes: ClassVar = {"POST": Scope.WRITE}
    parser_classes = [_Unparsed]

    @extend_schema(**openapi.UPLOAD_PART)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        number = read_query(request, _PartQuery).number
        upload = self.upload(upload_id)
        length = request.headers.get("Content-Length") or "0"
        if length.isdecimal() and int(length[:20]) > MAX_PART_BYTES:
            raise ApiProblem(BODY_TOO_LARGE, f"A part has at most {MAX_PART_BYTES} bytes.")
        data: bytes = request._request.body
        if not data:
            raise ApiProblem(MALFORMED_BODY, "The part is empty.")
        try:
            row = upload_add(upload=upload, number=number, data=data)
        except UploadRefused as refused:
            raise refused_file(refused.code, refused.detail) from None
        return answer(request, _upload(row))


class UploadPreview(OfUpload):
    """What a file is, before it is kept."""

    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.UPLOAD_PREVIEW)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        upload, answers = self.upload(upload_id), _answers(request)
        try:
            told = upload_preview(upload=upload, answers=answers)
        except ImportRefused as refused:
            raise refused_file(refused.code, str(refused)) from None
        return answer(request, InspectionAnswer(**told))


class UploadConfirm(OfUpload):
    """Keeps a file as a trace."""

    scopes: ClassVar = {"POST": Scope.WRITE}

    @extend_schema(**openapi.UPLOAD_CONFIRM)
    def post(self, request: Request, upload_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        upload, answers = self.upload(upload_id), _answers(request)
        try:
            done = upload_confirm(upload=upload, answers=answers, user=self.caller.user)
        except ImportRefused as refused:
            raise refused_file(refused.code, str(refused)) from None
        headers = {"Location": f"{PATH}/{done.trace.pk}"} if done.is_new else {}
        return answer(request, _detail(done.trace), status=201 if done.is_new else 200, headers=headers)


def _answers(request: Request) -> Answers:
    """The answers of the body. ApiProblem 422 for a question or choice that there is not."""
    given = read_body(request, AnswersRequest)
    faults = [
        Fault(
            code="unknown_answer",
            pointer=f"/answers/{name}"[:80],
            given=choice[:80],
            allowed=", ".join(ANSWERS.get(name, tuple(ANSWERS))),
            detail="There is no such answer.",
        )
        for name, choice in given.answers.items()
        if choice not in ANSWERS.get(name, ())
    ]
    if faults:
        raise ApiProblem(INVALID_BODY, "An answer is not known.", errors=faults)
    return Answers(**given.answers, columns=given.columns)


def refused_file(code: str, detail: str) -> ApiProblem:
    """422: what is wrong with a file or its parts."""
    fault = Fault(code=code, pointer="", given="", allowed="", detail=detail)
    return ApiProblem(INVALID_BODY, detail, errors=[fault])


def _upload(row: TraceUpload) -> Upload:
    return Upload(
        id=row.pk,
        name=row.name,
        parts=row.parts,
        size_bytes=row.size_bytes,
        created_at=row.created_at,
        link=f"/api/v1/{row.purpose}s/uploads/{row.pk}",
    )


def _trace(row: Trace) -> dict[str, Any]:
    return {
        "id": row.pk,
        "name": row.name,
        "format": row.format,
        "requests": row.requests,
        "digest": row.digest,
        "created_at": row.created_at,
        "link": f"{PATH}/{row.pk}",
    }


def _detail(row: Trace) -> TraceDetail:
    return TraceDetail(**_trace(row), reading=row.inspection["reading"], profile=row.inspection["profile"])
