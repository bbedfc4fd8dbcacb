"""Requests for the lesson's clock that are drawn instead of listed, and how many are in the system at each step."""

import math

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.lesson import MAX_REQUESTS, LessonRequest, LessonRun
from simulator.traffic.lengths import fixed_tokens, lognormal_tokens

MAX_SIGMA = 2.0
MAX_DRAWN_STEPS = 100_000


@checked
def drawn_requests(
    count: int, arrivals_per_step: float, mean_output_tokens: float, sigma: float, seed: int
) -> tuple[LessonRequest, ...]:
    """Poisson arrivals at a rate per step, lengths lognormal around a mean.

    arrivals_per_step   0: all of them stand in line at step 0
    sigma               standard deviation of the logarithm of the length; 0: all of the mean's length
    The same seed gives the same arrivals and the same order of long and short answers for every rate, mean and sigma,
    so that one of them can be moved by itself.
    """
    number = require_int("count", count, 1, MAX_REQUESTS)
    rate = require_number("arrivals_per_step", arrivals_per_step, 0.0)
    mean = require_number("mean_output_tokens", mean_output_tokens, 1.0)
    spread = require_number("sigma", sigma, 0.0)
    if spread > MAX_SIGMA:
        raise SimulatorError("out_of_range", "sigma", f"must be at most {MAX_SIGMA:g}, got {sigma:g}")
    if rate and number / rate > MAX_DRAWN_STEPS:
        raise SimulatorError("too_large", "count", f"together they would arrive over {number / rate:,.0f} steps")
    gaps, lengths = (np.random.default_rng(child) for child in np.random.SeedSequence(seed).spawn(2))
    waits = gaps.exponential(size=number)
    arrivals = np.floor(np.cumsum(waits) / rate).astype(np.int64) if rate else np.zeros(number, dtype=np.int64)
    if spread:
        tokens = lognormal_tokens(number, lengths, mean=mean, p50=mean * math.exp(-(spread**2) / 2))
    else:
        tokens = fixed_tokens(round(mean), number)
    return tuple(LessonRequest(int(step), int(length)) for step, length in zip(arrivals, tokens, strict=True))


def in_system(run: LessonRun) -> tuple[int, ...]:
    """Requests waiting or in a slot during each step, up to the last finish. Its mean is Little's L of the run."""
    change = np.zeros(run.makespan_steps + 1, dtype=np.int64)
    np.add.at(change, np.array(run.arrival_steps), 1)
    np.add.at(change, np.array(run.finish_steps), -1)
    return tuple(np.cumsum(change)[: run.makespan_steps].tolist())
