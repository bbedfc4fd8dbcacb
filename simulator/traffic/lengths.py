"""How long prompts and outputs are, in tokens: whole numbers of at least 1."""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from simulator.checks import checked, number_array
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import IntArray
from simulator.workload import MAX_TOKENS, whole_numbers

Z95 = 1.6448536269514722  # 95th percentile of the standard normal
MAX_P95_TO_MEAN = math.exp(Z95**2 / 2)  # 3.868: beyond it no lognormal has this mean and p95

MAX_MEAN_TO_P50 = 1_000_000

Lengths = Callable[[int, np.random.Generator], tuple[IntArray, IntArray]]
"""(count, rng) -> prompt and output lengths of that many requests."""
Tokens = Callable[[int, np.random.Generator], IntArray]
"""(count, rng) -> that many lengths."""


class CutTokens(NamedTuple):
    """Lengths cut to a context: `cut_ratio` is the share of requests that lost tokens."""

    prompt_tokens: IntArray
    output_tokens: IntArray
    cut_ratio: float


@checked
def fixed_tokens(tokens: int, count: int) -> IntArray:
    """`count` times the same length."""
    return np.full(require_int("count", count, 1, 10**9), require_int("tokens", tokens, 1, MAX_TOKENS), np.int64)


@checked
def uniform_tokens(low: int, high: int, count: int, rng: np.random.Generator) -> IntArray:
    """`count` lengths, each whole number from `low` to `high` (both included) equally likely."""
    low, high = require_int("low", low, 1, MAX_TOKENS), require_int("high", high, 1, MAX_TOKENS)
    if high < low:
        raise SimulatorError("out_of_range", "high", f"must be at least low ({low}), got {high}")
    return rng.integers(low, high + 1, require_int("count", count, 1, 10**9), dtype=np.int64)


@checked
def lognormal_parameters(mean: float, *, p95: float | None = None, p50: float | None = None) -> tuple[float, float]:
    """(mu, sigma) of the lognormal with this mean and p95, or this mean and median.

    ln(p95/mean) = z·sigma - sigma²/2 has two roots; the smaller is taken. p95/mean must lie in (1, 3.868];
    a median must be below the mean. Raises SimulatorError otherwise.
    """
    mean = require_number("mean", mean, 0.0, MAX_TOKENS, exclusive=True)
    if (p95 is None) == (p50 is None):
        raise SimulatorError("ambiguous", "p95", "give either p95 or p50 beside the mean")
    if p95 is not None:
        ratio = require_number("p95", p95, 0.0, MAX_TOKENS, exclusive=True) / mean
        if not 1.0 < ratio <= MAX_P95_TO_MEAN:
            raise SimulatorError(
                "no_such_lognormal", "p95", f"p95 / mean must be above 1 and at most 3.868, got {ratio:.3f}"
            )
        sigma = Z95 - math.sqrt(max(0.0, Z95**2 - 2.0 * math.log(ratio)))
    else:
        ratio = mean / require_number("p50", p50, 0.0, MAX_TOKENS, exclusive=True)
        if not 1.0 < ratio <= MAX_MEAN_TO_P50:
            raise SimulatorError(
                "no_such_lognormal", "p50", f"mean / median must be above 1 and at most {MAX_MEAN_TO_P50:,}"
            )
        sigma = math.sqrt(2.0 * math.log(ratio))
    return math.log(mean) - sigma**2 / 2, sigma


@checked
def lognormal_tokens(
    count: int,
    rng: np.random.Generator,
    *,
    mean: float,
    p95: float | None = None,
    p50: float | None = None,
    prefix_tokens: int = 0,
) -> IntArray:
    """`count` lognormal lengths by mean and p95 (or p50), rounded, at least 1.

    With a shared prefix the remainder is drawn, by the stated mean and percentile minus the prefix (both must stay
    positive), and the prefix is added again: the returned lengths are those of whole prompts.
    """
    prefix = require_int("prefix_tokens", prefix_tokens, 0, MAX_TOKENS)
    for field, value in (("mean", mean), ("p95", p95), ("p50", p50)):
        if prefix and value is not None and value <= prefix:
            raise SimulatorError("prefix_too_long", "prefix_tokens", f"must be below {field} ({value}), got {prefix}")
    mu, sigma = lognormal_parameters(
        mean - prefix, p95=None if p95 is None else p95 - prefix, p50=None if p50 is None else p50 - prefix
    )
    draws = rng.standard_normal(require_int("count", count, 1, 10**9))
    draws *= sigma  # in place: fresh pages cost more than the arithmetic
    draws += mu
    np.exp(draws, out=draws)
    np.rint(draws, out=draws)
    np.clip(draws, 1, MAX_TOKENS, out=draws)
    draws += prefix
    return draws.astype(np.int64)


@checked
def cdf_tokens(
    tokens: npt.ArrayLike, cumulative_ratio: npt.ArrayLike, count: int, rng: np.random.Generator
) -> IntArray:
    """`count` lengths from an empirical distribution: a share `cumulative_ratio[i]` has at most `tokens[i]`.

    Between the points the distribution is linear (inverse transform, then rounded); the first point holds its own
    share, so a first ratio above 0 is an atom at `tokens[0]`. Both lists must rise, the last ratio be 1.
    """
    values = whole_numbers("tokens", tokens, 1, MAX_TOKENS)
    ratios = number_array("cumulative_ratio", cumulative_ratio)
    if ratios.shape != values.shape or values.size == 0:
        raise SimulatorError("shape", "cumulative_ratio", "give as many ratios as tokens, at least one")
    if not (ratios >= 0).all() or (np.diff(ratios) < 0).any() or ratios[-1] != 1.0:
        raise SimulatorError("out_of_range", "cumulative_ratio", "must rise from at least 0 to 1")
    if (np.diff(values) < 0).any():
        raise SimulatorError("not_sorted", "tokens", "must be sorted")
    drawn = np.interp(rng.random(require_int("count", count, 1, 10**9)), ratios, values)
    return np.rint(drawn).astype(np.int64)


@checked
def independent_lengths(prompt_tokens: Tokens, output_tokens: Tokens) -> Lengths:
    """Prompt and output drawn apart, for example by `lambda count, rng: lognormal_tokens(count, rng, mean=...)`."""
    return lambda count, rng: (prompt_tokens(count, rng), output_tokens(count, rng))


@checked
def joint_lengths(prompt_tokens: npt.ArrayLike, output_tokens: npt.ArrayLike) -> Lengths:
    """Pairs drawn with replacement from observed ones (`empirical_tokens`)."""
    prompts, outputs = _observed(prompt_tokens, output_tokens)
    return lambda count, rng: empirical_tokens(prompts, outputs, count, rng)


@checked
def cut_lengths(lengths: Lengths, max_model_len: int) -> Lengths:
    """The same lengths, cut to a context (`cut_to_context`)."""
    limit = require_int("max_model_len", max_model_len, 2)
    return lambda count, rng: cut_to_context(*lengths(count, rng), limit)[:2]


@checked
def empirical_tokens(
    prompt_tokens: npt.ArrayLike, output_tokens: npt.ArrayLike, count: int, rng: np.random.Generator
) -> tuple[IntArray, IntArray]:
    """`count` (prompt, output) pairs drawn with replacement from observed pairs, so that their correlation stays."""
    prompts, outputs = _observed(prompt_tokens, output_tokens)
    chosen = rng.integers(0, prompts.size, require_int("count", count, 1, 10**9))
    return prompts[chosen], outputs[chosen]


def _observed(prompt_tokens: npt.ArrayLike, output_tokens: npt.ArrayLike) -> tuple[IntArray, IntArray]:
    prompts = whole_numbers("prompt_tokens", prompt_tokens, 1, MAX_TOKENS)
    outputs = whole_numbers("output_tokens", output_tokens, 1, MAX_TOKENS)
    if prompts.shape != outputs.shape or prompts.size == 0:
        raise SimulatorError("shape", "output_tokens", "observed prompts and outputs must be two equally long lists")
    return prompts, outputs


@checked
def cut_to_context(prompt_tokens: IntArray, output_tokens: IntArray, max_model_len: int) -> CutTokens:
    """Cut prompts so that one output token fits, then outputs so that the sum is at most `max_model_len`."""
    limit = require_int("max_model_len", max_model_len, 2)
    prompt_tokens = whole_numbers("prompt_tokens", prompt_tokens, 1, MAX_TOKENS)
    output_tokens = whole_numbers("output_tokens", output_tokens, 1, MAX_TOKENS)
    if prompt_tokens.size != output_tokens.size:
        raise SimulatorError("shape", "output_tokens", f"{output_tokens.size} outputs for {prompt_tokens.size} prompts")
    prompts = np.minimum(prompt_tokens, limit - 1)
    outputs = np.minimum(output_tokens, limit - prompts)
    cut = (prompts < prompt_tokens) | (outputs < output_tokens)
    return CutTokens(prompts, outputs, float(cut.mean()) if cut.size else 0.0)
