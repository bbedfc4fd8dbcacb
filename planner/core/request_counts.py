"""Counts and durations of requests, for /metrics: by route, method and class of status, never by person or team.

They stand in a SQLite file that the web processes of one machine share, so every process answers a scrape with the
same counts, which a restart leaves as they are. A process gathers what it counts and writes it once a second, since a
write for each cell of a burst made the cells wait for one another; a process that is killed loses a second of counts.
"""

import atexit
import math
import time
from bisect import bisect_left
from collections.abc import Callable
from functools import cache
from itertools import groupby
from pathlib import Path
from threading import Lock, Timer
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from planner.core.exposition import Family, Sample, number
from planner.core.shared_cache import SharedFile

BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 1.0, 2.5, 10.0, math.inf)
"""Upper ends of the histogram; estimates are to be answered in 0.2 s and pages in 0.3 s."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
_SCHEMA = (
    "create table if not exists requests (route text, method text, status text, bucket integer, requests integer, "
    "seconds real, primary key (route, method, status, bucket)) without rowid"
)
_COUNT = (
    "insert into requests values (?, ?, ?, ?, ?, ?) on conflict do update set "
    "requests = requests + excluded.requests, seconds = seconds + excluded.seconds"
)
_READ = "select route, method, status, bucket, requests, seconds from requests order by route, method, status, bucket"


GATHERED_S = 1.0
"""Longest time that a count waits in its process."""


class CountRequests:
    """Counts each answer of a view with the time until it began. Static files are answered before it."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        began_s = time.perf_counter()
        response = self.get_response(request)
        count(request, response.status_code, time.perf_counter() - began_s)
        return response


def count(request: HttpRequest, status_code: int, duration_s: float) -> None:
    """Counts one answer. Where the file cannot be used, the answer stays uncounted."""
    match = request.resolver_match
    route = match.view_name if match is not None and match.url_name else NO_ROUTE  # names, since addresses hold ids
    method = request.method if request.method in METHODS else "other"
    _gathered(settings.REQUEST_COUNTS_FILE).add(
        (route, method, f"{status_code // 100}xx", bisect_left(BOUNDS_S, duration_s)), duration_s
    )


def request_family() -> Family:
    """All that was counted on this machine, as one histogram; of other processes, all but the last second."""
    rows = _gathered(settings.REQUEST_COUNTS_FILE).rows()
    samples = [sample for labels, group in groupby(rows, lambda row: row[:3]) for sample in _series(labels, [*group])]
    meaning = "Answers of views on this machine, by seconds until they began."
    return Family("staircase_http_request_duration_seconds", "histogram", meaning, samples)


def _series(labels: tuple[str, str, str], rows: list[Any]) -> list[Sample]:
    named = dict(zip(("route", "method", "status"), labels, strict=True))
    by_bucket = {bucket: requests for *_, bucket, requests, _ in rows}
    samples, below = [], 0
    for bucket, bound_s in enumerate(BOUNDS_S):
        below += by_bucket.get(bucket, 0)
        samples.append(Sample(below, named | {"le": number(bound_s)}, "_bucket"))
    return [*samples, Sample(sum(row[5] for row in rows), named, "_sum"), Sample(below, named, "_count")]


class _Gathered:
    """Counts of this process on their way into the file."""

    def __init__(self, path: Path) -> None:
        self._file = SharedFile(path, _SCHEMA)
        self._waiting: dict[tuple[str, str, str, int], tuple[int, float]] = {}
        self._lock = Lock()
        atexit.register(self.write)

    def add(self, key: tuple[str, str, str, int], duration_s: float) -> None:
        with self._lock:
            first = not self._waiting
            requests, seconds = self._waiting.get(key, (0, 0.0))
            self._waiting[key] = (requests + 1, seconds + duration_s)
        if first:
            later = Timer(GATHERED_S, self.write)
            later.daemon = True
            later.start()

    def write(self) -> None:
        with self._lock:
            waiting, self._waiting = self._waiting, {}
        for key, counted in waiting.items():
            self._file.rows(_COUNT, (*key, *counted))

    def rows(self) -> list[Any]:
        self.write()
        return self._file.rows(_READ)


@cache
def _gathered(path: Path) -> _Gathered:
    return _Gathered(path)
