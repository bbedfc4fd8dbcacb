"""Usage by bucket: rows that stand for many requests, as billing exports and tables by day hold them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from planner.planning.importers.cells import NS_PER_S, count, number
from planner.planning.importers.columns import UNKNOWN, IntArray
from planner.planning.importers.errors import BadCell, Dropped, ImportRefused
from planner.planning.importers.records import Record
from planner.planning.importers.trace_file import TraceFile

MAX_USAGE_ROWS = 1_000_000
MAX_BUCKETS = 10_000_000
DAY_NS = 86_400 * NS_PER_S
FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Usage:
    """Buckets in order of time; several rows may share one (by model, key or project).

    start_ns: since 1970. bucket_ns: length of a bucket. requests: −1 where not told. prompt_tokens: whole input, cached
    included; cached_tokens: of it. cost_usd: NaN where not told.
    """

    start_ns: IntArray
    bucket_ns: int
    requests: IntArray
    prompt_tokens: IntArray
    cached_tokens: IntArray
    output_tokens: IntArray
    cost_usd: FloatArray

    @property
    def span_s(self) -> float:
        """From the start of the first bucket to the end of the last."""
        return float(self.start_ns[-1] - self.start_ns[0] + self.bucket_ns) / NS_PER_S


def read_usage(file: TraceFile) -> Usage:
    """All buckets of a usage export. Raises ImportRefused with no_rows, too_large or unanswered."""
    reading, columns = file.reading, file.layout.columns
    prepare = file.layout.prepare() if file.layout.prepare else None
    rows: list[tuple[int, int, int, int, int]] = []
    costs: list[float] = []
    for row, record in file.records():
        reading.rows_read += 1
        try:
            record = prepare(record) if prepare else record
            cost = _cost(file, record.get(columns.get("cost", "")))
            rows.append(_bucket(file, record))
            costs.append(cost)
        except (BadCell, Dropped) as bad:
            reading.problems.drop(bad.code, row, getattr(bad, "detail", "The row is no usage of a model."))
        if len(rows) > MAX_USAGE_ROWS:
            raise ImportRefused("too_large", f"More than {MAX_USAGE_ROWS:,} buckets.")
    if not rows:
        raise ImportRefused("no_rows", "No row can be used.")
    reading.rows_used = len(rows)
    table = np.array(rows, dtype=np.int64)
    order = np.argsort(table[:, 0], kind="stable")
    start, requests, prompt, cached, output = (np.ascontiguousarray(column) for column in table[order].T)
    bucket_ns = _bucket_ns(file, start)
    return Usage(start, bucket_ns, requests, prompt, cached, output, np.array(costs)[order])


def _bucket(file: TraceFile, record: Record) -> tuple[int, int, int, int, int]:
    columns, decimal = file.layout.columns, file.decimal

    def amount(meaning: str, missing: int) -> int:
        value = record.get(columns[meaning]) if meaning in columns else None
        return missing if value is None or value == "" else count(value, decimal)

    start_ns = file.clock.ns(record.get(columns["time"]))
    prompt, cached = amount("prompt", 0), amount("cached", 0)
    if not file.layout.cached_included:
        prompt += cached
    if cached > prompt:
        raise BadCell("cached_above_prompt", f"{cached} cached tokens of {prompt} input tokens.")
    return start_ns, amount("requests", UNKNOWN), prompt, cached, amount("output", 0)


def _cost(file: TraceFile, value: object) -> float:
    return float("nan") if value is None or value == "" else float(number(value, file.decimal))


def _bucket_ns(file: TraceFile, start: IntArray) -> int:
    """The least distance of two starts; a day where there is only one."""
    steps = np.diff(np.unique(start))
    if len(steps):
        return int(steps.min())
    file.reading.assume("bucket", "a day", "there is only one")
    return DAY_NS


def usage_summary(usage: Usage) -> dict[str, object]:
    """Totals, means a request and the rate by bucket; nothing is known about bursts inside a bucket."""
    told = usage.requests >= 0
    requests = int(usage.requests[told].sum()) if told.any() else None
    totals = {
        "prompt_tokens": int(usage.prompt_tokens.sum()),
        "cached_tokens": int(usage.cached_tokens.sum()),
        "output_tokens": int(usage.output_tokens.sum()),
    }
    prompt = totals["prompt_tokens"]
    priced = ~np.isnan(usage.cost_usd)
    summary: dict[str, object] = {
        "rows": len(usage.start_ns),
        "bucket_s": usage.bucket_ns / NS_PER_S,
        "span_s": usage.span_s,
        "requests": requests,
        **totals,
        "cached_ratio": totals["cached_tokens"] / prompt if prompt else None,
        "cost_usd": round(float(usage.cost_usd[priced].sum()), 6) if priced.any() else None,
    }
    if requests:
        summary |= {
            "prompt_tokens_mean": float(usage.prompt_tokens[told].sum()) / requests,
            "output_tokens_mean": float(usage.output_tokens[told].sum()) / requests,
            "mean_rps": requests / usage.span_s,
            "peak_to_mean": _peak_to_mean(usage, told),
        }
    return summary


def _peak_to_mean(usage: Usage, told: npt.NDArray[np.bool_]) -> float | None:
    """The busiest bucket over the mean of the span; None where buckets lie too far apart to count them all."""
    bucket = (usage.start_ns[told] - usage.start_ns[0]) // usage.bucket_ns
    if bucket.max() >= MAX_BUCKETS:
        return None
    totals = np.bincount(bucket, weights=usage.requests[told].astype(np.float64))
    return float(totals.max() / (totals.sum() * usage.bucket_ns / NS_PER_S / usage.span_s))
