"""Several workloads as one: their requests in order of arrival, each still known by its class."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError
from simulator.steptime import IntArray
from simulator.workload import OPTIONAL_COLUMNS, BlockHashes, Workload


@checked
def merge_workloads(*workloads: Workload) -> Workload:
    """All requests by arrival time; at one instant those of the workload named first come first.

    `traffic_class` becomes the workload's place among the arguments, except for one whose requests have classes
    already: its class c becomes (the classes of those before it) + c, so merging merged workloads keeps all apart.
    Sessions and the content of prompts (groups, block ids) are each workload's own: number x of the workload at place
    k of n becomes n·x + k. Tenants and priorities are the caller's numbers and stay. No column of a request is lost.

    Raises SimulatorError: `empty` without a workload; `closed_loop` for one with a concurrency limit, which counts the
    ends of the whole run; `mixed_content` where some prompts have groups and others recorded hashes, or the recorded
    blocks differ in size (see `as_block_hashes`).
    """
    if not workloads:
        raise SimulatorError("empty", "workloads", "give at least one workload")
    fields = [name for name in OPTIONAL_COLUMNS if any(getattr(one, name) is not None for one in workloads)]
    sizes = [one.block_hashes.block_tokens for one in workloads if one.block_hashes is not None]
    first, parts = 0, []
    for place, workload in enumerate(workloads):
        classes = workload.column("traffic_class") + first
        first = int(classes.max()) + 1
        whole = filled(workload, fields, sizes[0] if sizes else None)
        parts.append((place, replace(whole, traffic_class=classes)))
    return merge_parts(parts, len(workloads))


def merge_parts(parts: Sequence[tuple[int, Workload]], places: int) -> Workload:
    """Merge workloads with the same columns, each at its place among `places`: its class where it has no classes."""
    return in_time_order([_classed(with_own_numbers(workload, place, places), place) for place, workload in parts])


def in_time_order(workloads: Sequence[Workload]) -> Workload:
    """The requests of workloads with the same columns by arrival, at one instant in the order given; numbers stay."""
    if len(workloads) == 1:
        return workloads[0]
    return _joined(workloads, np.argsort(np.concatenate([one.arrival_ps for one in workloads]), kind="stable"))


def join(workloads: Sequence[Workload]) -> Workload:
    """Workloads with the same columns, one behind the other; their arrivals must continue each other."""
    return workloads[0] if len(workloads) == 1 else _joined(workloads, None)


def filled(workload: Workload, fields: Sequence[str], block_tokens: int | None) -> Workload:
    """The workload with these optional columns, and with recorded blocks of this size, be they defaults and empty."""
    if workload.concurrency is not None:
        raise SimulatorError("closed_loop", "concurrency", "a closed loop cannot be merged with other traffic")
    hashes = workload.block_hashes
    if block_tokens is not None and "prefix_group" in fields:
        raise SimulatorError("mixed_content", "block_hashes", "give all prompts groups, or all recorded hashes")
    if hashes is None and block_tokens is not None:
        hashes = BlockHashes(np.zeros(len(workload) + 1, np.int64), np.zeros(0, np.int64), block_tokens)
    elif hashes is not None and hashes.block_tokens != block_tokens:
        raise SimulatorError("mixed_content", "block_hashes", "recorded blocks must be of one size")
    columns: dict[str, Any] = {name: workload.column(name) for name in fields}
    return replace(workload, block_hashes=hashes, **columns)


def with_own_numbers(workload: Workload, place: int, places: int) -> Workload:
    """Sessions, groups and block ids renumbered so that they differ from those of the workloads at other places."""
    columns: dict[str, Any] = {}
    for name in ("prefix_group", "session"):
        values: IntArray | None = getattr(workload, name)
        if values is not None:
            columns[name] = np.where(values < 0, values, values * places + place)
    hashes = workload.block_hashes
    if hashes is not None:
        hashes = replace(hashes, ids=hashes.ids * places + place)
    return replace(workload, block_hashes=hashes, **columns)


def _classed(workload: Workload, place: int) -> Workload:
    if workload.traffic_class is not None:
        return workload
    return replace(workload, traffic_class=np.full(len(workload), place, np.int64))


def _joined(workloads: Sequence[Workload], order: IntArray | None) -> Workload:
    place = slice(None) if order is None else order

    first = workloads[0]
    names = ["arrival_ps", "prompt_tokens", "output_tokens", *OPTIONAL_COLUMNS]
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(workload, name) for workload in workloads])[place]
        for name in names
        if getattr(first, name) is not None
    }
    hashes = _joined_hashes([one.block_hashes for one in workloads if one.block_hashes is not None])
    if hashes is not None and order is not None:
        hashes = hashes.take(order)
    return replace(first, block_hashes=hashes, **columns)


def _joined_hashes(parts: Sequence[BlockHashes]) -> BlockHashes | None:
    if not parts:
        return None
    offsets = [np.zeros(1, np.int64)]
    for hashes in parts:
        offsets.append(hashes.offsets[1:] - hashes.offsets[0] + offsets[-1][-1])
    ids = [hashes.ids[int(hashes.offsets[0]) : int(hashes.offsets[-1])] for hashes in parts]
    return BlockHashes(np.concatenate(offsets), np.concatenate(ids), parts[0].block_tokens)
