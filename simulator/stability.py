"""Is a stationary load within what the replica can serve?"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from simulator.records import REJECTED, UNSERVABLE, EventLog
from simulator.steptime import PS_PER_S, IntArray

MIN_REQUESTS = 40


@dataclass(frozen=True, slots=True)
class Stability:
    """Verdict over a run under a stationary load, judged on the second half of the time until the last arrival.

    Requests that were turned away count nowhere.

    verdict               `steady`; `unstable`: the number in the system grew and the queue, or the one between
                          prefill and decode, never emptied; `unknown`: too few requests to tell
    offered_rps, served_rps, load_ratio   arrivals and departures per second in that half, and their quotient (rho)
    queue_growth_rps      how fast the number in the system grew, requests per second (0 when steady)
    replicas_needed       replicas like this one for the verdict to become steady: at least offered / served. None for
                          a log of several engines, which may be unequal: there the load ratio says by how much
                          capacity has to grow
    """

    verdict: Literal["steady", "unstable", "unknown"]
    offered_rps: float
    served_rps: float
    load_ratio: float
    queue_growth_rps: float
    replicas_needed: int | None


def judge_stability(log: EventLog, warmup_ratio: float = 0.0) -> Stability:
    """Judge the run from its columns; the first `warmup_ratio` of the requests are left out."""
    servable = (log.outcome != UNSERVABLE) & (log.outcome != REJECTED)
    arrivals = log.arrival_ps[servable]
    arrivals = arrivals[arrivals <= log.end_ps]
    window = arrivals[int(arrivals.size * warmup_ratio) :]
    if window.size < MIN_REQUESTS or window[-1] <= window[0]:
        return Stability("unknown", 0.0, 0.0, 0.0, 0.0, None)
    start, end = int(window[0]), int(window[-1])
    middle = (start + end) // 2
    ends = np.sort(log.finish_ps[servable & (log.finish_ps >= 0)])
    admitted = np.sort(log.admitted_ps[servable & (log.admitted_ps >= 0)])
    seconds = (end - middle) / PS_PER_S
    offered = _between(arrivals, middle, end) / seconds
    served = _between(ends, middle, end) / seconds
    # The queue fell behind if it never emptied and the system holds more at the end than in the middle; a server with
    # seats for everybody has no queue, and falls behind when the number in it keeps rising.
    behind = _in_system(arrivals, ends, end) > _in_system(arrivals, ends, middle)
    unstable = behind and (
        _never_empty(arrivals, admitted, middle, end)
        or _rising(arrivals, ends, start, end)
        or _piling_up_between(log, start, end)
    )
    alone = len(log.replicas) == 1
    if not unstable:
        return Stability("steady", offered, served, offered / served if served else math.inf, 0.0, 1 if alone else None)
    replicas = max(2, math.ceil(offered / served - 1e-9)) if served and alone else None
    return Stability("unstable", offered, served, offered / served if served else math.inf, offered - served, replicas)


def _between(times: IntArray, start: int, end: int) -> int:
    return int(np.searchsorted(times, end, "right") - np.searchsorted(times, start, "right"))


def _in_system(arrivals: IntArray, ends: IntArray, at: int) -> int:
    return int(np.searchsorted(arrivals, at, "right") - np.searchsorted(ends, at, "right"))


def _never_empty(arrivals: IntArray, admitted: IntArray, start: int, end: int) -> bool:
    """No instant in [start, end) at which everything that had arrived was admitted (admissions empty a queue)."""
    instants = admitted[(admitted >= start) & (admitted < end)]
    waiting = np.searchsorted(arrivals, instants, "right") - np.searchsorted(admitted, instants, "right")
    return bool((waiting > 0).all()) and _in_system(arrivals, admitted, start) > 0


def _piling_up_between(log: EventLog, start: int, end: int) -> bool:
    """Whether ever more requests wait between prefill and decode, for the link or for room.

    What a transfer takes without waiting is told from the fastest one, per token. In the second half somebody always
    waits, and in the last quarter half as many again as in the second.
    """
    sent = (log.transfer_ps > 0) & (log.first_token_ps >= 0)
    if np.count_nonzero(sent) < MIN_REQUESTS:
        return False
    taken = log.transfer_ps[sent]
    tokens = log.prompt_tokens[sent]
    waits = np.maximum(0, taken - np.rint((taken / tokens).min() * tokens).astype(np.int64))
    began = np.sort(log.first_token_ps[sent])
    left = np.sort(log.first_token_ps[sent] + waits)
    instants = np.linspace(start, end, 401).astype(np.int64)
    inside = np.searchsorted(began, instants, "right") - np.searchsorted(left, instants, "right")
    second, fourth = float(inside[100:200].mean()), float(inside[300:].mean())
    return bool(inside[200:].min() > 0) and fourth > 1.5 * second


def _rising(arrivals: IntArray, ends: IntArray, start: int, end: int) -> bool:
    """The mean number in the system rose from the second to the fourth quarter by more than chance arrivals explain."""
    instants = np.linspace(start, end, 401).astype(np.int64)
    inside = np.searchsorted(arrivals, instants, "right") - np.searchsorted(ends, instants, "right")
    second, fourth = float(inside[100:200].mean()), float(inside[300:].mean())
    chance = 3.0 * math.sqrt(_between(arrivals, start, end) / 2)
    return fourth - second > max(chance, 0.25 * second)
