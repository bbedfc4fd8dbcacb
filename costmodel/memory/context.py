"""How much context a server holds on average: the mean over token time, which is above that of the mean request."""

from __future__ import annotations

from collections.abc import Sequence


def token_time_mean_context(prompt_tokens: Sequence[float], output_tokens: Sequence[float]) -> float:
    """Mean context of a running sequence, from paired samples of prompt and output lengths.

    E[p n] / E[n] + E[n^2] / (2 E[n]) in tokens: a request is present in proportion to its output n, and holds its
    prompt p plus on average half of n. Raises ValueError on empty, unpaired or non-positive samples.
    """
    if not len(prompt_tokens) or len(prompt_tokens) != len(output_tokens):
        raise ValueError("prompt and output lengths must be paired and not empty")
    pairs = [(float(p), float(n)) for p, n in zip(prompt_tokens, output_tokens, strict=True)]
    if any(not (p >= 0 and n > 0) for p, n in pairs):
        raise ValueError("lengths must be above zero")
    total = sum(n for _, n in pairs)
    return sum(p * n for p, n in pairs) / total + sum(n * n for _, n in pairs) / (2 * total)


def token_time_mean_context_from_moments(
    *, prompt_mean: float, output_mean: float, output_sd: float, covariance: float = 0.0
) -> float:
    """The same from moments: E[p n] = prompt_mean x output_mean + covariance, E[n^2] = output_sd^2 + output_mean^2."""
    if not (prompt_mean >= 0 and output_mean > 0 and output_sd >= 0):
        raise ValueError("means must be above zero and the deviation not below")
    held_prompt = prompt_mean + covariance / output_mean
    return held_prompt + (output_sd**2 + output_mean**2) / (2 * output_mean)
