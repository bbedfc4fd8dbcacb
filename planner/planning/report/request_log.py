"""The simulated requests behind a report: the run that confirmed the recommended fleet, one row per request.

Kept as whole microseconds and counts, packed in parts, so that a reader holds one part at a time.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.planning.search.targets import judged_requests
from simulator import EventLog
from simulator.metrics import e2e_ms, ttft_ms
from simulator.records import FINISHED, REJECTED, TIMED_OUT, UNFINISHED, UNSERVABLE

MAX_REQUESTS = 200_000
"""As many as a trace may have; of a longer run the first ones are kept."""
PART_REQUESTS = 20_000
THE_CLASS = "all"
"""A scenario has one class of traffic."""
NEVER_US = -1
US_PER_PS = 1e-6
US_PER_MS = 1_000.0

OUTCOMES = {
    FINISHED: "finished",
    UNSERVABLE: "unservable",
    UNFINISHED: "unfinished",
    REJECTED: "rejected",
    TIMED_OUT: "timed_out",
}
REQUEST_COLUMNS = (
    "request", "replica", "class", "arrival_s", "first_token_s", "end_s", "prompt_tokens", "output_tokens",
    "cached_tokens", "ttft_ms", "tpot_ms", "e2e_ms", "preemptions", "outcome", "judged",
)  # fmt: skip
"""request: from 0, by arrival. Times are the client's, from the start of the run; ttft, tpot and e2e follow from them.
judged: whether the percentiles of the report count it (a drawn load is judged without its warm-up and its end)."""

IntArray = npt.NDArray[np.int64]
_KEPT = (
    "replica", "arrival_us", "first_token_us", "end_us", "prompt_tokens", "output_tokens", "cached_tokens",
    "preemptions", "outcome", "judged",
)  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class RequestLog:
    """Columns of whole numbers by the names of `_KEPT`, in the order of arrival; times of what never came are -1."""

    columns: dict[str, IntArray]

    def __len__(self) -> int:
        return len(self.columns["arrival_us"])

    def parts(self) -> Iterator[tuple[int, bytes]]:
        """The log packed, at most PART_REQUESTS rows in each part: how many, and their bytes."""
        for start in range(0, len(self), PART_REQUESTS):
            rows = slice(start, start + PART_REQUESTS)
            table = np.stack([self.columns[name][rows] for name in _KEPT]).astype("<i8")
            yield table.shape[1], zlib.compress(table.tobytes())


def request_log(logs: Iterable[EventLog], *, steady: bool) -> RequestLog:
    """One log of the replicas of a fleet. steady: the load was drawn, and is judged without its ends."""
    each = [_columns(number, log, steady=steady) for number, log in enumerate(logs)]
    columns = {name: np.concatenate([columns[name] for columns in each]) for name in _KEPT}
    order = np.lexsort((columns["replica"], columns["arrival_us"]))[:MAX_REQUESTS]
    return RequestLog({name: column[order] for name, column in columns.items()})


def _columns(replica: int, log: EventLog, *, steady: bool) -> dict[str, IntArray]:
    arrival = np.rint(log.arrival_ps * US_PER_PS).astype(np.int64)
    judged = np.zeros(len(log), np.int64)
    judged[judged_requests(len(log), steady)] = 1
    return {
        "replica": np.full(len(log), replica, np.int64),
        "arrival_us": arrival,
        "first_token_us": _at_us(arrival, ttft_ms(log), log.first_token_ps >= 0),
        "end_us": _at_us(arrival, e2e_ms(log), log.outcome == FINISHED),
        "prompt_tokens": log.prompt_tokens,
        "output_tokens": log.generated_tokens,
        "cached_tokens": log.cached_tokens,
        "preemptions": log.preemptions,
        "outcome": log.outcome.astype(np.int64),
        "judged": judged,
    }


def _at_us(arrival_us: IntArray, after_ms: npt.NDArray[np.float64], came: npt.NDArray[np.bool_]) -> IntArray:
    after_us = np.rint(np.where(came, after_ms, 0.0) * US_PER_MS).astype(np.int64)
    return np.where(came, arrival_us + after_us, NEVER_US)


def request_columns(part: bytes, first_request: int) -> dict[str, list[Any]]:
    """A part as columns of plain values by the names of REQUEST_COLUMNS, None for what never came."""
    table = np.frombuffer(zlib.decompress(part), "<i8").reshape(len(_KEPT), -1)
    held = dict(zip(_KEPT, table, strict=True))
    arrival, first, end = held["arrival_us"], held["first_token_us"], held["end_us"]
    started, done = first != NEVER_US, end != NEVER_US
    gaps = held["output_tokens"] - 1
    tpot_ms = (end - first) / np.maximum(gaps, 1) / US_PER_MS
    return {
        "request": list(range(first_request, first_request + len(arrival))),
        "replica": held["replica"].tolist(),
        "class": [THE_CLASS] * len(arrival),
        "arrival_s": (arrival / 1e6).tolist(),
        "first_token_s": _where(first / 1e6, started),
        "end_s": _where(end / 1e6, done),
        "prompt_tokens": held["prompt_tokens"].tolist(),
        "output_tokens": held["output_tokens"].tolist(),
        "cached_tokens": held["cached_tokens"].tolist(),
        "ttft_ms": _where((first - arrival) / US_PER_MS, started),
        "tpot_ms": _where(np.round(tpot_ms, 6), done & (gaps > 0)),
        "e2e_ms": _where((end - arrival) / US_PER_MS, done),
        "preemptions": held["preemptions"].tolist(),
        "outcome": [OUTCOMES[code] for code in held["outcome"].tolist()],
        "judged": held["judged"].astype(bool).tolist(),
    }


def _where(values: npt.NDArray[np.float64], known: npt.NDArray[np.bool_]) -> list[float | None]:
    return [value if there else None for value, there in zip(values.tolist(), known.tolist(), strict=True)]
