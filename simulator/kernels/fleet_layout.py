"""What the router and the gangs find in the fast engine's memory at the start of a run."""

import numpy as np

from simulator.fleet import Fleet
from simulator.kernels import affinity
from simulator.kernels import state as s
from simulator.kernels.candidates import GANG_WORDS
from simulator.kernels.routers import ROUTERS
from simulator.kernels.runs import Int32Array
from simulator.kernels.tree import tree_words
from simulator.kernels.words import Words
from simulator.steptime import IntArray
from simulator.workload import Workload

KEEPING = ("session_affine", "kv_aware")


class FleetLayout:
    """Gangs, weights, and what the router remembers: `header` are fields of the fleet's record."""

    def __init__(self, fleet: Fleet, workload: Workload, words: Words, cache_words: Words) -> None:
        self.fleet, gangs = fleet, len(fleet.gangs)
        self.records_at = [words.take(s.GANG_SIZE) if len(numbers) > 1 else 0 for numbers in fleet.gangs]
        self.stages_at = [words.take(len(numbers)) for numbers in fleet.gangs]
        self.sent = SentLayout(fleet, workload, cache_words) if fleet.router == "prefix_affine" else None
        self.header = {
            s.ROUTER: ROUTERS[fleet.router],
            s.GANG_COUNT: gangs,
            s.GANGS: words.take(GANG_WORDS * gangs),
            s.CREDITS: words.take(gangs),
            s.LOADS: words.take(tree_words(gangs)),
            s.EVEN: len({pool.weight for pool in fleet.pools}) == 1,
            s.MATCH_PERCENT: fleet.match_percent,
            s.UNEVEN_REQUESTS: fleet.imbalance_requests,
            s.UNEVEN_PERCENT: fleet.imbalance_percent,
            s.OVERLAP_PERCENT: fleet.overlap_percent,
        } | (self.sent.header if self.sent else {})

    def write(self, m: IntArray, w: Int32Array) -> None:
        """Gangs, and the gangs' fields of the engines' records, whose table is complete."""
        for number, (numbers, gang) in enumerate(zip(self.fleet.gangs, self.records_at, strict=True)):
            engines = [int(m[m[s.RECORDS] + engine]) for engine in numbers]
            pool = self.fleet.pools[self.fleet.pool_of_replica[numbers[0]]]
            place = m[s.GANGS] + GANG_WORDS * number
            m[place], m[place + 1] = engines[0], pool.weight
            for engine in engines:
                m[engine + s.GANG], m[engine + s.GANG_NUMBER] = gang, number
            if gang:
                m[gang + s.KIND] = s.PIPELINE if pool.config.pipeline_stages > 1 else s.IN_STEP
                m[gang + s.LEADER], m[gang + s.MEMBERS] = engines[0], len(engines)
                m[gang + s.DUMMY_PS] = pool.step_time.step_ps(1, 1, 0, 0, 0)
                m[gang + s.STAGES] = self.stages_at[number]
        if self.sent:
            self.sent.write(w)

    def kept(self, workload: Workload) -> IntArray | None:
        """What stands in the column KEPT at the start, if the router has one."""
        return workload.column("session") if self.fleet.router in KEEPING else None


class SentLayout:
    """The memory of a prefix-affine router: see `affinity.py`."""

    def __init__(self, fleet: Fleet, workload: Workload, cache_words: Words) -> None:
        self.spans, self.names = np.zeros((len(workload), 2), np.int64), np.zeros(0, np.int64)
        kind, count, words_each, tokens = affinity.NOTHING, 0, len(fleet.gangs), 0
        hashes = workload.block_hashes
        if hashes is not None:
            kind, tokens, words_each = affinity.CHAINS, hashes.block_tokens, -(-len(fleet.gangs) // affinity.BITS)
            known, self.names = np.unique(hashes.ids, return_inverse=True)
            count = known.size
            self.spans[:, 0], self.spans[:, 1] = (
                hashes.offsets[:-1],
                np.minimum(np.diff(hashes.offsets), -(-workload.prompt_tokens // tokens)),
            )
        elif workload.prefix_group is not None and workload.prefix_tokens is not None:
            kind = affinity.GROUPS
            groups, self.spans[:, 0] = np.unique(workload.prefix_group, return_inverse=True)
            count = groups.size
            self.spans[:, 1] = np.where(workload.prefix_group >= 0, workload.prefix_tokens, 0)
        self.spans[workload.column("front_tokens") > 0, 1] = 0  # nobody else's prompt begins like theirs
        self.spans_at, self.names_at = cache_words.take(self.spans.size), cache_words.take(self.names.size)
        if hashes is not None:
            self.spans[:, 0] += self.names_at
        self.header = {
            s.SENT_KIND: kind,
            s.SENT_SPANS: self.spans_at,
            s.SENT: cache_words.take(count * words_each),
            s.SENT_WORDS: words_each,
            s.SENT_TOKENS: tokens,
        }

    def write(self, w: Int32Array) -> None:
        """What each request's content is called."""
        w[self.spans_at : self.spans_at + self.spans.size] = self.spans.ravel()
        w[self.names_at : self.names_at + self.names.size] = self.names
