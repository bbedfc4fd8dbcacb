"""The shared content of a workload's requests, in numbered pieces, for the prefix cache."""

from dataclasses import dataclass

import numpy as np

from simulator.config import EngineConfig
from simulator.content import leading_tokens
from simulator.errors import SimulatorError
from simulator.kernels.runs import Int32Array
from simulator.steptime import IntArray
from simulator.workload import BlockHashes, Workload

MANY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Names:
    """Shared content by request: `tokens[i]` of them, in the pieces `entries[first[i]:]`, `parts` blocks each.

    An entry is a piece's number, below `count`; it stands for the piece and all before it.
    """

    entries: IntArray
    first: IntArray
    tokens: IntArray
    parts: int
    count: int

    def __post_init__(self) -> None:
        if self.count >= MANY:
            raise SimulatorError("too_large", "workload", "more than 2**31 pieces of shared content")

    def spans(self, entries_at: int) -> Int32Array:
        """[n, 2] as the arena holds them, where the entries begin at `entries_at`."""
        return np.column_stack((self.first + entries_at, self.tokens)).astype(np.int32)


def name_blocks(config: EngineConfig, workload: Workload) -> Names:
    """The shared content of the workload's requests."""
    tokens = leading_tokens(workload)
    tenant = workload.column("tenant") if config.isolate_tenants else np.zeros(len(workload), np.int64)
    if workload.block_hashes is not None:
        return _recorded(config.block_size, tokens, tenant, workload.block_hashes)
    return _groups(tokens, tenant, workload.column("prefix_group"))


def _groups(tokens: IntArray, tenant: IntArray, group: IntArray) -> Names:
    """Each group is one piece."""
    count, dense = _numbered(tenant, group)
    return Names(np.arange(count), dense, tokens, MANY, count)


def _recorded(block_size: int, tokens: IntArray, tenant: IntArray, hashes: BlockHashes) -> Names:
    parts = hashes.block_tokens // block_size
    lengths = np.diff(hashes.offsets)
    count, dense = _numbered(np.repeat(tenant, lengths), hashes.ids[int(hashes.offsets[0]) : int(hashes.offsets[-1])])
    return Names(dense, hashes.offsets[:-1] - hashes.offsets[0], tokens, parts, count)


def _numbered(tenant: IntArray, content: IntArray) -> tuple[int, IntArray]:
    """(How many, number of each) different pairs."""
    known, dense = np.unique(content, return_inverse=True)
    if tenant.any():
        pairs, dense = np.unique(tenant * known.size + dense, return_inverse=True)
        return pairs.size, dense.astype(np.int64)
    return known.size, dense.astype(np.int64)
