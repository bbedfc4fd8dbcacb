"""Names of the shared content of a workload's prompts, for the prefix cache."""

from dataclasses import dataclass

import numpy as np

from simulator.content import leading_tokens
from simulator.errors import SimulatorError
from simulator.kernels.prefix import Int32Array
from simulator.steptime import IntArray
from simulator.workload import BlockHashes, Workload

MANY = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Names:
    """Shared blocks by request: `blocks[i]` of them, named in `entries[first[i]:]`, `parts` blocks in a row by each.

    Names are the whole numbers below `count`; an entry is the first of its names.
    """

    entries: IntArray
    first: IntArray
    blocks: IntArray
    parts: int
    count: int

    def __post_init__(self) -> None:
        if self.count >= MANY:
            raise SimulatorError("too_large", "workload", "more than 2**31 shared blocks")

    def spans(self, entries_at: int) -> Int32Array:
        """[n, 2] as the arena holds them, where the entries begin at `entries_at`."""
        return np.column_stack((self.first + entries_at, self.blocks)).astype(np.int32)


def name_blocks(block_size: int, workload: Workload) -> Names:
    """The names of the workload's shared blocks."""
    if workload.block_hashes is not None:
        return _recorded(block_size, workload, workload.block_hashes)
    if workload.prefix_group is None:
        none = np.zeros(len(workload), np.int64)
        return Names(none[:0], none, none, MANY, 0)
    return _groups(block_size, workload, workload.prefix_group)


def _groups(block_size: int, workload: Workload, group: IntArray) -> Names:
    """Each group's blocks are named in a row, as many as its longest prefix has."""
    blocks = leading_tokens(workload) // block_size
    groups, dense = np.unique(group, return_inverse=True)
    longest = np.zeros(groups.size, np.int64)
    np.maximum.at(longest, dense, blocks)
    ends = np.cumsum(longest)
    return Names(ends - longest, dense.astype(np.int64), blocks, MANY, int(ends[-1]))


def _recorded(block_size: int, workload: Workload, hashes: BlockHashes) -> Names:
    parts = hashes.block_tokens // block_size
    known, dense = np.unique(hashes.ids, return_inverse=True)
    blocks = leading_tokens(workload) // block_size
    return Names(dense.astype(np.int64) * parts, hashes.offsets[:-1], blocks, parts, known.size * parts)
