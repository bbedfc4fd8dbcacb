"""Step latencies of a measured source, sampled on a grid and solved for the form of `StepTimeTables`.

A step of T tokens, n decoding sequences and S tokens of context takes tokens(T) + seats(n) + context(n)·S, and with
prefill pair·P + prefill_step more (P query-key pairs). The source is asked for single steps only:

- decode: n sequences at several contexts. For each n a line in S, by least squares of the relative error, gives
  context(n) and an intercept tokens(n) + seats(n).
- prefill: T tokens as prompts of several lengths. What longer prompts of the same T cost more, over the pairs that
  they have more, gives pair (least squares of the relative error); of one prompt of T tokens, the rest is
  tokens(T) + prefill_step.

Only sums of tokens, seats and prefill_step can be told apart from the outside. Where decoding n sequences is quicker
than prefilling n tokens, the largest difference is put into prefill_step, so that no part is negative.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]

TOKEN_KNOTS: tuple[int, ...] = (
    *range(1, 1025),
    *(edge + step for edge in range(1024, 16385, 64) for step in (0, 1) if edge + step > 1024),
    *range(18432, 32769, 2048),
)
"""Every count up to 1024 and both sides of every multiple of 64 above: measured GEMM times jump where tiles fill up."""

SEAT_KNOTS: tuple[int, ...] = (*range(1, 17), *range(24, 257, 8), *range(288, 1025, 32), 1536, 2048, 3072, 4096)
CONTEXTS_TOKENS: tuple[int, ...] = (128, 512, 2048, 8192, 32768)
MOST_CONTEXT_TOKENS = 4_194_304
PAIR_TOKENS: tuple[int, ...] = (512, 1024, 2048, 4096, 8192, 16384)
SHORT_PROMPT_TOKENS = 256
MIXED_STEPS: tuple[tuple[int, int, int], ...] = tuple(
    (tokens, seats, prompt) for tokens in (512, 2048, 8192) for seats in (8, 64, 256) for prompt in (512, 2048)
)


class StepLatencies(Protocol):
    """A measured source: milliseconds of one step. `isl` is the prompt's length, or the context of a decode."""

    def predict_prefill_latency(self, bs: int, isl: int) -> float:
        """`bs` prompts of `isl` tokens each."""

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        """`gen_tokens` sequences, each with `isl` tokens of context, give their next token."""

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        """`ctx_tokens` of prompts of `isl` tokens each, beside `gen_tokens` decoding sequences of that context."""


@dataclass(frozen=True, slots=True)
class Residual:
    """Tabulated over sampled, as absolute errors in percent."""

    median_pct: float
    p90_pct: float
    samples: int


NOT_COMPARED = Residual(0.0, 0.0, 0)


@dataclass(frozen=True, slots=True)
class SiliconCurve:
    """The parts of a step in milliseconds at their knots; between knots they are straight lines.

    `context_ms` is per token of context, `pair_ms` per query-key pair of prefill. `decode`, `prefill` and `mixed` say
    how far the tabulation is from the samples; mixed steps are not fitted.
    """

    tokens: tuple[int, ...]
    tokens_ms: tuple[float, ...]
    seats: tuple[int, ...]
    seats_ms: tuple[float, ...]
    context_ms: tuple[float, ...]
    pair_ms: float
    prefill_step_ms: float
    decode: Residual = NOT_COMPARED
    prefill: Residual = NOT_COMPARED
    mixed: Residual = NOT_COMPARED

    def step_ms(self, tokens: int, seats: int, context: float, pairs: float) -> float:
        """One step, prefilling where `pairs` are given."""
        dense = float(straight(tokens, self.tokens, self.tokens_ms))
        if seats:
            dense += float(straight(seats, self.seats, self.seats_ms))
            dense += float(straight(seats, self.seats, self.context_ms)) * context
        return dense + (self.pair_ms * pairs + self.prefill_step_ms if pairs else 0.0)


def straight(at: NDArray[np.int64] | int, knots: Sequence[int], values: Sequence[float]) -> FloatArray:
    """Straight lines between knots, constant below the first, the last one continued beyond the last; never below 0."""
    at_all = np.asarray(at, dtype=np.float64)
    inside = np.interp(at_all, knots, values)
    slope = (values[-1] - values[-2]) / (knots[-1] - knots[-2])
    return np.maximum(np.where(at_all > knots[-1], values[-1] + slope * (at_all - knots[-1]), inside), 0.0)


class _Checked:
    """A source whose times are positive numbers."""

    def __init__(self, source: StepLatencies) -> None:
        self._source = source

    def predict_prefill_latency(self, bs: int, isl: int) -> float:
        return _positive(self._source.predict_prefill_latency(bs, isl))

    def decode_step_latency(self, gen_tokens: int, isl: int, osl: int) -> float:
        return _positive(self._source.decode_step_latency(gen_tokens, isl, osl))

    def mixed_step_latency(self, ctx_tokens: int, gen_tokens: int, isl: int, osl: int) -> float:
        return _positive(self._source.mixed_step_latency(ctx_tokens, gen_tokens, isl, osl))


def _positive(step_ms: float) -> float:
    if not 0 < step_ms < math.inf:
        raise ValueError(f"a step of {step_ms} ms")
    return step_ms


def sample_curve(source: StepLatencies) -> SiliconCurve:
    """Ask the source for about 2200 steps and solve for the parts.

    What the source raises passes through; ValueError where a time is not a positive number.
    """
    source = _Checked(source)
    pair_ms = _pair_ms(source)
    whole_ms = np.array([source.predict_prefill_latency(1, tokens) for tokens in TOKEN_KNOTS])
    whole_ms -= pair_ms * np.array([pairs_of(tokens, tokens) for tokens in TOKEN_KNOTS])
    lines = [_decode_line(source, seats) for seats in SEAT_KNOTS]
    seats_ms = np.array([intercept for intercept, _ in lines]) - np.interp(SEAT_KNOTS, TOKEN_KNOTS, whole_ms)
    shift = float(min(max(0.0, -seats_ms.min()), max(0.0, whole_ms.min())))
    parts = SiliconCurve(
        tokens=TOKEN_KNOTS,
        tokens_ms=_listed(whole_ms - shift),
        seats=SEAT_KNOTS,
        seats_ms=_listed(seats_ms + shift),
        context_ms=_listed(np.array([slope for _, slope in lines])),
        pair_ms=pair_ms,
        prefill_step_ms=shift,
    )
    return _compared(parts, source)


def pairs_of(tokens: int, prompt: int) -> float:
    """Query-key pairs of `tokens` tokens made of whole prompts of `prompt` tokens."""
    return tokens * (prompt + 1) / 2


def _listed(values: FloatArray) -> tuple[float, ...]:
    return tuple(float(value) for value in np.maximum(values, 0.0))


def _contexts(seats: int) -> tuple[int, ...]:
    """Contexts that such a batch could have in memory, at least two."""
    fitting = tuple(context for context in CONTEXTS_TOKENS if context * seats <= MOST_CONTEXT_TOKENS)
    return fitting if len(fitting) > 1 else CONTEXTS_TOKENS[:2]


def _decode_line(source: StepLatencies, seats: int) -> tuple[float, float]:
    """(intercept in ms, ms per token of context) of a batch; a slope below zero is taken as none."""
    contexts = _contexts(seats)
    context = np.array(contexts, dtype=np.float64) * seats
    step_ms = np.array([source.decode_step_latency(seats, isl, 1) for isl in contexts])
    lines = np.stack([np.ones_like(context), context], axis=1) / step_ms[:, None]
    intercept, slope = np.linalg.lstsq(lines, np.ones_like(context), rcond=None)[0]
    if slope < 0:
        return float(np.mean(1 / step_ms) / np.mean(1 / step_ms**2)), 0.0
    return float(intercept), float(slope)


def _pair_ms(source: StepLatencies) -> float:
    """Milliseconds per query-key pair: longer prompts beside shorter ones at the same number of tokens."""
    more_ms, more_pairs, whole_ms = [], [], []
    for tokens, prompt in _prompt_grid():
        if prompt > SHORT_PROMPT_TOKENS:
            step_ms = source.predict_prefill_latency(tokens // prompt, prompt)
            short_ms = source.predict_prefill_latency(tokens // SHORT_PROMPT_TOKENS, SHORT_PROMPT_TOKENS)
            more_ms.append(step_ms - short_ms)
            more_pairs.append(pairs_of(tokens, prompt) - pairs_of(tokens, SHORT_PROMPT_TOKENS))
            whole_ms.append(step_ms)
    weight = np.array(whole_ms) ** -2.0
    slope = float(np.sum(weight * np.array(more_ms) * more_pairs) / np.sum(weight * np.square(more_pairs)))
    return max(0.0, slope)


def _prompt_grid() -> list[tuple[int, int]]:
    """(tokens of the step, tokens of each prompt), prompts by powers of two up to the whole step."""
    return [
        (tokens, SHORT_PROMPT_TOKENS << doubling)
        for tokens in PAIR_TOKENS
        for doubling in range((tokens // SHORT_PROMPT_TOKENS).bit_length())
    ]


def _compared(curve: SiliconCurve, source: StepLatencies) -> SiliconCurve:
    """The curve with its distances from the samples."""
    decode = [
        (curve.step_ms(seats, seats, seats * context, 0), source.decode_step_latency(seats, context, 1))
        for seats in SEAT_KNOTS
        for context in _contexts(seats)
    ]
    prefill = [
        (
            curve.step_ms(tokens, 0, 0, pairs_of(tokens, prompt)),
            source.predict_prefill_latency(tokens // prompt, prompt),
        )
        for tokens, prompt in _prompt_grid()
    ]
    mixed = [
        (
            curve.step_ms(tokens + seats, seats, seats * prompt, pairs_of(tokens, prompt)),
            source.mixed_step_latency(tokens, seats, prompt, 1),
        )
        for tokens, seats, prompt in MIXED_STEPS
        if prompt <= tokens
    ]
    return replace(curve, decode=_residual(decode), prefill=_residual(prefill), mixed=_residual(mixed))


def _residual(pairs: Sequence[tuple[float, float]]) -> Residual:
    tabulated, sampled = np.array(pairs).T
    errors = 100.0 * np.abs(tabulated / sampled - 1.0)
    return Residual(float(np.median(errors)), float(np.quantile(errors, 0.9)), len(pairs))
