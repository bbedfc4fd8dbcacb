"""What the `plan` command does before planning: read a file, put a trace file beside it into the document."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Any, NoReturn

from planner.planning.errors import FieldError, ScenarioInvalid, show
from planner.planning.importers import ANSWERS, Answers, ImportRefused, Source, file_source, open_trace
from planner.planning.inspection import inspect_source
from planner.planning.schema.read import MAX_SCENARIO_BYTES, read_object
from planner.planning.schema.traffic import MAX_TRACE_CHARACTERS
from planner.planning.traffic.trace_text import trace_fields
from planner.planning.traffic.traces import read_requests, recorded_trace, refused_trace

INVALID = 2
NO_CANDIDATE = 3
TRACE_FILE = "/traffic/trace/file"
FILE_KEYS = frozenset({"file", "answers", "columns", "leave_out_bad_rows", "use"})
USES = ("replay", "fitted")


def read_file(path: Path, pointer: str = "", most_bytes: int = MAX_SCENARIO_BYTES) -> bytes:
    """The bytes of a file. Raises ScenarioInvalid with file_unreadable or too_large."""
    try:
        with path.open("rb") as file:
            data = file.read(most_bytes + 1)
    except OSError as error:
        _fail("file_unreadable", pointer, show(str(path)), "a readable file", f"{error.strerror or 'cannot be read'}.")
    if len(data) > most_bytes:
        _fail("too_large", pointer, show(str(path)), f"at most {most_bytes} bytes", "The file is too large.")
    return data


def read_document(data: bytes, folder: Path) -> dict[str, Any]:
    """The scenario document, with `{"traffic": {"trace": {"file": "path"}}}` replaced by the file's requests.

    The file may have any format that `inspect` knows, with `answers` and `columns` beside it; `"use": "fitted"` puts
    the traffic fitted to it there instead. Paths are relative to the scenario's folder. Raises ScenarioInvalid.
    """
    document = read_object(data)
    traffic = document.get("traffic")
    trace = traffic.get("trace") if isinstance(traffic, dict) else None
    if not isinstance(traffic, dict) or not isinstance(trace, dict) or "file" not in trace:
        return document
    name = trace["file"]
    if not isinstance(name, str) or not name or "\0" in name:
        _fail("wrong_type", TRACE_FILE, show(name), "a path", "file must be a path.")
    leave_out = bool(trace.get("leave_out_bad_rows"))
    source = file_source(folder / name)
    use = trace.get("use", "replay")
    if use not in USES:
        _fail("not_a_choice", "/traffic/trace/use", show(use), ", ".join(USES), "use must be replay or fitted.")
    rest = {key: value for key, value in trace.items() if key not in FILE_KEYS}
    if use == "fitted":
        if rest:
            _fail("conflict", "/traffic/trace", ", ".join(sorted(rest)), "absent with fitted", "Nothing is replayed.")
        others = {key: value for key, value in traffic.items() if key != "trace"}
        return {**document, "traffic": {**fitted_traffic(source, _answers(trace)), **others}}
    fields = file_trace(source, _answers(trace), leave_out_bad_rows=leave_out, verbatim=not leave_out)
    return {**document, "traffic": {**traffic, "trace": {**rest, **fields}}}


def fitted_traffic(source: Source, answers: Answers) -> dict[str, Any]:
    """The synthetic `traffic` that stands for a file of requests. Raises ScenarioInvalid where none does."""
    try:
        told = inspect_source(source, answers)
        if told["reading"] and told["reading"]["questions"]:
            raise ImportRefused("unanswered", " ".join(each["detail"] for each in told["reading"]["questions"]))
    except ImportRefused as refused:
        raise refused_trace(refused, TRACE_FILE) from None
    fitted = (told["profile"] or told["rates"] or {}).get("fitted")
    if not fitted:
        detail = "Nothing can be fitted to this file: it needs served requests at different times, or rates."
        _fail("trace_not_fitted", TRACE_FILE, told["kind"], "a file of single requests, or of rates", detail)
    traffic: dict[str, Any] = fitted["traffic"]
    return traffic


def file_trace(
    source: Source, answers: Answers, *, leave_out_bad_rows: bool = False, verbatim: bool = True
) -> dict[str, Any]:
    """The requests of a file of any known format as a scenario's `traffic.trace`; a plain table may stay as it is.

    Raises ScenarioInvalid.
    """
    try:
        file = open_trace(source, answers)
        is_bare = not {"hash_ids", "session"} & set(file.layout.columns)
        if verbatim and file.layout.format in {"azure_llm_trace", "plain"} and is_bare and answers == Answers():
            text = b"".join(islice(file.opened.blocks(), MAX_TRACE_CHARACTERS >> 18)).decode("utf-8", "replace")
            if file.opened.packing == "plain" and len(text) <= MAX_TRACE_CHARACTERS:
                return {"csv": text}
        rows = read_requests(file, TRACE_FILE, leave_out_bad_rows=leave_out_bad_rows)
    except ImportRefused as refused:
        if refused.code in {"file_unreadable", "not_a_file", "symlink_refused", "too_large", "unknown_column"}:
            _fail(refused.code, TRACE_FILE, refused.code, "a readable file", refused.detail)
        raise refused_trace(refused, TRACE_FILE) from None
    return trace_fields(recorded_trace(rows, file.reading.block_tokens))


def _answers(trace: dict[str, Any]) -> Answers:
    """`answers` and `columns` beside the file's name, as `inspect` takes them. Raises ScenarioInvalid."""
    answers, columns = trace.get("answers", {}), trace.get("columns", {})
    known = isinstance(answers, dict) and all(answers[name] in ANSWERS.get(name, ()) for name in answers)
    if not known:
        allowed = "; ".join(f"{name}: {', '.join(choices)}" for name, choices in ANSWERS.items())
        _fail("unknown_answer", "/traffic/trace/answers", show(answers), allowed, "An answer is not known.")
    if not isinstance(columns, dict) or not all(isinstance(name, str) for name in columns.values()):
        _fail("wrong_type", "/traffic/trace/columns", show(columns), "meaning: name of the column", "Name the columns.")
    return Answers(**answers, columns=columns)


def with_seed(document: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The document with another seed, where one was given."""
    return document if seed is None else {**document, "seed": seed}


def _fail(code: str, pointer: str, given: str, allowed: str, detail: str) -> NoReturn:
    raise ScenarioInvalid((FieldError(code, pointer, given, allowed, detail),))
