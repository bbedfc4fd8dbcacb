"""Names of the shared content of a workload's prompts, and the prefix cache's arrays at the start of a run."""

import numpy as np
import numpy.typing as npt

from simulator.config import EngineConfig
from simulator.errors import SimulatorError
from simulator.kernels.prefix import BEFORE, BEHIND, NO_CONTENT, Cache
from simulator.steptime import IntArray
from simulator.workload import BlockHashes, Workload

Int32Array = npt.NDArray[np.int32]


def make_cache(config: EngineConfig, workload: Workload, reason: npt.NDArray[np.int8]) -> Cache:
    """All blocks free in order of number, nothing cached; arrays of one entry where caching is off."""
    if not config.enable_prefix_caching:
        one = np.zeros(1, np.int32)
        square = np.zeros((1, 1), np.int32)
        return Cache(square, square, square, square, one, one, np.zeros((2, 1), np.int64), one, one)
    names, span, parts = _names(config, workload)
    width = _widest(config, workload, reason)
    if width * config.max_num_seqs > 2**30:
        raise SimulatorError("too_large", "max_num_seqs", "block tables of all seats together exceed 2**30 entries")
    block = np.zeros((2, config.num_blocks), np.int32)
    block[1] = NO_CONTENT
    return Cache(
        link=_queue(config.num_blocks),
        block=block,
        table=np.zeros((config.max_num_seqs, width), np.int32),
        own=np.full((config.max_num_seqs, width), -1, np.int32),
        where=np.full(max(1, (int(names.max()) + 1) * parts if names.size else 1), -1, np.int32),
        names=names if names.size else np.zeros(1, np.int32),
        span=span,
        anonymous=np.zeros(config.num_blocks, np.int32),
        parts=np.full(1, parts, np.int32),
    )


def _queue(blocks: int) -> Int32Array:
    link = np.empty((2, blocks + 1), np.int32)
    link[BEHIND] = np.arange(1, blocks + 2)
    link[BEHIND, blocks] = 0
    link[BEFORE] = np.arange(-1, blocks)
    link[BEFORE, 0] = blocks
    return link


def _widest(config: EngineConfig, workload: Workload, reason: npt.NDArray[np.int8]) -> int:
    tokens = (workload.prompt_tokens + workload.output_tokens)[reason == 0]
    return config.blocks_for(int(tokens.max())) if tokens.size else 1


def _names(config: EngineConfig, workload: Workload) -> tuple[Int32Array, IntArray, int]:
    """(names, span, parts) as in `Cache`."""
    if workload.block_hashes is not None:
        return _recorded_names(config, workload, workload.block_hashes)
    if workload.prefix_group is None or workload.prefix_tokens is None:
        return np.zeros(0, np.int32), np.zeros((2, len(workload)), np.int64), 1
    return _group_names(config, workload.prefix_group, workload.prefix_tokens)


def _group_names(config: EngineConfig, group: IntArray, tokens: IntArray) -> tuple[Int32Array, IntArray, int]:
    """Each group's blocks are named in a row, as many as its longest prefix has."""
    blocks = np.where(group >= 0, tokens // config.block_size, 0)
    groups, dense = np.unique(group, return_inverse=True)
    longest = np.zeros(groups.size, np.int64)
    np.maximum.at(longest, dense, blocks)
    first = np.concatenate(([0], np.cumsum(longest)))
    if first[-1] >= 2**31:
        raise SimulatorError("too_large", "prefix_tokens", "more than 2**31 shared blocks")
    return np.arange(first[-1], dtype=np.int32), np.stack((first[:-1][dense], blocks)), 1


def _recorded_names(config: EngineConfig, workload: Workload, hashes: BlockHashes) -> tuple[Int32Array, IntArray, int]:
    parts = hashes.block_tokens // config.block_size
    known, dense = np.unique(hashes.ids, return_inverse=True)
    if known.size * parts >= 2**31:
        raise SimulatorError("too_large", "block_hashes", "more than 2**31 shared blocks")
    recorded = np.diff(hashes.offsets) * parts
    blocks = np.minimum(recorded, workload.prompt_tokens // config.block_size)
    return dense.astype(np.int32), np.stack((hashes.offsets[:-1], blocks)), parts
