"""What waiting lines in another order than first come first served find in memory at the start of a run."""

import numpy as np

from simulator.config import FAIR_SCALE, LONGEST_PREFIX_REQUESTS, EngineConfig
from simulator.fleet import Fleet
from simulator.kernels import lines
from simulator.kernels import state as s
from simulator.kernels.runs import Int32Array
from simulator.kernels.words import Words
from simulator.records import NEVER
from simulator.steptime import IntArray
from simulator.workload import Workload

ORDERS = {"fcfs": 0, "priority": lines.BY_CLASS, "fair": lines.BY_TENANT, "longest_prefix": lines.BY_PREFIX}


class OrderLayout:
    """`header` are fields of the fleet's record, `times` and `counts` how many columns there are."""

    def __init__(self, fleet: Fleet, workload: Workload, cache_words: Words) -> None:
        self.fleet = fleet
        ordered = [pool.config for pool in fleet.pools if pool.config.order != "fcfs"]
        retracting = any(pool.config.scheduler == "sglang" for pool in fleet.pools)
        self.carries = fleet.controlled or bool(ordered) or retracting
        self.times, self.counts = (s.STRANDED_AT + 1, s.CARRIED_COUNTS) if self.carries else (0, 0)
        self.header = {s.CARRIES: int(self.carries)}
        self.owners, self.number = {}, {}
        for order, column in (("priority", "priority"), ("fair", "tenant")):
            if any(config.order == order for config in ordered):
                self.owners[order], self.number[order] = np.unique(workload.column(column), return_inverse=True)
        self.own = [
            cache_words.take(len(workload) * len(config.windows))
            if (config.order != "fcfs" or config.scheduler == "sglang") and config.enable_prefix_caching
            else 0
            for config in (pool.config for pool in fleet.pools)
        ]

    def fields(self, place: int, words: Words) -> dict[int, int]:
        """Fields of an engine of this pool."""
        config = self.fleet.pools[place].config
        if config.order == "fcfs":
            return {s.OWN: self.own[place]}
        count = self._owners_of(config).size
        return {
            s.ORDERED: ORDERS[config.order],
            s.OWNERS: words.take(lines.OWNER_SIZE * count),
            s.OWNER_COUNT: count,
            s.OWNER_COLUMN: s.CLASS if config.order == "priority" else s.TENANT,
            s.WAITERS: words.take(count),
            s.MOST_MATCHED: LONGEST_PREFIX_REQUESTS,
            s.OWN: self.own[place],
            s.WORST_FALLS: int(config.order == "priority" and config.scheduler == "vllm_v1"),
        }

    def _owners_of(self, config: EngineConfig) -> IntArray:
        return self.owners.get(config.order, np.zeros(1, np.int64))

    def write(self, m: IntArray) -> None:
        """What a token of each tenant counts; the table of engines' records is complete."""
        for number, place in enumerate(self.fleet.pool_of_replica):
            rep, config = int(m[m[s.RECORDS] + number]), self.fleet.pools[place].config
            if config.order != "fair":
                continue
            for place, tenant in enumerate(self._owners_of(config).tolist()):
                weight = config.tenant_weights[tenant] if tenant < len(config.tenant_weights) else 1
                m[m[rep + s.OWNERS] + lines.OWNER_SIZE * place + lines.UNIT] = FAIR_SCALE // weight

    def write_columns(self, times: IntArray, counts: Int32Array) -> None:
        """Whose each request is."""
        if self.carries:
            times[s.STRANDED_AT] = NEVER
        for order, number in self.number.items():
            counts[s.CLASS if order == "priority" else s.TENANT] = number
