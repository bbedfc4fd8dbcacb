"""What the gate and the engines' limits find in the fast engine's memory at the start of a run."""

import numpy as np

from simulator.admission import NO_LIMITS, NO_TIMEOUT_PS
from simulator.fleet import Fleet
from simulator.kernels import state as s
from simulator.kernels.gate import CAP, HELD_LINE, TENANT_SIZE
from simulator.kernels.runs import Int32Array
from simulator.kernels.tree import tree_words
from simulator.kernels.words import Words
from simulator.steptime import IntArray
from simulator.workload import NO_DEADLINE_PS, Workload


class GateLayout:
    """`header` are fields of the fleet's record, `times` and `counts` how many columns there are."""

    def __init__(self, fleet: Fleet, workload: Workload, words: Words) -> None:
        self.fleet, self.workload, self.admission = fleet, workload, fleet.admission
        self.limited = self.admission != NO_LIMITS
        self.times, self.counts = (s.LIMITED_TIMES, s.LIMITED_COUNTS) if self.limited else (0, 0)
        timeout_ps, most = self.admission.timeout_ps, self.admission.max_waiting
        self.header = {
            s.LIMITED: int(self.limited),
            s.EXPIRES: int(self.admission.expires),
            s.TIMEOUT: NO_TIMEOUT_PS if timeout_ps is None else timeout_ps,
            s.MAX_WAITING: s.FAR_PS if most is None else most,
        }
        self.tenants = np.zeros(0, np.int64)
        if self.admission.caps_tenants:
            self.tenants, self.number = np.unique(workload.column("tenant"), return_inverse=True)
            self.header |= {
                s.TENANTS: words.take(TENANT_SIZE * self.tenants.size),
                s.HOLDS: int(self.admission.over_cap == "hold"),
                s.HELD_TREE: words.take(tree_words(self.tenants.size)),
            }

    def write(self, m: IntArray) -> None:
        """Tenants, and the limits in the engines' records, whose table is complete."""
        for number, place in enumerate(self.fleet.pool_of_replica):
            rep = int(m[m[s.RECORDS] + number])
            m[rep + s.DUES] = s.NONE
            m[rep + s.KV_LIMIT] = self.admission.kv_limit_blocks(self.fleet.pools[place].config.member.num_blocks)
        for number, tenant in enumerate(self.tenants.tolist()):
            record = m[s.TENANTS] + TENANT_SIZE * number
            cap = self.admission.cap_of(tenant)
            m[record + CAP] = s.FAR_PS if cap is None else cap
            m[record + HELD_LINE] = m[record + HELD_LINE + 1] = s.NONE

    def write_columns(self, times: IntArray, counts: Int32Array) -> None:
        """Deadlines and tenants."""
        if self.limited:
            times[s.DEADLINE_PS] = self.workload.column("deadline_ps") if self.admission.deadlines else NO_DEADLINE_PS
        if self.tenants.size:
            counts[s.TENANT] = self.number
