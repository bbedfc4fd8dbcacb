"""A submitted form: its texts, the uploaded trace, and the scenario or the faults that they make."""

from dataclasses import dataclass
from datetime import date

from django.core.files.uploadedfile import UploadedFile
from django.http import HttpRequest

from planner import planning
from planner.planning import FieldError, Scenario, ScenarioInvalid
from planner.web.forms.errors import Problem, problems
from planner.web.forms.layout import items
from planner.web.forms.values import DEFAULT_WAYS, Values, compact_api_rows, counted

MAX_TRACE_BYTES = 8_000_000
KEPT_TRACE_CHARACTERS = 6_000_000
TRACE = "traffic.trace.csv"
FIX = "use"


@dataclass(frozen=True, slots=True)
class Submission:
    """What was sent. `parsed` is None while there are problems; `fixing` when only a suggested value was taken over."""

    values: Values
    problems: tuple[Problem, ...]
    parsed: Scenario | None
    fixing: bool


def read(request: HttpRequest, today: date) -> Submission:
    """Judge a submitted form. Nothing typed is lost: `values` holds every text, whether it counts or not."""
    values = compact_api_rows(_texts(request))
    fixing = _apply_fix(request, values)
    upload_error = _take_upload(request.FILES.get(f"{TRACE}.file"), values)
    document = planning.form_to_scenario(counted(values))
    parsed: Scenario | None = None
    errors: tuple[FieldError, ...] = ()
    try:
        parsed = planning.parse_scenario(document, today=today)
    except ScenarioInvalid as invalid:
        errors = invalid.errors
    if upload_error:
        errors = (upload_error, *(error for error in errors if not error.pointer.startswith("/traffic/trace")))
    found = problems(errors)
    if len(values.get(TRACE, [""])[0]) > KEPT_TRACE_CHARACTERS and found:
        values[TRACE] = [""]
        found = (*found, Problem(TRACE, "Trace file", "The file is too large to keep here: choose it again.", ""))
    return Submission(values, found, None if found else parsed, fixing)


def _texts(request: HttpRequest) -> Values:
    known = {item.path for item in items()} | set(DEFAULT_WAYS)
    return {
        name: [text.replace("\r\n", "\n") for text in request.POST.getlist(name)]
        for name in request.POST
        if name in known or name.startswith("hardware.price_overrides.")
    }


def _apply_fix(request: HttpRequest, values: Values) -> bool:
    """A "Use 50" button sends path=value; it changes the field and runs nothing."""
    path, found, value = request.POST.get(FIX, "").partition("=")
    if not found or path not in values:
        return False
    values[path] = [value]
    return True


def _take_upload(upload: "UploadedFile[bytes] | None", values: Values) -> FieldError | None:
    """Put the uploaded file's text into the scenario. The pointer of an error is the trace's."""
    if upload is None or not upload.name:
        return None
    pointer = "/traffic/trace/csv"
    if upload.size is None or upload.size > MAX_TRACE_BYTES:
        detail = f"{upload.name} is larger than 8 MB. Cut it to the busiest hour, or thin it out."
        return FieldError("file_too_large", pointer, upload.name, "at most 8 MB", detail)
    try:
        text = upload.read().decode("utf-8")
    except UnicodeDecodeError:
        detail = f"{upload.name} is not a text file in UTF-8."
        return FieldError("not_text", pointer, upload.name, "CSV text", detail)
    if not text.strip():
        return FieldError("empty_trace", pointer, upload.name, "at least two rows", f"{upload.name} is empty.")
    values[TRACE] = [text]
    values.pop("traffic.trace.builtin", None)
    return None
