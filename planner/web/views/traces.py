"""Recorded traffic of a team: upload a file, see what it was taken for, keep it, use it, delete it."""

import uuid
from typing import Any
from urllib.parse import urlencode

from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from planner.datasets.models import Purpose, Trace, TraceUpload
from planner.datasets.selectors import trace_get, traces_of, upload_get, uploads_of
from planner.datasets.services import (
    CURABLE,
    UploadRefused,
    trace_delete,
    upload_confirm,
    upload_delete,
    upload_file,
    upload_preview,
)
from planner.planning.importers import ANSWERS, Answers, ImportRefused
from planner.web.access import Visit, for_team, must_edit, page
from planner.web.listing import paged
from planner.web.trace_view import trace_view

COLUMNS = (("time", "Arrival time"), ("prompt", "Prompt tokens"), ("output", "Output tokens"))
BACK = ("draft", "scenario")


@require_GET
@for_team
def listing(request: HttpRequest, visit: Visit) -> HttpResponse:
    """The team's traces, newest first, and uploads that were not finished."""
    shown = paged(request, traces_of(visit.team).select_related("created_by"))
    context = {"shown": shown, "uploads": uploads_of(visit.team), "section": "traces"}
    return page(request, "pages/traces.html", visit, context)


@require_http_methods(["GET", "POST"])
@for_team
def new(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Choose a file. A file that cannot be read at all is explained here and not kept."""
    must_edit(visit)
    if request.method == "GET":
        return _choose(request, visit)
    upload = request.FILES.get("file")
    if upload is None or not upload.name:
        return _choose(request, visit, no_file(request))
    try:
        kept = stored(visit, upload)
    except UploadRefused as refused:
        return _choose(request, visit, refused.detail)
    except ImportRefused as refused:
        return _choose(request, visit, str(refused))
    except ValidationError:
        return _choose(request, visit, "The file's name cannot be used. Rename it and try again.")
    try:
        upload_preview(upload=kept, answers=Answers())
    except ImportRefused as refused:
        if refused.code not in CURABLE:
            upload_delete(upload=kept, user=visit.user)
            return _choose(request, visit, str(refused))
    return redirect(f"{reverse('trace-upload', args=[kept.pk])}?{_back(request.POST)}")


@require_http_methods(["GET", "POST"])
@for_team
def upload(request: HttpRequest, visit: Visit, upload_id: uuid.UUID) -> HttpResponse:
    """What the file was taken for, with the questions that it leaves; sent, it is kept as a trace."""
    must_edit(visit)
    row = _upload_of(visit, upload_id)
    asked = request.POST if request.method == "POST" else request.GET
    answers = _answers(asked)
    refused = ""
    if request.method == "POST":
        try:
            trace = upload_confirm(upload=row, answers=answers, user=visit.user).trace
        except ImportRefused as fault:
            refused = str(fault)
        else:
            return redirect(_after(request.POST, trace, visit))
    context: dict[str, Any] = {
        "upload": row,
        "columns": _columns(asked),
        "back": _back_fields(asked),
        "section": "traces",
    }
    context |= {"answers": [(name, _text(asked, name)) for name in ANSWERS if _text(asked, name)]}
    try:
        context["view"] = trace_view(upload_preview(upload=row, answers=answers))
    except ImportRefused as fault:
        refused = str(fault)
    context["refused"] = refused
    return page(request, "pages/trace_upload.html", visit, context, status=422 if refused else 200)


@require_POST
@for_team
def upload_forget(request: HttpRequest, visit: Visit, upload_id: uuid.UUID) -> HttpResponse:
    """End an upload without a trace."""
    must_edit(visit)
    upload_delete(upload=_upload_of(visit, upload_id), user=visit.user)
    return redirect(f"{reverse('trace-new')}?{_back(request.POST)}{visit.team_and}")


@require_GET
@for_team
def detail(request: HttpRequest, visit: Visit, trace_id: uuid.UUID) -> HttpResponse:
    """One trace with all that was found in it."""
    trace = _trace_of(visit, trace_id)
    context = {"trace": trace, "view": trace_view(trace.inspection), "replayable": trace.csv_gzip is not None}
    return page(request, "pages/trace.html", visit, context | {"section": "traces"})


@require_POST
@for_team
def delete(request: HttpRequest, visit: Visit, trace_id: uuid.UUID) -> HttpResponse:
    """Forget a trace; scenarios hold copies of their own."""
    must_edit(visit)
    trace_delete(trace=_trace_of(visit, trace_id), user=visit.user)
    return redirect("traces")


def _choose(request: HttpRequest, visit: Visit, refused: str = "") -> HttpResponse:
    asked = request.POST if request.method == "POST" else request.GET
    context = {"refused": refused, "back": _back_fields(asked), "section": "traces"}
    return page(request, "pages/trace_new.html", visit, context, status=422 if refused else 200)


def no_file(request: HttpRequest) -> str:
    """Why a form came without a file."""
    dropped = getattr(request, "dropped_file", None)
    if dropped is None:
        return "Choose a file first."
    return f"{dropped} is larger than 32 MiB. Pack it with gzip, or cut it to the busiest day."


def stored(visit: Visit, upload: "UploadedFile[bytes]", purpose: Purpose = Purpose.TRACE) -> TraceUpload:
    """The file without people. UploadRefused: too large, or too many are open. ImportRefused: not readable at all."""
    data = b"".join(upload.chunks())
    return upload_file(team=visit.team, user=visit.user, name=upload.name or "file", data=data, purpose=purpose)


def _answers(asked: QueryDict) -> Answers:
    """Answers that were given; one that there is not counts as none."""
    given = {name: _text(asked, name) for name, choices in ANSWERS.items() if _text(asked, name) in choices}
    columns = {meaning: name for meaning, _, name in _columns(asked) if name}
    return Answers(columns=columns, **given)


def _columns(asked: QueryDict) -> list[tuple[str, str, str]]:
    return [(meaning, label, _text(asked, f"column.{meaning}")) for meaning, label in COLUMNS]


def _text(asked: QueryDict, name: str) -> str:
    return str(asked.get(name, "")).strip()


def _back(asked: QueryDict) -> str:
    """The form that the upload was begun from, as a query."""
    return urlencode(_back_fields(asked))


def _back_fields(asked: QueryDict) -> list[tuple[str, str]]:
    return [(name, _text(asked, name)) for name in BACK if _text(asked, name)]


def _after(asked: QueryDict, trace: Trace, visit: Visit) -> str:
    """Where a kept trace leads: back to the form with the trace chosen, else to the trace."""
    if not asked.get("draft") or trace.csv_gzip is None:
        return reverse("trace", args=[trace.pk])
    try:
        if _text(asked, "scenario"):
            edit = reverse("scenario-edit", args=[uuid.UUID(_text(asked, "scenario"))])
            return f"{edit}?{urlencode({'trace': trace.pk})}"
        query = urlencode({"draft": uuid.UUID(_text(asked, "draft")), "trace": trace.pk})
        return f"{reverse('scenario-new')}?{query}{visit.team_and}"
    except ValueError:
        return reverse("trace", args=[trace.pk])


def _upload_of(visit: Visit, upload_id: uuid.UUID) -> TraceUpload:
    try:
        return upload_get(visit.team, upload_id)
    except TraceUpload.DoesNotExist as missing:
        raise Http404 from missing


def _trace_of(visit: Visit, trace_id: uuid.UUID) -> Trace:
    try:
        return trace_get(visit.team, trace_id)
    except Trace.DoesNotExist as missing:
        raise Http404 from missing
