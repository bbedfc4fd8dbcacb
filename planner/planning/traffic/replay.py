"""A recorded trace as the requests that the simulator replays: who shares what with whom, and how fast it is played."""

from __future__ import annotations

from dataclasses import replace
from math import lcm

import numpy as np

from planner.planning.schema.traffic import Trace as TraceField
from planner.planning.traffic.traces import IntArray, Trace
from simulator import BlockHashes, Workload
from simulator.traffic.replay import scaled_rate, scaled_time

PS_PER_NS = 1_000
LEAST_BLOCK_TOKENS = 64
MAX_CONVERSATION_BLOCKS = 2_000_000


def replayed(trace: Trace, field: TraceField, seed: int) -> Workload:
    """The served requests of a trace in the order of arrival, played at the speed and in the copies asked for."""
    served = np.flatnonzero(trace.served)
    arrival_ps = (trace.arrival_ns[served] - trace.arrival_ns[served[0]]) * PS_PER_NS
    workload = Workload(
        arrival_ps=arrival_ps,
        prompt_tokens=np.maximum(1, trace.prompt_tokens[served]),
        output_tokens=trace.output_tokens[served],
        session=None if trace.session is None else trace.session[served],
    )
    if field.prefixes == "conversations" and trace.session is not None:
        workload = _with_history(workload)
    elif field.prefixes in (None, "recorded") and trace.blocks is not None:
        workload = replace(workload, block_hashes=trace.blocks.take(served))
    if field.copies is not None and field.copies != 1:
        workload = scaled_rate(workload, field.copies, np.random.default_rng([seed, 3]))
        workload = replace(workload, arrival_ps=workload.arrival_ps - workload.arrival_ps[0])
    return workload if field.speed in (None, 1) else scaled_time(workload, field.speed or 1)


def _with_history(workload: Workload) -> Workload:
    """Each turn begins with all that its conversation said before, where its prompt is long enough for that; a shorter
    one begins anew and shares nothing."""
    assert workload.session is not None
    told = workload.prompt_tokens + workload.output_tokens
    branch = _branches(workload.session.tolist(), workload.prompt_tokens.tolist(), told.tolist())
    size = LEAST_BLOCK_TOKENS
    while int((-(-told // size)).sum()) > MAX_CONVERSATION_BLOCKS:
        size *= 2
    blocks = -(-told // size)
    longest = np.zeros(int(branch.max()) + 1, dtype=np.int64)
    np.maximum.at(longest, branch, blocks)
    first = np.concatenate(([0], np.cumsum(longest)[:-1]))
    offsets = np.concatenate(([0], np.cumsum(blocks)))
    ids = np.repeat(first[branch] - offsets[:-1], blocks) + np.arange(offsets[-1])
    return replace(workload, block_hashes=BlockHashes(offsets, ids, size), recorded_tokens=told)


def _branches(sessions: list[int], prompts: list[int], told: list[int]) -> IntArray:
    """A number for the text that each request goes on with: its conversation's, or one of its own."""
    going_on: dict[int, tuple[int, int]] = {}
    branches: list[int] = []
    count = 0
    for session, prompt, whole in zip(sessions, prompts, told, strict=True):
        branch, before = going_on.get(session, (-1, 0)) if session >= 0 else (-1, 0)
        if branch < 0 or prompt < before:
            branch, count = count, count + 1
        if session >= 0:
            going_on[session] = (branch, whole)
        branches.append(branch)
    return np.array(branches, dtype=np.int64)


def fitting_blocks(hashes: BlockHashes, block_size: int) -> BlockHashes:
    """Recorded blocks as an engine with blocks of this size can find them again.

    Where its size does not divide the recorded one, an engine's block is known by the recorded block in which it ends,
    which stands for everything before it; what is left at the end of a prompt is not told.
    """
    if hashes.block_tokens % block_size == 0:
        return hashes
    per_row = np.diff(hashes.offsets) * hashes.block_tokens // block_size
    offsets = np.concatenate(([0], np.cumsum(per_row)))
    place = np.arange(offsets[-1]) - np.repeat(offsets[:-1], per_row)
    recorded = ((place + 1) * block_size - 1) // hashes.block_tokens
    most = lcm(hashes.block_tokens, block_size) // block_size
    ids = hashes.ids[np.repeat(hashes.offsets[:-1], per_row) + recorded] * most + place % most
    numbers = np.unique(ids, return_inverse=True)[1].astype(np.int64)
    return BlockHashes(offsets, numbers, block_size)
