"""Targets that the requests of a scenario can never show: too few of them, or no second token to wait for."""

from __future__ import annotations

from typing import Any

import numpy as np

from planner.planning.errors import FieldError, pointer, show
from planner.planning.schema.checks import Found, number, part
from planner.planning.schema.slo import PERCENTILE_FIELDS
from planner.planning.traffic.traces import Trace
from simulator.statistics import SAMPLES_NEEDED

BETWEEN_TOKENS = ("tpot", "itl")
NO_GAP = "outputs of at least 2 tokens"


def single_token_errors(data: dict[str, Any]) -> Found:
    """TPOT and ITL are times between a request's tokens; they do not exist where every output has one."""
    longest = _longest_output(data)
    if longest is None or longest >= 2:
        return
    for name, metric, _ in PERCENTILE_FIELDS:
        limit = number(part(data, "slo", name))
        if metric in BETWEEN_TOKENS and limit is not None:
            yield _no_gap(("slo", name), limit)
    limit = number(part(data, "slo", "goodput", "tpot_ms"))
    if limit is not None:
        yield _no_gap(("slo", "goodput", "tpot_ms"), limit)


def trace_sample_errors(data: dict[str, Any], trace: Trace) -> Found:
    """Percentiles that need more requests than the trace has."""
    cut = number(part(data, "engine", "max_tokens"))
    tokens = trace.output_tokens[trace.served]
    tokens = tokens if cut is None else np.minimum(tokens, max(1.0, cut))
    counts = {"tpot": int(np.count_nonzero(tokens > 1)), "itl": int((tokens - 1).sum())}
    for name, metric, percentile in PERCENTILE_FIELDS:
        limit = number(part(data, "slo", name))
        count, needed = counts.get(metric, len(tokens)), SAMPLES_NEEDED[percentile]
        if limit is None or count >= needed:
            continue
        if count == 0 and metric in BETWEEN_TOKENS:
            yield _no_gap(("slo", name), limit)
            continue
        detail = f"The trace has {count} values of {metric.upper()}; a p{percentile} needs at least {needed}."
        yield FieldError("too_few_samples", pointer("slo", name), show(limit), f"at least {needed} values", detail)


def _no_gap(path: tuple[str, ...], limit: float) -> FieldError:
    detail = f"{path[-1]} is about the time between a request's tokens; here every output has one token."
    return FieldError("no_second_token", pointer(*path), show(limit), NO_GAP, detail)


def _longest_output(data: dict[str, Any]) -> float | None:
    """Tokens of the longest output; None where it cannot be told, or is not bounded."""
    spec = part(data, "traffic", "output_tokens")
    most = number(part(spec, "tokens")) if part(spec, "kind") == "fixed" else None
    if part(spec, "kind") == "empirical":
        values, points = part(spec, "values"), part(spec, "quantiles")
        found = [v for value in values if (v := number(value)) is not None] if isinstance(values, list | tuple) else []
        last = points[-1] if isinstance(points, list | tuple) and points else None
        if isinstance(last, list | tuple) and len(last) == 2 and number(last[1]) is not None:
            found = [round(float(last[1]))]
        most = max(found, default=None)
    cut = number(part(data, "engine", "max_tokens"))
    return min((v for v in (most, cut) if v is not None), default=None)
