"""Where a load test goes next: rising rates to the knee, or ever more requests at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

CLOSE_RATIO = 1.1
"""The knee is known when a rate that fails is at most so many times one that passes."""
MOST_STEPS = 16
MOST_HALVINGS = 6
GAIN_RATIO = 1.05
"""Of the throughput: with less, more requests at a time bring nothing but waiting."""


@dataclass(slots=True)
class Rates:
    """Rates to try, one after the other: doubled until one fails, then halved in between (or, where the first fails,
    until one passes). `most_rps` ends the rise."""

    first_rps: float
    most_rps: float = math.inf
    passed: list[float] = field(default_factory=list)
    failed: list[float] = field(default_factory=list)

    def __iter__(self) -> Iterator[float]:
        rate = min(self.first_rps, self.most_rps)
        for _ in range(MOST_STEPS):
            yield rate
            following = self._next()
            if following is None:
                return
            rate = following

    def tell(self, rate_rps: float, passes: bool) -> None:
        """What came of the last rate."""
        (self.passed if passes else self.failed).append(rate_rps)

    def _next(self) -> float | None:
        best, worst = max(self.passed, default=None), min(self.failed, default=None)
        if worst is None:
            return None if best is None or best >= self.most_rps else min(2 * best, self.most_rps)
        if best is None:
            return None if len(self.failed) > MOST_HALVINGS else worst / 2
        return None if worst / best <= CLOSE_RATIO else math.sqrt(best * worst)


def enough_at_a_time(rows: list[dict[str, Any]]) -> bool:
    """Whether more requests at a time bring nothing any more, or the targets are missed."""
    if rows[-1]["passes"] is False:
        return True
    rates = [row["request_rps"] or 0.0 for row in rows]
    return len(rates) > 1 and rates[-1] < GAIN_RATIO * max(rates[:-1])


def knee(rows: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The step with the most requests per second of those that met all targets; None if none did."""
    passed = [(row["request_rps"] or 0.0, place) for place, row in enumerate(rows) if row["passes"]]
    if not passed:
        return None
    row = rows[max(passed)[1]]
    names = ("offered_rps", "max_concurrency", "request_rps", "output_tokens_per_s")
    return {**{name: row[name] for name in names}, "client_limited": bool(row["client"]["limited"])}


def curve(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """p50 and p95 of the latencies against throughput, by rising throughput."""
    points = []
    for row in rows:
        point = {name: row[name] for name in ("request_rps", "output_tokens_per_s", "passes", "saturated")}
        for metric in ("ttft", "tpot", "itl", "e2e"):
            for percentile in ("p50", "p95"):
                point[f"{metric}_{percentile}_ms"] = row["latencies_ms"].get(metric, {}).get(percentile)
        points.append(point)
    return sorted(points, key=lambda point: point["request_rps"] or 0.0)
