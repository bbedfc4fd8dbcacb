"""Everything a trace says about its traffic, gathered chunk by chunk in bounded memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from planner.planning.importers import Chunk, Reading
from planner.planning.traffic_profile.arrivals import NS_PER_S, SCALES_S, GapCounter, RateCounter
from planner.planning.traffic_profile.compare import compared
from planner.planning.traffic_profile.fit import GOOD_DISTANCE, Fit, fit_arrivals, fit_lengths
from planner.planning.traffic_profile.histogram import LengthHistogram
from planner.planning.traffic_profile.sharing import ClientCounter, ConversationCounter, PrefixCounter

PREVIEW_ROWS = 10
PICTURE_WINDOWS, PICTURE_BINS, PICTURE_RATIO = 120, 40, 0.98
DAY_S = 86_400
LEAST_GAPS_TO_FIT = 100
PROMPT_CLASSES = 24
LEAST_IN_CLASS = 20
"""Requests of a class of prompts from which on their mean output says something."""


@dataclass(slots=True)
class _Pairs:
    """Sums for the correlation of prompt and output lengths, plain and of logarithms."""

    count: int = 0
    plain: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(5))
    logs: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros(5))
    by_class: npt.NDArray[np.float64] = field(default_factory=lambda: np.zeros((2, PROMPT_CLASSES)))
    """Requests and output tokens by the power of two that their prompt reaches."""

    def add(self, chunk: Chunk) -> None:
        both = (chunk.prompt_tokens > 0) & (chunk.output_tokens > 0)
        x, y = chunk.prompt_tokens[both].astype(np.float64), chunk.output_tokens[both].astype(np.float64)
        self.count += len(x)
        self.plain += _sums(x, y)
        self.logs += _sums(np.log(x), np.log(y))
        kind = np.frexp(x)[1] - 1
        self.by_class += [np.bincount(kind, weights, PROMPT_CLASSES) for weights in (np.ones(len(x)), y)]

    def outputs(self) -> list[dict[str, float]] | None:
        """The mean output of prompts from each power of two up to the next; None where fewer than two say something."""
        told = [
            {"prompt_tokens_from": 1 << power, "requests": int(count), "output_tokens_mean": total / count}
            for power, (count, total) in enumerate(self.by_class.T.tolist())
            if count >= LEAST_IN_CLASS
        ]
        return told if len(told) > 1 else None

    def correlation(self, *, logs: bool) -> float | None:
        if self.count < 2:
            return None
        x, y, xx, yy, xy = (float(v) / self.count for v in (self.logs if logs else self.plain))
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / float(np.sqrt(spread)) if spread > 0 else None


def _sums(x: npt.NDArray[np.float64], y: npt.NDArray[np.float64]) -> list[float]:
    """Sums of x, y, x², y², xy; no dot products, whose order of summing depends on the machine's threads."""
    return [float(part.sum()) for part in (x, y, x * x, y * y, x * y)]


def profile_trace(chunks: Iterable[Chunk], reading: Reading) -> dict[str, object]:
    """The profile of requests that come in order of time, as plain JSON; `reading` is complete afterwards.

    Keys: preview, pictures, span_s, rates, gaps, lengths, conversations, clients, prefix, classes, fitted. Failed
    requests count as arrivals and not in the lengths.
    """
    builder = _Builder(reading)
    for chunk in chunks:
        builder.add(chunk)
    return builder.result()


class _Builder:
    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._rates, self._gaps, self._pairs = RateCounter(), GapCounter(), _Pairs()
        self._prompt, self._output, self._cached = LengthHistogram(), LengthHistogram(), LengthHistogram()
        self._conversations, self._clients = ConversationCounter(), ClientCounter()
        self._prefix = PrefixCounter(reading.block_tokens or 16)
        self._classes = np.zeros(0, dtype=np.int64)
        self._first_ns: int | None = None
        self._last_ns = 0
        self._rows = 0
        self._preview: list[dict[str, object]] = []

    def add(self, chunk: Chunk) -> None:
        if self._first_ns is None:
            self._first_ns = int(chunk.arrival_ns[0])
        self._last_ns = int(chunk.arrival_ns[-1])
        self._rows += len(chunk)
        self._preview += _preview(chunk, PREVIEW_ROWS - len(self._preview), self._first_ns)
        self._rates.add(chunk.arrival_ns)
        self._gaps.add(chunk.arrival_ns)
        served = ~chunk.failed
        self._prompt.add(chunk.prompt_tokens[served])
        self._output.add(chunk.output_tokens[served])
        told = served & (chunk.cached_tokens >= 0)
        self._cached.add(chunk.cached_tokens[told])
        self._pairs.add(chunk if served.all() else chunk.take(np.flatnonzero(served)))
        self._conversations.add(chunk)
        self._clients.add(chunk)
        self._prefix.add(chunk)
        kinds = chunk.kind[chunk.kind >= 0]
        if len(kinds):
            counts = np.bincount(kinds, minlength=len(self._classes))
            counts[: len(self._classes)] += self._classes
            self._classes = counts

    def result(self) -> dict[str, object]:
        assert self._first_ns is not None
        span_s = (self._last_ns - self._first_ns) / NS_PER_S
        is_timed = span_s > 0
        named = zip(self._reading.classes, self._classes.tolist(), strict=False)
        return {
            "requests": self._rows,
            "failed": self._reading.failed_rows,
            "span_s": span_s,
            "rates": self._rate_summary(span_s) if is_timed else None,
            "gaps": self._gap_summary() if is_timed else None,
            "lengths": self._length_summary(),
            "conversations": self._conversations.summary(),
            "clients": self._clients.summary(),
            "prefix": self._prefix.summary(),
            "classes": dict(sorted(named, key=lambda each: -each[1])) or None,
            "fitted": self._fitted(span_s) if is_timed and self._prompt.count else None,
            "pictures": self._pictures(),
            "preview": self._preview,
        }

    def _pictures(self) -> dict[str, object]:
        """The rate over time, and how lengths are spread; None without rows that say so."""
        lengths = {"prompt_tokens": self._prompt, "output_tokens": self._output}
        return {
            "output_by_prompt": self._pairs.outputs(),
            "turns": self._conversations.turn_shares(),
            "clients": self._clients.cumulated_shares(),
            "rate": self._rates.series(PICTURE_WINDOWS) if self._last_ns > (self._first_ns or 0) else None,
            **{
                name: counted.shares(PICTURE_BINS, PICTURE_RATIO) if counted.count else None
                for name, counted in lengths.items()
            },
        }

    def _rate_summary(self, span_s: float) -> dict[str, object]:
        is_wall = self._reading.clock == "wall"
        return {
            "mean_rps": (self._rows - 1) / span_s,
            "peak_minute_to_mean": self._rates.peak_to_mean(60),
            "peak_hour_to_mean": self._rates.peak_to_mean(3_600),
            "dispersion_by_scale_s": {str(scale): self._rates.dispersion(scale) for scale in SCALES_S},
            "week_rps": self._rates.week_rps() if is_wall and span_s >= DAY_S else None,
            "growth_per_week": self._rates.daily_growth(),
        }

    def _gap_summary(self) -> dict[str, object]:
        gaps = self._gaps
        return {
            "mean_s": gaps.mean_s,
            "cv": gaps.cv(),
            "cv_without_gaps_over_10_s": gaps.short_cv(),
            "gaps_over_10_s": gaps.long,
            "zero_ratio": gaps.zero / gaps.count,
            "resolution_s": gaps.resolution_ns / NS_PER_S,
            "is_quantised": gaps.is_quantised,
        }

    def _length_summary(self) -> dict[str, object] | None:
        if not self._prompt.count:
            return None
        cached = self._cached.total / self._prompt.total if self._cached.count and self._prompt.total else None
        return {
            "prompt_tokens": _statistics(self._prompt),
            "output_tokens": _statistics(self._output),
            "cached_token_ratio": cached,
            "correlation": self._pairs.correlation(logs=False),
            "correlation_of_logs": self._pairs.correlation(logs=True),
        }

    def _fitted(self, span_s: float) -> dict[str, object]:
        """A `traffic` of the scenario schema that stands for the trace, and how close each part comes.

        Of a trace shorter than a day the rate is that of the peak hour and the week is not known: the shape is left
        constant, to be chosen. Otherwise the mean is that of the trace and the shape's peak that of its busiest hour.
        """
        prompt, prompt_fits = _chosen(*fit_lengths(self._prompt))
        output, output_fits = _chosen(*fit_lengths(self._output))
        mean_rps = float(f"{(self._rows - 1) / span_s:.6g}")
        arrival, arrival_fits = self._arrival(mean_rps)
        peak = self._rates.peak_to_mean(3_600) if span_s >= DAY_S else None
        shape = {"kind": "diurnal", "peak_to_mean": round(min(peak, 20.0), 3)} if peak else {"kind": "constant"}
        traffic: dict[str, object] = {
            "arrival": arrival, "shape": shape, "prompt_tokens": prompt, "output_tokens": output,
        }  # fmt: skip
        common = self._prefix.common_prefix_tokens()
        if 0 < common < self._prompt.mean / 2:
            traffic["prefix"] = {"kind": "shared", "groups": 1, "tokens": common}
        return {
            "traffic": traffic,
            "compared": compared(
                traffic, self._rates, self._rows, {"prompt_tokens": self._prompt, "output_tokens": self._output}
            ),
            "ks_distance": {"arrival": arrival_fits, "prompt_tokens": prompt_fits, "output_tokens": output_fits},
            "is_peak_hour": peak is None,
            "lost": _lost(self._pairs.correlation(logs=True), self._conversations.summary(), self._prefix.summary()),
        }

    def _arrival(self, mean_rps: float) -> tuple[dict[str, object], dict[str, float | None]]:
        """Gamma gaps where they come clearly closer than Poisson; Poisson where gaps say nothing."""
        if self._gaps.count < LEAST_GAPS_TO_FIT or self._gaps.is_quantised:
            return {"kind": "poisson", "mean_rps": mean_rps}, {"poisson": None, "gamma": None}
        distribution = self._gaps.distribution()
        if len(distribution.edges_s) < 2:
            return {"kind": "poisson", "mean_rps": mean_rps}, {"poisson": None, "gamma": None}
        gamma, poisson = fit_arrivals(distribution, self._gaps.mean_s, mean_rps)
        distances = {"poisson": poisson.ks_distance, "gamma": gamma.ks_distance}
        assert poisson.ks_distance is not None
        assert gamma.ks_distance is not None
        better = gamma.ks_distance < poisson.ks_distance - 0.01
        return (gamma if better else poisson).terms, distances


def _chosen(lognormal: Fit | None, empirical: Fit) -> tuple[dict[str, object], dict[str, float | None]]:
    distances = {"lognormal": lognormal.ks_distance if lognormal else None, "empirical": empirical.ks_distance}
    close = lognormal is not None and (lognormal.ks_distance or 0.0) <= GOOD_DISTANCE
    return (lognormal.terms if close and lognormal else empirical.terms), distances


def _lost(correlation: float | None, conversations: object, prefix: object) -> list[str]:
    """What the fitted profile does not carry over."""
    lost = []
    if correlation is not None and abs(correlation) > 0.1:
        lost.append(
            f"prompt and output lengths are drawn independently; in the trace their logs correlate {correlation:.2f}"
        )
    if conversations is not None:
        lost.append("conversations: turns arrive as requests of their own")
    if prefix is not None:
        lost.append("shared prefixes beyond the one that half of all prompts have")
    return lost


def _statistics(lengths: LengthHistogram) -> dict[str, float]:
    percentiles = {f"p{p}": lengths.quantile(p / 100) for p in (5, 25, 50, 75, 90, 95, 99)}
    return {"mean": lengths.mean, "std": lengths.std, "min": lengths.least, **percentiles, "max": lengths.most}


def _preview(chunk: Chunk, rows: int, first_ns: int) -> list[dict[str, object]]:
    return [
        {
            "row": int(chunk.row[i]),
            "arrival_s": (int(chunk.arrival_ns[i]) - first_ns) / NS_PER_S,
            "prompt_tokens": int(chunk.prompt_tokens[i]),
            "output_tokens": int(chunk.output_tokens[i]),
            "cached_tokens": int(chunk.cached_tokens[i]),
            "session": int(chunk.session[i]),
            "client": int(chunk.client[i]),
            "failed": bool(chunk.failed[i]),
        }
        for i in range(min(max(0, rows), len(chunk)))
    ]
