"""The text log of vLLM's server: requests from the lines of received requests and responses, rates from its statistics.

What is read of a line: time, id of the request, and how many token ids it lists. Texts are passed over.

    INFO 11-20 12:34:56 [logger.py:42] Received request ID: prompt: '...', params: ..., prompt_token_ids: [1, 2], ...
    DEBUG 11-20 12:34:56 [...] Request ID details: prompt: '...', prompt_token_ids: [1, 2], ...
    INFO 11-20 12:34:58 [...] Generated response ID (streaming delta): output: '...', output_token_ids: [3], ...
    INFO 11-20 12:35:00 [...] Avg prompt throughput: 9.5 tokens/s, Avg generation throughput: 3.0 tokens/s, ...

as --enable-log-requests and --enable-log-outputs write them (vLLM 0.9 and 0.27: vllm/entrypoints, request logger).
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.planning.importers.cells import is_stamp
from planner.planning.importers.errors import BadCell
from planner.planning.importers.sources import Opened

MAX_WAITING = 200_000
"""Requests without a response that are remembered; the oldest is given up for the next one."""
DAYS_PER_YEAR = 366

_TIME = re.compile(r"\b(?:DEBUG|INFO|WARNING) (\d\d)-(\d\d) (\d\d):(\d\d):(\d\d)(?:[.,](\d{3,6}))?\b")
_RECEIVED = re.compile(r"\] Received request ([^\s:]+):")
_DETAILS = re.compile(r"\] Request ([^\s:]+) details:")
_RESPONSE = re.compile(r"\] Generated response ([^\s:]+)( \(streaming (?:delta|complete)\))?:")
_KEY = re.compile(r"(api_key['\"]?\s*[:=]\s*)(\[[^\]]*\]|'[^']*'|\"[^\"]*\"|[^\s,)}]+)")
_RATES = re.compile(r"Avg prompt throughput: ([\d.]+) tokens/s, Avg generation throughput: ([\d.]+) tokens/s")
_IDS = {
    side: re.compile(rf".*{side}_token_ids: \[([\d, ]*)(\]?)", re.DOTALL) for side in ("prompt", "output")
}  # the last such place: what a text says stands before it


def is_vllm_log(head: bytes) -> bool:
    """Whether these are lines of the log with requests in them."""
    text = head.decode("utf-8", "replace")
    return bool(_RECEIVED.search(text) and _TIME.search(text))


@dataclass(slots=True)
class _Request:
    row: int
    time: str | float
    prompt: int | None
    output: int | None = None


def log_records(opened: Opened) -> Iterator[tuple[int, dict[str, Any]]]:
    """One record a request, when its response is there or the log ends: arrival_time, input_toks, output_toks,
    request_id. A count is None where the log does not tell it."""
    waiting: OrderedDict[str, _Request] = OrderedDict()
    clock = _Clock()
    for row, line in enumerate(opened.text_lines(), 1):
        received, response = _RECEIVED.search(line), _RESPONSE.search(line)
        if received and not (response and response.start() < received.start()):
            name = received.group(1)
            time = clock.time(line)
            if time is None:
                continue
            waiting[name] = _Request(row, time, _count(line, "prompt"))
            if len(waiting) > MAX_WAITING:
                yield _record(*waiting.popitem(last=False))
        elif response:
            name, streamed = response.group(1), response.group(2) or ""
            request = waiting.get(name)
            if request is None:
                continue
            count = _count(line, "output")
            if count is not None:
                request.output = (request.output or 0) + count
            if "delta" not in streamed:
                yield _record(name, waiting.pop(name))
        elif details := _DETAILS.search(line):
            request = waiting.get(details.group(1))
            if request is not None and request.prompt is None:
                request.prompt = _count(line, "prompt")
    for name, request in waiting.items():
        yield _record(name, request)


def log_windows(opened: Opened) -> Iterator[tuple[int, dict[str, Any]]]:
    """One record for each line of statistics: the requests since the one before, and tokens as rates over that time."""
    clock = _Clock()
    before_s: float | None = None
    requests = 0
    for row, line in enumerate(opened.text_lines(), 1):
        if _RECEIVED.search(line):
            requests += 1
            continue
        rates = _RATES.search(line)
        now = clock.seconds(line) if rates else None
        if rates is None or now is None:
            continue
        if before_s is not None and now > before_s:
            span_s = now - before_s
            tokens = [round(float(rate) * span_s) for rate in rates.groups()]
            yield row, {"timestamp_s": before_s, "requests": requests, "prompt": tokens[0], "output": tokens[1]}
            requests = 0
        elif before_s is None:
            requests = 0  # since when is not known
        before_s = now


def redacted_line(line: str) -> str:
    """A line without texts and ids, as many zeros for ids. Of other lines the server's own stay, without keys; those of
    its web server, which name addresses, are emptied."""
    for kind, side in ((_RECEIVED, "prompt"), (_RESPONSE, "output"), (_DETAILS, "prompt")):
        found = kind.search(line)
        if found and _TIME.search(line[: found.end()]):
            count = _count(line, side)
            ids = "None" if count is None else f"[{', '.join('0' * count)}]"
            return f"{line[: found.end()]} {side}_token_ids: {ids}"
    return _KEY.sub(r"\1None", line) if _TIME.search(line) else ""


def counted_request() -> Callable[[dict[str, Any]], dict[str, Any]]:
    """Leaves out requests whose tokens the log does not tell."""

    def prepare(record: dict[str, Any]) -> dict[str, Any]:
        if record["input_toks"] is None:
            raise BadCell("no_prompt_tokens", "The log lists no token ids of the prompt.")
        if record["output_toks"] is None:
            raise BadCell("no_output_tokens", "The log has no response with token ids; --enable-log-outputs writes it.")
        return record

    return prepare


def _record(name: str, request: _Request) -> tuple[int, dict[str, Any]]:
    record = {"arrival_time": request.time, "input_toks": request.prompt, "output_toks": request.output}
    return request.row, {**record, "request_id": name}


def _count(line: str, side: str) -> int | None:
    """How many token ids a line lists; None where there is no list."""
    found = _IDS[side].match(line)
    if not found:
        return None
    ids = found.group(1)
    return ids.count(",") + 1 if ids.strip() else 0


class _Clock:
    """Times of lines: the stamp that a container put in front, else the log's own, which names no year."""

    def __init__(self) -> None:
        self._last_month = 0
        self._years = 0

    def time(self, line: str) -> str | float | None:
        """A calendar stamp as text, or seconds since the first of January of the log's first year."""
        stamp = line.split(" ", 1)[0]
        return stamp if len(stamp) >= 19 and "T" in stamp and is_stamp(stamp) else self.seconds(line)

    def seconds(self, line: str) -> float | None:
        """Seconds by the log's own clock; None where the line has none."""
        found = _TIME.search(line)
        if not found:
            return None
        month, day, hour, minute, second = (int(part) for part in found.groups()[:5])
        try:
            days = date(2000, month, day).timetuple().tm_yday
        except ValueError:
            return None
        if month == 1 and self._last_month == 12:
            self._years += 1
        self._last_month = month
        fraction = float(f"0.{found.group(6)}") if found.group(6) else 0.0
        return ((self._years * DAYS_PER_YEAR + days) * 24 + hour) * 3_600.0 + minute * 60 + second + fraction
