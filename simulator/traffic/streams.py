"""Traffic without end or beginning in memory: sources of requests, drawn and handed on block by block.

A source is called with a generator and gives workloads that continue each other in time. How it draws does not depend
on who asks for how much, so `stream` cuts the same requests, byte for byte, into chunks of any size. Memory holds a
block per source (65,536 requests; conversations: those under way) and the chunk being filled, however long the traffic.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int
from simulator.traffic.arrivals import BLOCK_REQUESTS, Arrivals
from simulator.traffic.lengths import Lengths
from simulator.traffic.merging import filled, join, merge_parts
from simulator.traffic.prefixes import Content, PrefixGroups
from simulator.workload import OPTIONAL_COLUMNS, Workload

Source = Callable[[np.random.Generator], Iterator[Workload]]
"""rng -> workloads that continue each other in time, all with the same columns."""


@checked
def plain_requests(arrivals: Arrivals, lengths: Lengths, content: Content | None = None) -> Source:
    """Requests that know nothing of each other: when they come, how long they are, what their prompts begin with."""

    def blocks(rng: np.random.Generator) -> Iterator[Workload]:
        arrival_rng, length_rng, content_rng = rng.spawn(3)
        for arrival_ps in arrivals(arrival_rng):
            prompt, output = lengths(arrival_ps.size, length_rng)
            block = Workload(arrival_ps, prompt, output)
            if content is None:
                yield block
                continue
            found = content(prompt, content_rng)
            yield (
                replace(block, **found._asdict())
                if isinstance(found, PrefixGroups)
                else replace(block, block_hashes=found)
            )

    return blocks


@checked
def recorded_requests(workload: Workload) -> Source:
    """The requests of a workload as they are (a trace, a batch), as one part of a mixture."""

    def blocks(rng: np.random.Generator) -> Iterator[Workload]:
        for start in range(0, len(workload), BLOCK_REQUESTS):
            yield workload.take(slice(start, start + BLOCK_REQUESTS))

    return blocks


@checked
def changed(source: Source, change: Callable[[Workload], Workload]) -> Source:
    """The source's requests after `change`, for example `with_front_token`; it must not depend on the cut."""
    return lambda rng: map(change, source(rng))


@checked
def labelled(
    source: Source, *, tenant: int | None = None, priority: int | None = None, deadline_ps: int | None = None
) -> Source:
    """The source's requests as those of one tenant, one priority, with one deadline; None leaves them as they are."""
    labels = {"tenant": tenant, "priority": priority, "deadline_ps": deadline_ps}
    given = {
        name: require_int(name, value, OPTIONAL_COLUMNS[name].low, OPTIONAL_COLUMNS[name].high)
        for name, value in labels.items()
        if value is not None
    }

    def change(workload: Workload) -> Workload:
        columns: dict[str, Any] = {name: np.full(len(workload), value, np.int64) for name, value in given.items()}
        return replace(workload, **columns)

    return changed(source, change)


@checked
def mixture(*sources: Source) -> Source:
    """Several classes of traffic at once, in order of arrival; `traffic_class` is the source's place.

    At one instant the source named first comes first. Sessions and shared content of different sources are kept
    apart; tenants and priorities are the caller's numbers. Each source draws from a generator of its own, so another
    one beside it changes nothing in its requests. Errors as of `merge_workloads`, and `ambiguous` for a source that
    has classes already.
    """
    if not sources:
        raise SimulatorError("empty", "sources", "give at least one source")

    def blocks(rng: np.random.Generator) -> Iterator[Workload]:
        heads = [
            _Head(place, source(own))
            for place, (source, own) in enumerate(zip(sources, rng.spawn(len(sources)), strict=True))
        ]
        for head in heads:
            head.pull()
        fields = _fields(heads)
        block_tokens = _block_tokens(heads)
        while any(head.waiting for head in heads):
            frontier_ps = min((head.reach_ps for head in heads if not head.ended), default=None)
            parts = [(head.place, part) for head in heads if (part := head.before(frontier_ps)) is not None]
            if parts:
                yield merge_parts([(place, filled(part, fields, block_tokens)) for place, part in parts], len(sources))
            for head in heads:
                if not head.ended and head.reach_ps == frontier_ps:
                    head.pull()

    return blocks


@checked
def stream(
    source: Source, rng: np.random.Generator, *, count: int | None = None, chunk_requests: int = BLOCK_REQUESTS
) -> Iterator[Workload]:
    """The first `count` requests (None: all, if the source ends) in chunks of `chunk_requests`, the last one shorter.

    The requests are the same for every chunk size. Raises SimulatorError `too_few`, after the last of them, where the
    source ends before `count`.
    """
    wanted = None if count is None else require_int("count", count, 1, 10**9)
    size = require_int("chunk_requests", chunk_requests, 1, 10**9)
    return _chunks(source(rng.spawn(1)[0]), wanted, size)


@checked
def generate(source: Source, rng: np.random.Generator, count: int | None = None) -> Workload:
    """The same requests as `stream`, in one workload."""
    chunks = list(stream(source, rng, count=count))
    if not chunks:
        raise SimulatorError("empty", "source", "brings no request at all")
    return join(chunks)


def _chunks(blocks: Iterator[Workload], wanted: int | None, size: int) -> Iterator[Workload]:
    kept: list[Workload] = []
    held = given = 0
    for block in blocks:
        start = 0
        while start < len(block) and given + held != wanted:
            room = size - held if wanted is None else min(size, wanted - given) - held
            piece = block.take(slice(start, start + room))
            kept.append(piece)
            held += len(piece)
            start += len(piece)
            if held == size or given + held == wanted:
                yield join(kept)
                given, held, kept = given + held, 0, []
        if given == wanted:
            return
    if kept:
        yield join(kept)
        given += held
    if wanted is not None and given < wanted:
        raise SimulatorError("too_few", "count", f"the traffic ends after {given} requests")


@dataclass(slots=True)
class _Head:
    """What a source of a mixture has given and nobody has taken yet."""

    place: int
    blocks: Iterator[Workload]
    waiting: list[Workload] = field(default_factory=list)
    ended: bool = False

    @property
    def reach_ps(self) -> int:
        """No request to come is earlier than this."""
        return int(self.waiting[-1].arrival_ps[-1]) if self.waiting else 0

    def pull(self) -> None:
        block = next(self.blocks, None)
        if block is None:
            self.ended = True
        elif block.traffic_class is not None:
            raise SimulatorError("ambiguous", "sources", "a source has classes already")
        else:
            self.waiting.append(block)

    def before(self, frontier_ps: int | None) -> Workload | None:
        """Take what arrives before the frontier, all without one; None where there is nothing."""
        if not self.waiting:
            return None
        held = join(self.waiting)
        count = len(held) if frontier_ps is None else int(np.searchsorted(held.arrival_ps, frontier_ps))
        self.waiting = [held.take(slice(count, None))] if count < len(held) else []
        return held.take(slice(count)) if count else None


def _fields(heads: Sequence[_Head]) -> list[str]:
    first = [head.waiting[0] for head in heads if head.waiting]
    return [name for name in OPTIONAL_COLUMNS if any(getattr(block, name) is not None for block in first)]


def _block_tokens(heads: Sequence[_Head]) -> int | None:
    first = [head.waiting[0].block_hashes for head in heads if head.waiting]
    return next((hashes.block_tokens for hashes in first if hashes is not None), None)
