"""What became of the requests of one step, and what that says: latencies, goodput, rates, saturation."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from planner.planning.search.targets import Judged, Latencies, Targets, judge
from simulator.statistics import SAMPLES_NEEDED, nearest_rank

FloatArray = npt.NDArray[np.float64]
ROSE_RATIO = 0.25
ROSE_DEVIATIONS = 3.0
LATE_MS = 10.0
"""A generator that sends later than this, or is held up longer, adds to the latencies that it measures."""
TIMER_MS = 1.1
"""So late timers come on an idle machine, as they are set in whole milliseconds."""
BUSY_RATIO = 0.9
SEVERAL_TOKENS = 1.05
INTERRUPTED = "interrupted"


@dataclass(slots=True)
class Answer:
    """One request as its client saw it; times in seconds on the clock of the step.

    intended_s   when it was meant to be sent: latencies count from here
    late_s       how much later the client got round to it
    first_s, last_s   when the first and the last chunk with text came; ended_s: when it was over, whatever came of it
    gaps_s       between chunks with text
    prompt_tokens, output_tokens, cached_tokens   the server's count; None where it sent none
    asked_prompt_tokens, asked_output_tokens      what was meant
    error        "" for a complete answer, else a stable word; detail: a sentence
    """

    intended_s: float
    asked_prompt_tokens: int
    asked_output_tokens: int
    late_s: float = 0.0
    first_s: float | None = None
    last_s: float | None = None
    ended_s: float | None = None
    gaps_s: list[float] = field(default_factory=list)
    chunks: int = 0
    prompt_tokens: int | None = None
    output_tokens: int | None = None
    cached_tokens: int | None = None
    error: str = ""
    detail: str = ""

    @property
    def done(self) -> bool:
        """A complete answer."""
        return not self.error and self.first_s is not None and self.last_s is not None

    @property
    def ttft_ms(self) -> float:
        """From the intended sending to the first text; infinite without an answer."""
        return (self.first_s - self.intended_s) * 1e3 if self.done and self.first_s is not None else math.inf

    @property
    def e2e_ms(self) -> float:
        """From the intended sending to the last text; infinite without an answer."""
        return (self.last_s - self.intended_s) * 1e3 if self.done and self.last_s is not None else math.inf

    @property
    def tpot_ms(self) -> float:
        """(last − first) / (tokens − 1): NaN for one token, or where the server did not count; infinite without
        an answer."""
        if not self.done or self.first_s is None or self.last_s is None:
            return math.inf
        if self.output_tokens is None or self.output_tokens < 2:
            return math.nan
        return (self.last_s - self.first_s) * 1e3 / (self.output_tokens - 1)


@dataclass(slots=True)
class Step:
    """Requests sent in one way for a while.

    rate_rps      open loop: the mean rate at which they were sent; concurrency: closed loop: how many at a time
    from_s, to_s  requests meant to be sent in between are judged; what came before is warm-up, what came after kept
                  the load up until they had ended
    stopped       why it ended early, "" if it did not;  saturated: more came than the server could take
    lags_ms       by how much a timer of the client came late, every 50 ms;  busy_ratio: CPU time over time
    """

    rate_rps: float | None
    concurrency: int | None
    from_s: float
    to_s: float
    answers: list[Answer] = field(default_factory=list)
    stopped: str = ""
    saturated: bool = False
    lags_ms: list[float] = field(default_factory=list)
    busy_ratio: float = 0.0

    @property
    def judged(self) -> list[Answer]:
        """Answers to requests of the window."""
        return [answer for answer in self.answers if self.from_s <= answer.intended_s < self.to_s]


def rose(step: Step) -> bool:
    """Whether the number in flight grew over the window by more than chance explains: in its last quarter more than in
    its second by a quarter, and by three times the root of half the arrivals."""
    if step.concurrency is not None or step.to_s <= step.from_s:
        return False
    arrivals = np.sort([answer.intended_s for answer in step.answers])
    ends = np.sort([answer.ended_s if answer.ended_s is not None else math.inf for answer in step.answers])
    instants = np.linspace(step.from_s, step.to_s, 401)
    inside = np.searchsorted(arrivals, instants, "right") - np.searchsorted(ends, instants, "right")
    second, fourth = float(inside[100:200].mean()), float(inside[300:].mean())
    came = int(np.searchsorted(arrivals, step.to_s) - np.searchsorted(arrivals, step.from_s))
    return fourth - second > max(ROSE_RATIO * second, ROSE_DEVIATIONS * math.sqrt(came / 2))


def client_limits(step: Step) -> list[str]:
    """Why the client, not the server, may have set these numbers; none where it was idle enough."""
    late_ms = _p99([answer.late_s * 1e3 for answer in step.answers])
    lag_ms = _p99(step.lags_ms)
    found = []
    if late_ms > LATE_MS:
        found.append(f"a hundredth of the requests was sent more than {late_ms:.0f} ms late")
    if lag_ms > LATE_MS:
        found.append(f"a hundredth of its timers came more than {lag_ms:.0f} ms late")
    if step.busy_ratio > BUSY_RATIO:
        found.append(f"it computed {step.busy_ratio:.0%} of the time")
    return found


def client_adds_ms(step: Step) -> float:
    """About how much the client itself adds to a first token, mean: what it sends late, and wakes up late to read."""
    late_ms = [answer.late_s * 1e3 for answer in step.answers]
    woken_ms = [max(0.0, lag - TIMER_MS) for lag in step.lags_ms]
    return (_mean(late_ms) or 0.0) + (_mean(woken_ms) or 0.0)


def _p99(values: Sequence[float]) -> float:
    return nearest_rank(np.sort(np.array(values)), 99) if values else 0.0


def pooled(answers: Sequence[Answer]) -> Latencies:
    """Latencies for judging targets: a request without a complete answer takes for ever."""
    gaps = np.array([gap * 1e3 for answer in answers if answer.done for gap in answer.gaps_s])
    return Latencies(
        ttft_ms=np.array([answer.ttft_ms for answer in answers]),
        tpot_ms=np.array([answer.tpot_ms for answer in answers]),
        e2e_ms=np.array([answer.e2e_ms for answer in answers]),
        itl_ms=gaps,
        itl_count=np.ones(len(gaps), np.int64),
    )


def goodput_limits_ms(targets: Targets) -> dict[str, float]:
    """Thresholds of one request: those of the scenario's goodput, else its highest percentile targets."""
    if targets.goodput_limits_ms:
        return targets.goodput_limits_ms
    return {t.metric: t.limit for t in targets.all if t.percentile is not None and t.metric != "itl"}


def passes(judged: Sequence[Judged], step: Step) -> bool | None:
    """Whether every target was met, and the server kept up and answered; None where too few were judged to say."""
    broken = step.stopped not in ("", INTERRUPTED)
    if step.saturated or broken or any(not each.met for each in judged if each.predicted is not None):
        return False
    return None if any(each.predicted is None for each in judged) else True


def step_row(step: Step, targets: Targets) -> dict[str, Any]:
    """One step as a measurement: its keys are those of `measurements.result.Run` where they mean the same.

    Rates are of what ended within the window, latencies of the requests that were meant to be sent in it and were
    answered; targets are judged with those that were not as infinite.
    """
    answers = step.judged
    done = [answer for answer in answers if answer.done]
    judged = judge(targets, pooled(answers))
    limits = goodput_limits_ms(targets)
    good = sum(_good(answer, limits) for answer in answers)
    window_s = max(0.0, step.to_s - step.from_s)
    errors = Counter(answer.error for answer in answers if answer.error)
    limited, adds_ms, statistics = client_limits(step), client_adds_ms(step), _statistics(done)
    first_ms = statistics.get("ttft", {}).get("p50")
    row: dict[str, Any] = {
        "label": _label(step),
        "offered_rps": step.rate_rps,
        "max_concurrency": step.concurrency,
        "duration_s": window_s,
        "sent": len(step.answers),
        "judged": len(answers),
        "failed": len(answers) - len(done),
        "errors": dict(sorted(errors.items())),
        "error_details": {error: _first_detail(answers, error) for error in sorted(errors)},
        **_rates(step, window_s),
        "goodput_ratio": good / len(answers) if answers and limits else None,
        "goodput_rps": good / window_s if window_s and limits else None,
        "latencies_ms": statistics,
        "tokens_per_chunk": _tokens_per_chunk(done),
        "asked_input_tokens_mean": _mean([answer.asked_prompt_tokens for answer in answers]),
        "asked_output_tokens_mean": _mean([answer.asked_output_tokens for answer in answers]),
        "cached_input_ratio": _cached_ratio(done),
        "targets": [
            {"target": each.target.label, "limit": each.target.limit, "measured": _finite(each.predicted),
             "met": each.met if each.predicted is not None else None, "samples": each.samples}
            for each in judged
        ],
        "passes": passes(judged, step),
        "saturated": step.saturated,
        "stopped": step.stopped,
        "client": {
            "late_p99_ms": _p99([answer.late_s * 1e3 for answer in step.answers]),
            "late_max_ms": max((answer.late_s * 1e3 for answer in step.answers), default=0.0),
            "lag_p99_ms": _p99(step.lags_ms),
            "busy_ratio": step.busy_ratio,
            "adds_ms": adds_ms,
            "adds_pct": 100 * adds_ms / first_ms if first_ms else None,
            "limited": limited,
        },
        "requests": _columns(answers),
    }  # fmt: skip
    return row


def _label(step: Step) -> str:
    return f"{step.rate_rps:.4g} requests/s" if step.rate_rps is not None else f"{step.concurrency} at a time"


def _good(answer: Answer, limits_ms: dict[str, float]) -> bool:
    values = {"ttft": answer.ttft_ms, "tpot": answer.tpot_ms, "e2e": answer.e2e_ms}
    return answer.done and not any(values[metric] > limit for metric, limit in limits_ms.items())


def _first_detail(answers: Sequence[Answer], error: str) -> str:
    return next((answer.detail for answer in answers if answer.error == error), "")


def _rates(step: Step, window_s: float) -> dict[str, Any]:
    """What ended within the window, whenever it was sent, and the mean number in flight."""
    ended = [a for a in step.answers if a.done and a.last_s is not None and step.from_s <= a.last_s < step.to_s]
    counted = bool(ended) and all(a.output_tokens is not None and a.prompt_tokens is not None for a in ended)
    row: dict[str, Any] = {
        "completed": len(ended),
        "input_tokens": sum(a.prompt_tokens or 0 for a in ended) if counted else None,
        "output_tokens": sum(a.output_tokens or 0 for a in ended) if counted else None,
        "request_rps": len(ended) / window_s if window_s else None,
        "mean_concurrency": _in_flight(step, window_s),
    }
    for name in ("input", "output"):
        total = row[f"{name}_tokens"]
        row[f"{name}_tokens_per_s"] = total / window_s if total is not None and window_s else None
    return row


def _in_flight(step: Step, window_s: float) -> float | None:
    """Mean number of requests between the intended sending and their end, over the window."""
    if not window_s:
        return None
    inside = 0.0
    for answer in step.answers:
        end_s = step.to_s if answer.ended_s is None else answer.ended_s
        inside += max(0.0, min(end_s, step.to_s) - max(answer.intended_s, step.from_s))
    return inside / window_s


def _statistics(done: Sequence[Answer]) -> dict[str, dict[str, float]]:
    values = {
        "ttft": [answer.ttft_ms for answer in done],
        "tpot": [answer.tpot_ms for answer in done],
        "itl": [gap * 1e3 for answer in done for gap in answer.gaps_s],
        "e2e": [answer.e2e_ms for answer in done],
    }
    found = {metric: statistics_ms(np.array(each)) for metric, each in values.items()}
    return {metric: statistics for metric, statistics in found.items() if statistics}


def statistics_ms(values: FloatArray) -> dict[str, float]:
    """Mean, spread and nearest-rank percentiles of the defined values; no percentile from fewer than it needs."""
    known = np.sort(values[np.isfinite(values)])
    if not known.size:
        return {}
    ranks = {f"p{p}": nearest_rank(known, p) for p, needed in SAMPLES_NEEDED.items() if known.size >= needed}
    return {
        "samples": float(known.size),
        "mean": float(known.mean()),
        "std": float(known.std()),
        "min": float(known[0]),
        "max": float(known[-1]),
        **ranks,
    }


def _tokens_per_chunk(done: Sequence[Answer]) -> float | None:
    counted = [answer for answer in done if answer.output_tokens is not None and answer.chunks]
    chunks = sum(answer.chunks for answer in counted)
    return sum(answer.output_tokens or 0 for answer in counted) / chunks if chunks else None


def _cached_ratio(done: Sequence[Answer]) -> float | None:
    counted = [a for a in done if a.cached_tokens is not None and a.prompt_tokens]
    total = sum(a.prompt_tokens or 0 for a in counted)
    return sum(a.cached_tokens or 0 for a in counted) / total if total else None


def _columns(answers: Sequence[Answer]) -> dict[str, list[Any]]:
    """One entry a request: null where it is not known."""
    return {
        "intended_s": [round(answer.intended_s, 6) for answer in answers],
        "late_ms": [round(answer.late_s * 1e3, 3) for answer in answers],
        "ttft_ms": [_rounded(answer.ttft_ms) for answer in answers],
        "tpot_ms": [_rounded(answer.tpot_ms) for answer in answers],
        "e2e_ms": [_rounded(answer.e2e_ms) for answer in answers],
        "itl_max_ms": [_rounded(max(answer.gaps_s) * 1e3) if answer.gaps_s else None for answer in answers],
        "chunks": [answer.chunks for answer in answers],
        "input_tokens": [answer.prompt_tokens for answer in answers],
        "output_tokens": [answer.output_tokens for answer in answers],
        "cached_tokens": [answer.cached_tokens for answer in answers],
        "error": [answer.error for answer in answers],
    }


def _rounded(value: float) -> float | None:
    return round(value, 4) if math.isfinite(value) else None


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
