"""Hashed blocks of prompts: chains of them under numbers of their own, and a cache of them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable

import numpy as np

from planner.planning.importers import Blocks
from simulator import Workload

MOST_LOOKED_UP = 200_000


class BlockCache:
    """Blocks that prompts before had, the least recently used leaving first. most_blocks None: without limit."""

    def __init__(self, most_blocks: int | None) -> None:
        self._blocks: OrderedDict[int, None] = OrderedDict()
        self._most = most_blocks

    def look_up(self, ids: list[int]) -> int:
        """How many leading blocks of a prompt are found; afterwards all of them are there."""
        blocks = self._blocks
        found = next((place for place, block in enumerate(ids) if block not in blocks), len(ids))
        for block in reversed(ids):  # the head of a prompt is the last to go
            blocks[block] = None
            blocks.move_to_end(block)
        while self._most is not None and len(blocks) > self._most:
            blocks.popitem(last=False)
        return found


def cached_ratio(recorded: Workload, pool_tokens: int) -> float:
    """Share of prompt tokens that a cache of so many tokens finds, in the first `MOST_LOOKED_UP` blocks of a trace.

    Nothing of the other load on the cache is known here: the simulation finds less.
    """
    hashes = recorded.block_hashes
    assert hashes is not None
    cache = BlockCache(pool_tokens // hashes.block_tokens)
    found = prompts = 0
    for row, prompt in enumerate(recorded.prompt_tokens.tolist()):
        start, end = int(hashes.offsets[row]), int(hashes.offsets[row + 1])
        if end > MOST_LOOKED_UP and row:
            break
        found += min(cache.look_up(hashes.ids[start:end].tolist()) * hashes.block_tokens, prompt - 1)
        prompts += prompt
    return found / prompts


def chained(blocks: Blocks) -> Blocks:
    """The same blocks numbered 0, 1, ... in order of appearance, a number standing for a block and all before it.

    Records differ in whether an id hashes what stands before its block too; so numbered, they mean the same.
    """
    numbers: dict[tuple[int, int], int] = {}
    ids: list[int] = []
    given = blocks.ids.tolist()
    for start, end in zip(blocks.offsets[:-1].tolist(), blocks.offsets[1:].tolist(), strict=True):
        before = -1
        for block in given[start:end]:
            before = numbers.setdefault((before, block), len(numbers))
            ids.append(before)
    return Blocks(blocks.offsets, np.array(ids, dtype=np.int64))


def as_ranges(ids: Iterable[int]) -> str:
    """Numbers of blocks as text, runs of them by their ends: [0, 14, 15, 16] as "0 14-16"."""
    runs: list[tuple[int, int]] = []
    for block in ids:
        if runs and block == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], block)
        else:
            runs.append((block, block))
    return " ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
