"""What the `plan` command does before planning: read a file, put a trace file beside it into the document."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NoReturn

from planner.planning.errors import FieldError, ScenarioInvalid, show
from planner.planning.schema.read import MAX_SCENARIO_BYTES, read_object
from planner.planning.schema.traffic import MAX_TRACE_CHARACTERS

INVALID = 2
NO_CANDIDATE = 3
TRACE_FILE = "/traffic/trace/file"


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
    """The scenario document, with `{"traffic": {"trace": {"file": "path"}}}` replaced by the file's text.

    Paths are relative to the scenario's folder. Raises ScenarioInvalid.
    """
    document = read_object(data)
    traffic = document.get("traffic")
    trace = traffic.get("trace") if isinstance(traffic, dict) else None
    if not isinstance(traffic, dict) or not isinstance(trace, dict) or "file" not in trace:
        return document
    name = trace["file"]
    if not isinstance(name, str) or not name or "\0" in name:
        _fail("wrong_type", TRACE_FILE, show(name), "a path", "file must be a path.")
    try:
        text = read_file(folder / name, TRACE_FILE, MAX_TRACE_CHARACTERS).decode("utf-8-sig")
    except UnicodeDecodeError:
        _fail("trace_binary", TRACE_FILE, show(name), "UTF-8 text", "The trace is not text.")
    rest = {key: value for key, value in trace.items() if key != "file"}
    return {**document, "traffic": {**traffic, "trace": {**rest, "csv": text}}}


def with_seed(document: dict[str, Any], seed: int | None) -> dict[str, Any]:
    """The document with another seed, where one was given."""
    return document if seed is None else {**document, "seed": seed}


def _fail(code: str, pointer: str, given: str, allowed: str, detail: str) -> NoReturn:
    raise ScenarioInvalid((FieldError(code, pointer, given, allowed, detail),))
