"""Closed loop: so many users, each of whom waits for an answer, thinks, and asks again."""

import numpy as np

from simulator.checks import checked
from simulator.errors import require_int, require_number
from simulator.steptime import PS_PER_S, IntArray
from simulator.workload import MAX_TOKENS, Workload, whole_numbers

MAX_USERS = 10**7


@checked
def closed_loop(
    prompt_tokens: IntArray,
    output_tokens: IntArray,
    users: int,
    think_s: float = 0.0,
    rng: np.random.Generator | None = None,
) -> Workload:
    """The requests, in order, of `users` who think `think_s` between an answer and the next question.

    Without `rng` every think time is `think_s`; with it they are exponential with that mean. The users begin
    by thinking (spread evenly over one think time without `rng`), so that they do not all ask at once.

    Users think apart from each other, and requests are sent in order (see `Workload`), so that with X answers a
    second and a mean response time of R seconds X = users / (R + think_s): the interactive response time law.
    """
    limit = require_int("users", users, 1, MAX_USERS)
    prompt_tokens = whole_numbers("prompt_tokens", prompt_tokens, 1, MAX_TOKENS)
    think = require_number("think_s", think_s, 0.0, 1e6) * PS_PER_S
    count = len(prompt_tokens)
    if rng is None:
        think_ps = np.full(count, round(think), np.int64)
        begin = np.arange(1, limit + 1) / limit * think
    else:
        think_ps = np.rint(think * rng.standard_exponential(count)).astype(np.int64)
        begin = np.sort(think * rng.standard_exponential(limit))
    arrival = np.rint(begin[np.minimum(np.arange(count), limit - 1)]).astype(np.int64)
    return Workload(arrival, prompt_tokens, output_tokens, concurrency=limit, think_ps=think_ps)
