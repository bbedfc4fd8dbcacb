"""Recorded traffic at another rate: squeezed in time, or thinned and multiplied in the same time."""

import math
from dataclasses import replace

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_number
from simulator.steptime import PS_PER_S, IntArray
from simulator.traffic.merging import in_time_order, with_own_numbers
from simulator.workload import MAX_TIME_PS, Workload

MAX_RATE_SCALE = 1000.0


@checked
def scaled_time(workload: Workload, rate_scale: float) -> Workload:
    """The same requests `rate_scale` times as fast: arrivals move from the first one, nothing else changes.

    Bursts and days become shorter by the same factor. Deadlines and think times stay.
    """
    scale = require_number("rate_scale", rate_scale, 0.0, 1e9, exclusive=True)
    arrival = np.rint((workload.arrival_ps - workload.arrival_ps[0]) / scale)
    if arrival[-1] > MAX_TIME_PS:
        raise SimulatorError("out_of_range", "rate_scale", "the last arrival lies beyond 26 days")
    return replace(workload, arrival_ps=arrival.astype(np.int64))


@checked
def scaled_rate(workload: Workload, rate_scale: float, rng: np.random.Generator, *, jitter_s: float = 60.0) -> Workload:
    """`rate_scale` times as many requests in the same time, so that days and weeks keep their length.

    The whole part of the scale is the number of copies (superposition); the fraction is one more, thinned to that
    share, every request kept by a chance of its own. The first copy keeps its times; others are moved by a uniform time
    within ± `jitter_s` (never before 0), since exact copies would come in pairs. Requests stay whole: prompt, output,
    tenant and class move together, and a conversation is kept, dropped and moved as one.

    Copies are other people's requests: their sessions, groups and recorded blocks are their own, so hit ratios stay
    those of the record where the cache is large enough. A closed loop has no rate to scale (`closed_loop`).
    """
    scale = require_number("rate_scale", rate_scale, 0.0, MAX_RATE_SCALE, exclusive=True)
    jitter_ps = require_number("jitter_s", jitter_s, 0.0, 1e6) * PS_PER_S
    if workload.concurrency is not None:
        raise SimulatorError("closed_loop", "workload", "a closed loop has no rate of its own")
    copies = math.ceil(scale)
    conversation, opening_ps = _conversations(workload)
    parts = []
    for number in range(copies):
        kept = np.flatnonzero(rng.random(opening_ps.size)[conversation] < scale - number)
        shift_ps = (2.0 * rng.random(opening_ps.size) - 1.0) * jitter_ps
        shift_ps = np.where(opening_ps + shift_ps < 0, -shift_ps, shift_ps)[conversation[kept]]
        if kept.size:
            part = with_own_numbers(workload.take(kept), number, copies)
            parts.append(part.sent_at(part.arrival_ps + np.rint(shift_ps).astype(np.int64)) if number else part)
    if not parts:
        raise SimulatorError("empty", "rate_scale", "no request is left")
    return in_time_order(parts)


def _conversations(workload: Workload) -> tuple[IntArray, IntArray]:
    """(the conversation of each request, the first arrival of each); a request without a session is one of its own."""
    session = workload.column("session")
    own = int(session.max()) + 1 + np.arange(session.size)
    _, first, dense = np.unique(np.where(session < 0, own, session), return_index=True, return_inverse=True)
    return dense, workload.arrival_ps[first]
