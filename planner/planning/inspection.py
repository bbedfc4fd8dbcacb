"""What the `inspect` command tells of a file: what it is, what was assumed, what is wrong, and what it says."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.planning.importers import (
    Answers,
    ImportRefused,
    Opened,
    Source,
    TraceFile,
    is_json_lines,
    is_vllm_log,
    json_document,
    length_tables,
    looks_like_json,
    open_source,
    open_trace,
    quantiles,
    rate_summary,
    read_rate_windows,
    read_usage,
    usage_summary,
    without_people,
    without_texts,
)
from planner.planning.measurements import read_measurement
from planner.planning.traffic_profile import profile_trace


def inspect_source(source: Source, answers: Answers | None = None) -> dict[str, Any]:
    """Everything that can be said about a file, as plain JSON.

    kind: requests, usage, rates, lengths, length_tables or measurement. reading: how a table or its records were
    understood, with questions, assumptions and rows left out; null for measurements and length tables. One of profile,
    usage, rates, length_tables, measurement holds what it says; none while questions are open.
    Raises ImportRefused.
    """
    answers = answers or Answers()
    opened = open_source(source)
    measurement = None if is_vllm_log(opened.head) else read_measurement(opened)
    if measurement is not None:
        return _told("measurement", None, measurement=measurement.as_dict())
    try:
        file = open_trace(source, answers)
    except ImportRefused as refused:
        if refused.code not in {"unknown_format", "no_rows"} or not looks_like_json(opened.head):
            raise
        tables = _length_tables(opened)
        if not tables:
            raise
        return _told("length_tables", None, length_tables=tables)
    if file.nested and file.layout.kind == "lengths" and (tables := _length_tables(opened)):
        return _told("length_tables", None, length_tables=tables)
    kind = file.layout.kind
    if file.reading.questions:
        return _told(kind, file.reading.as_dict())
    return _read(file, kind)


def storable(source: Source) -> bytes | None:
    """The file without what it says about people (`without_people`), a benchmark's result without its texts; None where
    it may be stored as it is. Raises ImportRefused."""
    opened = open_source(source)
    if not is_vllm_log(opened.head):
        if read_measurement(opened) is not None:
            return without_texts(opened)
        if looks_like_json(opened.head) and _length_tables(opened):
            return None
    return without_people(source)


def _length_tables(opened: Opened) -> dict[str, Any]:
    """Distributions of lengths in a document; none where it is no document."""
    if not opened.is_whole and is_json_lines(opened.head):
        return {}
    try:
        tables = length_tables(json_document(opened))
        return {name: quantiles(table) for name, table in tables.items()}
    except ImportRefused:
        return {}


def _read(file: TraceFile, kind: str) -> dict[str, Any]:
    reading = file.reading
    if kind == "usage":
        usage = usage_summary(read_usage(file))
        return _told(kind, reading.as_dict(), usage=usage)
    if kind == "rates":
        rates = rate_summary(read_rate_windows(file))
        return _told(kind, reading.as_dict(), rates=rates)
    profile = profile_trace(file.chunks(), reading)
    return _told(kind, reading.as_dict(), profile=profile)


def _told(kind: str, reading: Mapping[str, Any] | None, **content: Any) -> dict[str, Any]:
    parts = ("profile", "usage", "rates", "length_tables", "measurement")
    return {"kind": kind, "reading": reading, **{part: content.get(part) for part in parts}}


def inspection_text(told: Mapping[str, Any]) -> str:
    """The same for people: one fact a line."""
    lines: list[str] = []
    if told["reading"]:
        lines += _reading_lines(told["reading"])
    for part in ("profile", "usage", "rates"):
        if told[part]:
            lines += ["", *_tree(told[part])]
    for name, table in (told["length_tables"] or {}).items():
        lines.append(f"{name}: {len(table)} points of a distribution of lengths, to {table[-1][1]:,.0f} tokens")
    if told["measurement"]:
        lines += _measurement_lines(told["measurement"])
    return "\n".join(lines)


def _reading_lines(reading: Mapping[str, Any]) -> list[str]:
    rows = reading["rows"]
    lines = [
        f"{reading['title']} ({reading['format']}), {reading['packing']}",
        f"columns: {', '.join(reading['columns'])}",
    ]
    lines += [f"  {meaning}: {name}" for meaning, name in reading["used"].items()]
    if reading["personal"]:
        lines.append(f"  personal, never kept: {', '.join(reading['personal'])}")
    lines += [f"assumed: {each['what']}: {each['taken']} ({each['because']})" for each in reading["assumptions"]]
    for question in reading["questions"]:
        choices = "; ".join(f"{name} = {meaning}" for name, meaning in question["choices"].items())
        lines.append(f"question: {question['detail']} Answer with --answer {question['answer']}=... ({choices})")
    if reading["questions"]:
        return lines
    lines.append(f"rows: {rows['read']:,} read, {rows['used']:,} used, {rows['failed']:,} failed requests")
    lines += [f"left out: {count:,} rows, {code}" for code, count in rows["dropped"].items()]
    lines += [f"kept, odd: {count:,} rows, {code}" for code, count in rows["kept_with_notes"].items()]
    if rows["out_of_order"]:
        lines.append(f"sorted: {rows['out_of_order']:,} rows came late, by up to {rows['max_backstep_s']:.6g} s")
    lines += [f"  row {each['row']}: {each['detail']} [{each['code']}]" for each in reading["problems"]]
    return lines


def _measurement_lines(measurement: Mapping[str, Any]) -> list[str]:
    lines = [f"{measurement['title']} ({measurement['format']})", *measurement["notes"]]
    lines += [f"  {name}: {value}" for name, value in measurement["server"].items()]
    for place, run in enumerate(measurement["runs"], 1):
        lines += ["", f"run {place} {run['label']}".rstrip()]
        facts = {key: value for key, value in run.items() if key not in {"label", "notes", "checks", "latencies_ms"}}
        lines += [f"  {key}: {_shown(value)}" for key, value in facts.items() if value not in (None, "")]
        for metric, statistics in run["latencies_ms"].items():
            lines.append(
                f"  {metric} ms: " + ", ".join(f"{name} {_shown(value)}" for name, value in statistics.items())
            )
        for check in run["checks"]:
            mark = "agrees" if check["ok"] else "DISAGREES"
            lines.append(
                f"  check {check['name']}: {mark}, {_shown(check['stated'])} stated, {_shown(check['derived'])} from "
                f"{check['detail']} ({check['difference_pct']:+.1f} %)"
            )
        lines += [f"  note: {note}" for note in run["notes"]]
    return lines


def _tree(value: Mapping[str, Any], depth: int = 0) -> list[str]:
    lines = []
    for key, part in value.items():
        if part is None or key in {"preview", "pictures", "week_rps"}:
            continue
        if isinstance(part, dict):
            lines += ["  " * depth + f"{key}:", *_tree(part, depth + 1)]
        elif isinstance(part, list):
            lines += [
                "  " * depth + f"{key}: {len(part)} entries" if len(part) > 4 else "  " * depth + f"{key}: {part}"
            ]
        else:
            lines.append("  " * depth + f"{key}: {_shown(part)}")
    return lines


def _shown(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else f"{value:,.4g}" if abs(value) < 1e4 else f"{value:,.0f}"
