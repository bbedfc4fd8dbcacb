"""Writes about traces: a file comes in parts, is looked at, and is confirmed."""

import gzip
import hashlib
import io
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from planner.core.kept_answers import find_answer, keep_answer
from planner.datasets.models import Purpose, Trace, TraceUpload, UploadPart
from planner.datasets.parts import MAX_UNPACKED_BYTES, upload_parts, upload_source
from planner.planning import ScenarioInvalid
from planner.planning.command import file_trace
from planner.planning.importers import ANSWERS, Answers, ImportRefused, Source, printable
from planner.planning.inspection import inspect_source, storable
from planner.teams.audit import Detail, record
from planner.teams.models import Team, User

MAX_PART_BYTES = 4 << 20
MAX_UPLOAD_BYTES = 32 << 20
MAX_OPEN_UPLOADS = 5
UPLOADS_LAST = timedelta(days=1)
CURABLE = frozenset({"unknown_format", "unknown_column", "unanswered"})
"""Refusals that naming the columns or an answer may lift."""
_UPLOAD = "trace upload"


@dataclass(frozen=True, slots=True)
class Confirmed:
    """The trace of an upload; `is_new` is false where the team had it already."""

    trace: Trace
    is_new: bool


class UploadRefused(Exception):  # noqa: N818 - the name says what happened
    """An upload that may not go on; codes: too_many_uploads, wrong_part, part_too_large, upload_too_large."""

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        self.detail = detail
        super().__init__(detail)


@transaction.atomic
def upload_begin(*, team: Team, user: User | None, name: str, purpose: Purpose = Purpose.TRACE) -> TraceUpload:
    """Starts an upload, and sweeps the team's old ones. UploadRefused: five are open. ValidationError: name."""
    Team.objects.select_for_update().get(pk=team.pk)
    TraceUpload.objects.filter(team=team, created_at__lt=timezone.now() - UPLOADS_LAST).delete()
    if TraceUpload.objects.filter(team=team).count() >= MAX_OPEN_UPLOADS:
        raise UploadRefused("too_many_uploads", f"{MAX_OPEN_UPLOADS} uploads are open; finish or delete one.")
    upload = TraceUpload(team=team, created_by=user, name=printable(name, 200), purpose=purpose)
    upload.full_clean()
    upload.save()
    record(team=team, actor=user, action="trace_upload.begun", thing=upload, kind=_UPLOAD)
    return upload


def upload_file(
    *, team: Team, user: User | None, name: str, data: bytes, purpose: Purpose = Purpose.TRACE
) -> TraceUpload:
    """A whole file as an upload, stored without what it says about people.

    UploadRefused, ValidationError; ImportRefused where it cannot be read at all.
    """
    if len(data) > MAX_UPLOAD_BYTES:
        raise UploadRefused("upload_too_large", f"A file has at most {MAX_UPLOAD_BYTES} bytes; pack it with gzip.")
    kept = storable(Source(lambda: io.BytesIO(data), MAX_UNPACKED_BYTES)) or data
    with transaction.atomic():
        upload = upload_begin(team=team, user=user, name=name, purpose=purpose)
        _store(upload, kept)
    return upload


def upload_complete(*, upload: TraceUpload) -> TraceUpload:
    """Takes an upload for whole: no part is added from here on, and what it says about people is gone.

    ImportRefused where it cannot be read at all; then nothing of it is kept.
    """
    while not upload.is_complete:
        with _unreadable_forgotten(upload):
            kept = storable(upload_source(upload))
        with transaction.atomic():
            locked = TraceUpload.objects.select_for_update().get(pk=upload.pk)
            if not locked.is_complete and locked.parts == upload.parts:  # else a part came while it was read
                _store(locked, kept)
        upload = locked
    return upload


def _store(upload: TraceUpload, kept: bytes | None) -> None:
    """Puts these bytes in place of the upload's, None: leaves them as they are; no part is added after it."""
    if kept is not None:
        if len(kept) > MAX_UPLOAD_BYTES:
            kept = gzip.compress(kept, compresslevel=1, mtime=0)
        UploadPart.objects.filter(upload=upload).delete()
        starts = range(0, len(kept), MAX_PART_BYTES)
        for number, start in enumerate(starts, start=1):
            UploadPart.objects.create(upload=upload, number=number, data=kept[start : start + MAX_PART_BYTES])
        upload.parts, upload.size_bytes = len(starts), len(kept)
    upload.is_complete = True
    upload.save(update_fields=["parts", "size_bytes", "is_complete"])


@contextmanager
def _unreadable_forgotten(upload: TraceUpload) -> Iterator[None]:
    """What no answer can make readable is not kept until somebody deletes it: the upload begins again."""
    try:
        yield
    except ImportRefused as refused:
        if refused.code not in CURABLE:
            with transaction.atomic():
                UploadPart.objects.filter(upload=upload).delete()
                TraceUpload.objects.filter(pk=upload.pk).update(parts=0, size_bytes=0, is_complete=False)
        raise


@transaction.atomic
def upload_add(*, upload: TraceUpload, number: int, data: bytes) -> TraceUpload:
    """Adds the next part; the last one sent again changes nothing. UploadRefused."""
    if len(data) > MAX_PART_BYTES:
        raise UploadRefused("part_too_large", f"A part has at most {MAX_PART_BYTES} bytes.")
    locked = TraceUpload.objects.select_for_update().get(pk=upload.pk)
    if locked.is_complete:
        raise UploadRefused("wrong_part", "The file was looked at and takes no more parts; begin another upload.")
    if number == locked.parts and number > 0:
        if bytes(UploadPart.objects.get(upload=locked, number=number).data) == data:
            return locked
        raise UploadRefused("wrong_part", f"Part {number} was sent before with other bytes.")
    if number != locked.parts + 1:
        raise UploadRefused("wrong_part", f"The next part is {locked.parts + 1}.")
    if locked.size_bytes + len(data) > MAX_UPLOAD_BYTES:
        raise UploadRefused("upload_too_large", f"A file has at most {MAX_UPLOAD_BYTES} bytes; pack it with gzip.")
    UploadPart.objects.create(upload=locked, number=number, data=data)
    locked.parts = number
    locked.size_bytes += len(data)
    locked.save(update_fields=["parts", "size_bytes"])
    return locked


def upload_preview(*, upload: TraceUpload, answers: Answers) -> dict[str, Any]:
    """What `inspect` tells of the file; nothing of it is stored but the answer, for a while. ImportRefused."""
    upload = upload_complete(upload=upload)
    key = f"inspection:{upload.pk}:{_answers_digest(answers)}"
    told = find_answer(key)
    if told is None:
        with _unreadable_forgotten(upload):
            told = inspect_source(upload_source(upload), answers)
        keep_answer(key, told)
    return told


def upload_confirm(*, upload: TraceUpload, answers: Answers, user: User | None = None) -> Confirmed:
    """Keeps profile and requests, and ends the upload. The same file with the same answers is the trace it already is.

    user: who confirms. ImportRefused: not readable, questions open (unanswered), or no single requests (not_requests).
    """
    upload = upload_complete(upload=upload)
    digest = upload_digest(upload, answers)
    known = Trace.objects.filter(team=upload.team, digest=digest).first()
    if known is not None:
        upload.delete()
        return Confirmed(known, is_new=False)
    told = upload_preview(upload=upload, answers=answers)
    if told["reading"] and told["reading"]["questions"]:
        raise ImportRefused("unanswered", " ".join(each["detail"] for each in told["reading"]["questions"]))
    if told["kind"] != "requests":
        raise ImportRefused("not_requests", f"The file holds {told['kind']}, not single requests.")
    trace = Trace(
        team=upload.team,
        name=upload.name,
        digest=digest,
        format=told["reading"]["format"],
        requests=told["profile"]["requests"],
        inspection={"reading": told["reading"], "profile": told["profile"]},
        csv_gzip=_packed_csv(upload, answers),
        created_by=upload.created_by,
    )
    trace.full_clean(exclude=["csv_gzip"], validate_constraints=False)
    try:
        with transaction.atomic():
            trace.save()
            said: dict[str, Detail] = {"format": trace.format, "requests": trace.requests}
            record(team=trace.team, actor=user, action="trace.added", thing=trace, details=said)
    except IntegrityError:  # someone else confirmed the same file a moment ago
        trace = Trace.objects.get(team=upload.team, digest=digest)
        upload.delete()
        return Confirmed(trace, is_new=False)
    upload.delete()
    return Confirmed(trace, is_new=True)


def _packed_csv(upload: TraceUpload, answers: Answers) -> bytes | None:
    try:
        fields = file_trace(upload_source(upload), answers, leave_out_bad_rows=True, verbatim=False)
    except ScenarioInvalid:
        return None
    return gzip.compress(fields["csv"].encode(), mtime=0)


def upload_digest(upload: TraceUpload, answers: Answers) -> str:
    """SHA-256 of the file's bytes and of the answers, which are part of what it says."""
    digest = hashlib.sha256()
    for part in upload_parts(upload):
        digest.update(part)
    digest.update(json.dumps(_plain(answers), sort_keys=True).encode())
    return digest.hexdigest()


def _answers_digest(answers: Answers) -> str:
    return hashlib.sha256(json.dumps(_plain(answers), sort_keys=True).encode()).hexdigest()


def _plain(answers: Answers) -> Mapping[str, object]:
    given = {name: getattr(answers, name) for name in ANSWERS if getattr(answers, name) is not None}
    return {**given, "columns": dict(answers.columns)}


@transaction.atomic
def upload_delete(*, upload: TraceUpload, user: User | None = None) -> None:
    """Ends an upload without a trace."""
    record(team=upload.team, actor=user, action="trace_upload.deleted", thing=upload, kind=_UPLOAD)
    upload.delete()


@transaction.atomic
def trace_delete(*, trace: Trace, user: User | None = None) -> None:
    """Forgets a trace; scenarios hold copies of their own."""
    record(team=trace.team, actor=user, action="trace.deleted", thing=trace)
    trace.delete()
