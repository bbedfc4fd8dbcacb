"""Latency targets. All are judged at once, with the serving replicas, over the peak hour."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import LatencyMs, Part, Range, TokenGapMs

GoodputRatio = Annotated[float, Range(0.01, 0.9999, "(a ratio)")]

_TTFT = "Time to first token, queueing included, ms: {} of requests are faster."
_TPOT = "Time per output token without the first, (E2E − TTFT) / (tokens − 1), ms: {} of requests are faster."
_ITL = "Gap between two tokens, ms: {} of gaps are shorter."
_E2E = "Whole request, ms: {} of requests are faster."
_HALF, _P90, _P95, _P99 = "half", "90 %", "95 %", "99 %"


class Goodput(Part):
    """Share of requests that meet all of these thresholds at once."""

    ttft_ms: LatencyMs | None = Field(None, description="Time to first token, ms.")
    tpot_ms: TokenGapMs | None = Field(None, description="Time per output token, ms.")
    e2e_ms: LatencyMs | None = Field(None, description="Whole request, ms.")
    min_ratio: GoodputRatio = Field(0.95, description="Least share of requests that must meet them.")


class Slo(Part):
    """At least one target."""

    ttft_p50_ms: LatencyMs | None = Field(None, description=_TTFT.format(_HALF))
    ttft_p90_ms: LatencyMs | None = Field(None, description=_TTFT.format(_P90))
    ttft_p95_ms: LatencyMs | None = Field(None, description=_TTFT.format(_P95))
    ttft_p99_ms: LatencyMs | None = Field(None, description=_TTFT.format(_P99))
    tpot_p50_ms: TokenGapMs | None = Field(None, description=_TPOT.format(_HALF))
    tpot_p90_ms: TokenGapMs | None = Field(None, description=_TPOT.format(_P90))
    tpot_p95_ms: TokenGapMs | None = Field(None, description=_TPOT.format(_P95))
    tpot_p99_ms: TokenGapMs | None = Field(None, description=_TPOT.format(_P99))
    itl_p50_ms: TokenGapMs | None = Field(None, description=_ITL.format(_HALF))
    itl_p90_ms: TokenGapMs | None = Field(None, description=_ITL.format(_P90))
    itl_p95_ms: TokenGapMs | None = Field(None, description=_ITL.format(_P95))
    itl_p99_ms: TokenGapMs | None = Field(None, description=_ITL.format(_P99))
    e2e_p50_ms: LatencyMs | None = Field(None, description=_E2E.format(_HALF))
    e2e_p90_ms: LatencyMs | None = Field(None, description=_E2E.format(_P90))
    e2e_p95_ms: LatencyMs | None = Field(None, description=_E2E.format(_P95))
    e2e_p99_ms: LatencyMs | None = Field(None, description=_E2E.format(_P99))
    goodput: Goodput | None = Field(None, description="Share of requests that meet thresholds of their own.")
    goodput_min_ratio: GoodputRatio | None = Field(
        None,
        description="Least share of requests that meet all percentile targets at once, each taken as a threshold.",
    )
    confidence_ratio: Annotated[float, Range(0.5, 0.99, "(a ratio)")] | None = Field(
        None,
        description="Least probability that all targets are met, errors of the model included: replicas are added "
        "until then. Left out: sized at the usual step time, which is about as likely to do as a coin.",
    )
    window: Literal["peak", "month"] = Field("peak", description="Over which hours the targets hold: the peak hour.")


PERCENTILE_FIELDS: tuple[tuple[str, str, int], ...] = tuple(
    (f"{metric}_p{percentile}_ms", metric, percentile)
    for metric in ("ttft", "tpot", "itl", "e2e")
    for percentile in (50, 90, 95, 99)
)
"""(field, metric, percentile) of every percentile target, in the order of the report."""
