"""A submitted form: its texts, and the scenario or the faults that they make."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from django.http import QueryDict

from planner import planning
from planner.planning import FieldError, OwnCatalog, Scenario, ScenarioInvalid
from planner.web.forms.errors import Problem, problems
from planner.web.forms.kept import NOTHING, Document, put_kept
from planner.web.forms.sections import items
from planner.web.forms.values import BY_GPU, DEFAULT_WAYS, PLAYED, TRACE, Values, compact_api_rows, counted, first

FIX = "use"
TraceOf = Callable[[str], Mapping[str, Any] | None]
"""`traffic.trace` of a scenario for what the field of the trace holds; None where there is no such trace."""


@dataclass(frozen=True, slots=True)
class Submission:
    """What was sent. `parsed` is None while there are problems; `fixing` when only a suggested value was taken over."""

    values: Values
    problems: tuple[Problem, ...]
    parsed: Scenario | None
    fixing: bool


def read(
    post: QueryDict, today: date, trace_of: TraceOf, own: OwnCatalog | None = None, base: Document = NOTHING
) -> Submission:
    """Judge a submitted form; own: what the team puts in; base: the version that is edited. Nothing typed is lost:
    `values` holds every text, whether it counts or not."""
    values = texts_of(post)
    fixing = _apply_fix(post, values)
    found, parsed = judge(values, today, trace_of, own, base)
    return Submission(values, found, parsed, fixing)


def texts_of(post: QueryDict) -> Values:
    """Every text of the form's fields, whether it counts or not."""
    known = {item.path for item in items()} | set(DEFAULT_WAYS)
    return compact_api_rows(
        {
            name: [text.replace("\r\n", "\n").replace("\x00", "") for text in post.getlist(name)]
            for name in post
            if name in known or name.startswith(BY_GPU)
        }
    )


def judge(
    values: Values, today: date, trace_of: TraceOf, own: OwnCatalog | None = None, base: Document = NOTHING
) -> tuple[tuple[Problem, ...], Scenario | None]:
    """The faults of a form's texts, or the scenario that they make with what is kept of its base."""
    document = planning.form_to_scenario(counted(values))
    put_kept(document, base)
    missing = _put_trace(document, values, trace_of)
    errors: tuple[FieldError, ...] = ()
    parsed: Scenario | None = None
    try:
        parsed = planning.parse_scenario(document, today=today, own=own)
    except ScenarioInvalid as invalid:
        errors = invalid.errors
    if missing:
        errors = (missing, *(error for error in errors if not error.pointer.startswith("/traffic")))
    found = problems(errors)
    return found, None if found else parsed


def _put_trace(document: dict[str, Any], values: Values, trace_of: TraceOf) -> FieldError | None:
    """Puts the trace that the field names into the document."""
    if first(values, "way.traffic", DEFAULT_WAYS["way.traffic"]) != "trace":
        return None
    reference = first(values, TRACE, "")
    trace = trace_of(reference) if reference else None
    if trace is None:
        detail = "This trace is gone; choose another." if reference else "Choose a trace, or upload one."
        return FieldError("missing", "/traffic/trace", reference, "a trace of the team", detail)
    traffic = document.setdefault("traffic", {})
    recorded = {name: value for name, value in trace.items() if name not in PLAYED}
    traffic["trace"] = {**recorded, **(traffic.get("trace") or {})}
    return None


def _apply_fix(post: QueryDict, values: Values) -> bool:
    """A "Use 50" button sends path=value; it changes the field and runs nothing."""
    path, found, value = post.get(FIX, "").partition("=")
    if not found or path not in values:
        return False
    values[path] = [value]
    return True
