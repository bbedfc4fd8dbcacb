"""A measured run in one set of definitions, whatever tool wrote it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from planner.planning.importers.cells import printable

MOST_PCT = 1e9
MOST_LENGTHS = 60
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
"""As tools print counts; a lone 1,234 is a count, too: none of them writes decimal commas."""


@dataclass(frozen=True, slots=True)
class Check:
    """Two ways to one number. stated: what the file says; derived: from its other numbers; ok: within the tolerance."""

    name: str
    stated: float
    derived: float
    tolerance_pct: float
    detail: str

    @property
    def difference_pct(self) -> float:
        """Stated over derived, in percent; at most a billion."""
        return max(-MOST_PCT, min(MOST_PCT, 100.0 * (self.stated / self.derived - 1))) if self.derived else MOST_PCT

    @property
    def ok(self) -> bool:
        return abs(self.difference_pct) <= self.tolerance_pct

    def as_dict(self) -> dict[str, object]:
        return {**asdict(self), "difference_pct": round(self.difference_pct, 3), "ok": self.ok}


@dataclass(slots=True)
class Run:
    """One run of a load generator, or some hours of a server.

    latencies_ms: metric -> statistic -> ms. ttft: from sending to the first token, queue included. tpot: (end − first
    token) / (output tokens − 1) of each request. tpot_with_first: whole latency / output tokens. itl: gaps between
    chunks of a stream, which may carry several tokens. e2e: whole latency.
    offered_rps: None where not told, infinite where all requests were sent at once. input_tokens, output_tokens: totals
    of the completed requests. nominal_*: what the generator was asked for.
    bounds_ms: metric -> statistic -> [low, high] where a histogram tells no more than its bucket. lengths: input and
    output -> [[tokens, requests of at most so many], ...]. rate_steps: [[seconds, requests per second], ...], one after
    the other, where the rate was sampled. cached_prompt_ratio: of the prompt tokens, as a prefix cache counts.
    warm_up_s: for so long the load had run before the first request that counts; it ran on until the last had ended.
    """

    label: str = ""
    model: str = ""
    engine: str = ""
    gpus: int | None = None
    duration_s: float | None = None
    completed: int | None = None
    failed: int | None = None
    input_tokens: float | None = None
    output_tokens: float | None = None
    nominal_input_tokens: float | None = None
    nominal_output_tokens: float | None = None
    offered_rps: float | None = None
    max_concurrency: float | None = None
    mean_concurrency: float | None = None
    request_rps: float | None = None
    goodput_rps: float | None = None
    input_tokens_per_s: float | None = None
    output_tokens_per_s: float | None = None
    total_tokens_per_s: float | None = None
    latencies_ms: dict[str, dict[str, float]] = field(default_factory=dict)
    bounds_ms: dict[str, dict[str, list[float]]] = field(default_factory=dict)
    lengths: dict[str, list[list[float]]] = field(default_factory=dict)
    rate_steps: list[list[float]] = field(default_factory=list)
    cached_prompt_ratio: float | None = None
    warm_up_s: float | None = None
    notes: list[str] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)

    def latency(self, metric: str, statistic: str = "mean") -> float | None:
        return self.latencies_ms.get(metric, {}).get(statistic)

    @property
    def input_tokens_mean(self) -> float | None:
        return _ratio(self.input_tokens, self.completed)

    @property
    def output_tokens_mean(self) -> float | None:
        return _ratio(self.output_tokens, self.completed)

    def as_dict(self) -> dict[str, object]:
        """Plain JSON; infinities as text, texts cut to 200 characters."""
        plain = {name: getattr(self, name) for name in self.__slots__ if name != "checks"}
        plain |= {name: printable(plain[name], 200) for name in ("label", "model", "engine")}
        plain["input_tokens_mean"], plain["output_tokens_mean"] = self.input_tokens_mean, self.output_tokens_mean
        plain["offered_rps"] = "inf" if self.offered_rps == float("inf") else self.offered_rps
        plain["max_concurrency"] = "inf" if self.max_concurrency == float("inf") else self.max_concurrency
        return {**plain, "checks": [check.as_dict() for check in self.checks]}

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Run:
        """The run that `as_dict` told of."""
        own = {name: plain[name] for name in cls.__slots__ if name in plain and name != "checks"}
        unlimited = {name: float("inf") for name in ("offered_rps", "max_concurrency") if own.get(name) == "inf"}
        stated = ("name", "stated", "derived", "tolerance_pct", "detail")
        checks = [Check(**{name: each[name] for name in stated}) for each in plain.get("checks", ())]
        return cls(**{**own, **unlimited}, checks=checks)


@dataclass(slots=True)
class Measurement:
    """A recognised result file. format: stable key; server: what an engine said about itself at the start."""

    format: str
    title: str
    runs: list[Run] = field(default_factory=list)
    server: dict[str, object] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, object]:
        return {
            "format": self.format,
            "title": self.title,
            "runs": [run.as_dict() for run in self.runs],
            "server": self.server,
            "notes": self.notes,
        }

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Measurement:
        """The measurement that `as_dict` told of."""
        runs = [Run.of(run) for run in plain["runs"]]
        return cls(plain["format"], plain["title"], runs, dict(plain["server"]), list(plain["notes"]))


def num(value: Any) -> float | None:
    """A finite number of at most 10^18, also as text; None for anything else."""
    result = limit(value)
    return None if result is None or abs(result) > 1e18 else result


def limit(value: Any) -> float | None:
    """A number that may be infinite ("inf": no limit), also as text; None for anything else and for NaN."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
        value = value.replace(",", "")
    try:
        result = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if result != result else result


def whole(value: Any) -> int | None:
    """A whole number of at most 10^15; None for anything else."""
    result = num(value)
    return int(result) if result is not None and abs(result) <= 1e15 and result == int(result) else None


def section(value: Any, *path: str) -> Mapping[str, Any]:
    """The object at a path; empty where there is none."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def statistics_ms(values: Iterable[float]) -> dict[str, float]:
    """Mean, spread and percentiles of latencies in ms; empty for none. No p99 of fewer than 100."""
    data = np.array(list(values), dtype=np.float64)
    if not len(data):
        return {}
    percentiles = {f"p{p}": float(np.percentile(data, p)) for p in (50, 90, 95, 99) if p < 99 or len(data) >= 100}
    return {
        "mean": float(data.mean()),
        "std": float(data.std()),
        "min": float(data.min()),
        "max": float(data.max()),
        **percentiles,
    }


def length_counts(values: Any) -> list[list[float]]:
    """[[tokens, requests of at most so many], ...] of the lengths of single requests, some of them where they are many;
    empty where they are all alike, or none are known."""
    known = np.array(
        [each for each in map(whole, values) if each and 0 < each < 10**8] if isinstance(values, list) else []
    )
    if not known.size or known.min() == known.max():
        return []
    distinct, counts = np.unique(known, return_counts=True)
    below = np.concatenate(((0,), np.cumsum(counts)))
    picked = np.unique(np.linspace(0, distinct.size - 1, min(distinct.size, MOST_LENGTHS)).round().astype(int))
    found: list[list[float]] = []
    for place in picked.tolist():
        if distinct.size <= MOST_LENGTHS or not place:  # nothing lies between one length and the next
            found.append([float(distinct[place] - 1), float(below[place])])
        found.append([float(distinct[place]), float(below[place + 1])])
    return found


def scaled(source: Mapping[str, Any], names: Mapping[str, str], scale: float) -> dict[str, float]:
    """Statistics by our names from an object that has them under its own: ours -> theirs."""
    found = {ours: num(source.get(theirs)) for ours, theirs in names.items()}
    return {ours: value * scale for ours, value in found.items() if value is not None and abs(value) < 1e15}


def first_number(source: Mapping[str, Any], names: Sequence[str]) -> float | None:
    """The first of several keys that holds a number."""
    return next((value for value in (num(source.get(name)) for name in names) if value is not None), None)


def _ratio(total: float | None, count: float | None) -> float | None:
    return total / count if total is not None and count else None
