"""What starting and losing replicas costs: requests that missed their targets while capacity was on its way."""

from dataclasses import dataclass

import numpy as np

from simulator.checks import checked
from simulator.metrics import GoodputSlo, meets
from simulator.records import EventLog


@dataclass(frozen=True, slots=True)
class RampMisses:
    """Requests that arrived while a replica was starting (a ramp, a cold start, a reload after a loss).

    starts, starting_s   replicas started or reloaded, and the time during which at least one was
    requests, missed     requests sent in that time, before the run ended, and those of them that missed a threshold
    missed_elsewhere     requests sent at other times that missed one
    paid_replica_hours   what all replicas were paid for, cold starts included
    """

    starts: int
    starting_s: float
    requests: int
    missed: int
    missed_elsewhere: int
    paid_replica_hours: float


@checked
def ramp_misses(log: EventLog, slo: GoodputSlo) -> RampMisses:
    """Count the misses of `slo` inside and outside the times at which a replica was starting."""
    inside = np.zeros(len(log), bool)
    starting_ps = covered_to_ps = 0
    for _, asked_ps, ready_ps in sorted(log.starts, key=lambda start: start[1]):
        inside |= (log.arrival_ps >= asked_ps) & (log.arrival_ps < ready_ps)
        starting_ps += max(0, min(ready_ps, log.end_ps) - max(asked_ps, covered_to_ps))
        covered_to_ps = max(covered_to_ps, ready_ps)
    sent = log.arrival_ps <= log.end_ps
    inside &= sent
    missed = sent & ~meets(log, slo)
    return RampMisses(
        starts=len(log.starts),
        starting_s=starting_ps / 1e12,
        requests=int(inside.sum()),
        missed=int((missed & inside).sum()),
        missed_elsewhere=int((missed & ~inside).sum()),
        paid_replica_hours=sum(replica.paid_ps for replica in log.replicas) / 3.6e15,
    )
