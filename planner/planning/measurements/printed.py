"""What tools print as people copy it: tables of vLLM and SGLang, and results among lines of a log."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

from planner.planning.measurements.result import limit

MOST_LINES = 200_000
MOST_RUNS = 200
LONGEST_LINE = 4 << 20
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")
"""Colours and cursor moves, titles of windows."""
_HEAD = re.compile(r"={3,}\s*(?:\w+ )*Serving Benchmark Result\s*={3,}")
_ROW = re.compile(r"\s*([A-Z][^:]{2,60}):\s+(\S+)\s*")
_KEYS = {
    "successful requests": "completed",
    "failed requests": "failed",
    "benchmark duration (s)": "duration",
    "total input tokens": "total_input_tokens",
    "total generated tokens": "total_output_tokens",
    "request throughput (req/s)": "request_throughput",
    "request goodput (req/s)": "request_goodput",
    "input token throughput (tok/s)": "input_throughput",
    "output token throughput (tok/s)": "output_throughput",
    "maximum request concurrency": "max_concurrency",
    "max request concurrency": "max_concurrency",
    "request rate configured (rps)": "request_rate",
    "traffic request rate": "request_rate",
    "backend": "backend",
    "concurrency": "concurrency",
}
_LATENCY = re.compile(r"(mean|median|std|p\d\d) (ttft|tpot|itl|e2el|e2e latency) \(ms\)")
_MESSAGES = ("log", "message", "msg", "MESSAGE")


def is_printed(text: str) -> bool:
    """Whether a text has such a table."""
    return _HEAD.search(text) is not None


def printed_documents(text: str) -> list[dict[str, Any]]:
    """The tables as the same tools write them as JSON."""
    found: list[dict[str, Any]] = []
    for line in text.split("\n", MOST_LINES)[:MOST_LINES]:
        if _HEAD.search(line):
            found.append({})
            continue
        row = _ROW.fullmatch(line[:200]) if found else None
        if row is None:
            continue
        label, value = row.group(1).casefold(), row.group(2)
        latency = _LATENCY.fullmatch(label)
        key = f"{latency.group(1)}_{latency.group(2).replace(' ', '_')}_ms" if latency else _KEYS.get(label)
        if key is not None and (key == "backend" or limit(value) is not None):
            found[-1].setdefault(key, value)
    needed = {"completed", "duration", "total_output_tokens"}
    return [each for each in found[:MOST_RUNS] if needed <= set(each)]


def documents_among_lines(text: str, is_known: Callable[[Any], bool]) -> list[Any]:
    """Results on lines of their own, between lines of a log."""
    found = []
    for line in text.split("\n", MOST_LINES)[:MOST_LINES]:
        if line.startswith("{") and len(line) <= LONGEST_LINE:
            try:
                document = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if is_known(document):
                found.append(document)
    return found[:MOST_RUNS]


def messages_of_lines(text: str) -> str | None:
    """The messages of a log that is kept as JSON, an object a line, as containers do; None for anything else."""
    lines: list[str] = []
    for line in text.split("\n", MOST_LINES)[:MOST_LINES]:
        if not line.strip():
            continue
        try:
            entry = json.loads(line)
        except (ValueError, RecursionError):
            return "\n".join(lines) or None  # cut off
        message = (
            next((entry[key] for key in _MESSAGES if isinstance(entry.get(key), str)), None)
            if isinstance(entry, dict)
            else None
        )
        if message is None:
            return None
        lines.append(message.rstrip("\n"))
    return "\n".join(lines) or None
