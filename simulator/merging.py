"""Several workloads as one: their requests in order of arrival, each still known by its class."""

from collections.abc import Callable, Sequence

import numpy as np

from simulator.errors import SimulatorError
from simulator.steptime import IntArray
from simulator.workload import OPTIONAL_COLUMNS, BlockHashes, Workload


def merge_workloads(*workloads: Workload) -> Workload:
    """All requests by arrival time; at one instant those of the workload named first come first.

    `traffic_class` becomes the workload's place among the arguments, except for one whose requests have classes
    already: its class c becomes (the classes of those before it) + c, so merging merged workloads keeps all apart.
    Sessions and the content of prompts (groups, block ids) are each workload's own and are renumbered; tenants and
    priorities are the caller's numbers and stay. Every column of every request is kept.

    Raises SimulatorError: `empty` without a workload; `closed_loop` for one with a concurrency limit, which counts the
    ends of the whole run; `mixed_content` where some prompts have groups and others recorded hashes, or the recorded
    blocks differ in size.
    """
    if not workloads:
        raise SimulatorError("empty", "workloads", "give at least one workload")
    if any(workload.concurrency is not None for workload in workloads):
        raise SimulatorError("closed_loop", "concurrency", "a closed loop cannot be merged with other traffic")
    order = np.argsort(_joined(workloads, lambda workload: workload.arrival_ps), kind="stable")
    columns: dict[str, IntArray | None] = {
        field: _optional(workloads, field) for field in OPTIONAL_COLUMNS if field not in ("think_ps", "traffic_class")
    }
    columns["traffic_class"] = _classes(workloads)
    hashes = _hashes(workloads)
    if hashes is not None and columns["prefix_group"] is not None:
        raise SimulatorError("mixed_content", "block_hashes", "give all prompts groups, or all recorded hashes")
    return Workload(
        arrival_ps=_joined(workloads, lambda workload: workload.arrival_ps)[order],
        prompt_tokens=_joined(workloads, lambda workload: workload.prompt_tokens)[order],
        output_tokens=_joined(workloads, lambda workload: workload.output_tokens)[order],
        block_hashes=None if hashes is None else hashes.take(order),
        concurrency=None,
        **{field: None if values is None else values[order] for field, values in columns.items()},
    )


def _joined(workloads: Sequence[Workload], column: Callable[[Workload], IntArray]) -> IntArray:
    return np.concatenate([column(workload) for workload in workloads])


def _optional(workloads: Sequence[Workload], field: str) -> IntArray | None:
    if all(getattr(workload, field) is None for workload in workloads):
        return None
    parts = [workload.column(field) for workload in workloads]
    return _renumbered(parts) if field in ("prefix_group", "session") else np.concatenate(parts)


def _renumbered(parts: Sequence[IntArray]) -> IntArray:
    """Each part's numbers moved beyond those of the parts before it; -1 (none) stays."""
    first, moved = 0, []
    for part in parts:
        moved.append(np.where(part < 0, part, part + first))
        first += int(part.max(initial=-1)) + 1
    return np.concatenate(moved)


def _classes(workloads: Sequence[Workload]) -> IntArray:
    return _renumbered([workload.column("traffic_class") for workload in workloads])


def _hashes(workloads: Sequence[Workload]) -> BlockHashes | None:
    known = [workload.block_hashes for workload in workloads if workload.block_hashes is not None]
    if not known:
        return None
    if len({hashes.block_tokens for hashes in known}) > 1:
        raise SimulatorError("mixed_content", "block_hashes", "recorded blocks must be of one size")
    offsets, ids, first = [np.zeros(1, np.int64)], [], 0
    for workload in workloads:
        hashes = workload.block_hashes
        if hashes is None:
            offsets.append(np.full(len(workload), offsets[-1][-1]))
            continue
        own = hashes.ids[int(hashes.offsets[0]) : int(hashes.offsets[-1])]
        offsets.append(hashes.offsets[1:] - hashes.offsets[0] + offsets[-1][-1])
        ids.append(own + first)
        first += int(own.max(initial=-1)) + 1
    return BlockHashes(np.concatenate(offsets), np.concatenate(ids), known[0].block_tokens)
