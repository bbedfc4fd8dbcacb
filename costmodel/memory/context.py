"""How much context a server holds on average: the mean over token time, which is above that of the mean request."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def token_time_mean_context(prompt_tokens: npt.ArrayLike, output_tokens: npt.ArrayLike) -> float:
    """Mean context of a running sequence, from paired samples of prompt and output lengths.

    E[p n] / E[n] + E[n^2] / (2 E[n]) in tokens: a request is present in proportion to its output n, and holds its
    prompt p plus on average half of n. Raises ValueError on empty, unpaired or non-positive samples.
    """
    p, n = np.asarray(prompt_tokens, dtype=np.float64), np.asarray(output_tokens, dtype=np.float64)
    if not n.size or p.shape != n.shape:
        raise ValueError("prompt and output lengths must be paired and not empty")
    if not ((p >= 0).all() and (n > 0).all()):
        raise ValueError("lengths must be above zero")
    return float((p * n).mean() / n.mean() + (n * n).mean() / (2 * n.mean()))


def token_time_mean_context_from_moments(
    *, prompt_mean: float, output_mean: float, output_sd: float, covariance: float = 0.0
) -> float:
    """The same from moments: E[p n] = prompt_mean x output_mean + covariance, E[n^2] = output_sd^2 + output_mean^2."""
    if not (prompt_mean >= 0 and output_mean > 0 and output_sd >= 0):
        raise ValueError("means must be above zero and the deviation not below")
    held_prompt = prompt_mean + covariance / output_mean
    return held_prompt + (output_sd**2 + output_mean**2) / (2 * output_mean)
