"""What prompts share: how many of their tokens a prefix cache could find, how many it found, and why not the rest."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int
from simulator.records import NEVER, EventLog
from simulator.steptime import IntArray
from simulator.workload import Workload

Moment = Literal["finish", "first_token", "admitted"]


def check_block_size(workload: Workload, block_size: int) -> None:
    """Raise SimulatorError where recorded blocks cannot be cut into blocks of this size."""
    hashes = workload.block_hashes
    if hashes is not None and hashes.block_tokens % block_size:
        raise SimulatorError(
            "incompatible",
            "block_size",
            f"recorded blocks of {hashes.block_tokens} tokens need a block size that divides them",
        )


def told_tokens(workload: Workload) -> IntArray:
    """Tokens of each request, prompt and answer, whose content the workload tells: its group's, or recorded blocks'."""
    if workload.block_hashes is not None:
        told: IntArray = np.diff(workload.block_hashes.offsets) * workload.block_hashes.block_tokens
        recorded = workload.column("recorded_tokens")
        reach: IntArray = np.where(recorded < 0, workload.prompt_tokens, recorded)
        recorded_tokens: IntArray = np.clip(reach - workload.column("front_tokens"), 0, told)
        return recorded_tokens
    grouped: IntArray = np.where(workload.column("prefix_group") >= 0, workload.column("prefix_tokens"), 0)
    return grouped


def leading_tokens(workload: Workload) -> IntArray:
    """Those of `told_tokens` with which the request begins: none where tokens of its own stand in front."""
    leading: IntArray = np.where(workload.column("front_tokens") > 0, 0, told_tokens(workload))
    return leading


@checked
def shared_tokens(workload: Workload, *, isolate_tenants: bool = False) -> IntArray:
    """Prompt tokens of each request that an earlier request (of its tenant) had too, wherever they stand."""
    behind = workload.prompt_tokens - workload.column("front_tokens")
    shared: IntArray = np.minimum(behind, _seen_before(workload, told_tokens(workload), isolate_tenants))
    return shared


@checked
def shareable_tokens(workload: Workload, *, isolate_tenants: bool = False) -> IntArray:
    """Those with which both requests begin: what a prefix cache without limit could find."""
    seen = _seen_before(workload, leading_tokens(workload), isolate_tenants)
    shareable: IntArray = np.minimum(workload.prompt_tokens, seen)
    return shareable


@dataclass(frozen=True, slots=True)
class PrefixReuse:
    """Prompt tokens of the requests that were admitted, and what became of those that requests before them had too.

    shared_tokens = cached + front_differs + not_whole + not_computed + evicted:

    cached_tokens         found in the prefix cache
    front_differs_tokens  stand behind tokens of the prompt's own, so that no block is the same
    not_whole_tokens      at the end of what is shared, less than a block; or the last token, which is always computed
    not_computed_tokens   no request had computed them there (on that replica) when this one was admitted
    evicted_tokens        computed there before, and no longer found
    """

    prompt_tokens: int
    shared_tokens: int
    cached_tokens: int
    front_differs_tokens: int
    not_whole_tokens: int
    not_computed_tokens: int
    evicted_tokens: int

    @property
    def shared_ratio(self) -> float:
        """Share of the prompt tokens that a request before had too."""
        return self.shared_tokens / self.prompt_tokens if self.prompt_tokens else 0.0

    @property
    def cached_ratio(self) -> float:
        """Share of the prompt tokens that were found in the cache."""
        return self.cached_tokens / self.prompt_tokens if self.prompt_tokens else 0.0


@checked
def prefix_reuse(
    workload: Workload, log: EventLog, block_size: int, *, isolate_tenants: bool = False, partial: bool = False
) -> PrefixReuse:
    """Where the shared tokens of a run's prompts went; `log` is the run of `workload`.

    block_size       of the prefix cache;  partial: it finds parts of blocks too (`partial_block_hits`)
    isolate_tenants  as the engine was told

    Raises SimulatorError where the block size does not divide recorded blocks, or the log is another workload's.
    """
    block_size = require_int("block_size", block_size, 1)
    check_block_size(workload, block_size)
    if not np.array_equal(log.prompt_tokens, workload.prompt_tokens):
        raise SimulatorError("incompatible", "log", "is of another workload: prompts differ")
    admitted = np.flatnonzero(log.admitted_ps != NEVER)
    cached = log.cached_tokens[admitted]
    shared = np.maximum(shared_tokens(workload, isolate_tenants=isolate_tenants)[admitted], cached)
    shareable = np.maximum(shareable_tokens(workload, isolate_tenants=isolate_tenants)[admitted], cached)
    unit = 1 if partial else block_size
    possible = np.maximum(np.minimum(shareable, workload.prompt_tokens[admitted] - 1) // unit * unit, cached)
    computed = np.clip(_computed_before(workload, log, isolate_tenants)[admitted] // unit * unit, cached, possible)
    return PrefixReuse(
        prompt_tokens=int(workload.prompt_tokens[admitted].sum()),
        shared_tokens=int(shared.sum()),
        cached_tokens=int(cached.sum()),
        front_differs_tokens=int((shared - shareable).sum()),
        not_whole_tokens=int((shareable - possible).sum()),
        not_computed_tokens=int((possible - computed).sum()),
        evicted_tokens=int((computed - cached).sum()),
    )


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The told content of requests, in pieces: request, name and tokens of each, a request's pieces in order.

    A request has as many as `first[r + 1] - first[r]`; only a last one may have fewer than `size` tokens. Pieces of one
    name begin alike, and so do all before them.
    """

    request: IntArray
    name: IntArray
    tokens: IntArray
    first: IntArray
    size: int


def _pieces(workload: Workload, told: IntArray, isolate_tenants: bool) -> _Pieces:
    hashes = workload.block_hashes
    count = np.arange(len(workload))
    size = int(told.max()) + 1 if hashes is None else hashes.block_tokens
    pieces = -(-told // size)
    first = np.concatenate(([0], np.cumsum(pieces)))
    request = np.repeat(count, pieces)
    place = np.arange(first[-1]) - first[request]
    name = workload.column("prefix_group")[request] if hashes is None else hashes.ids[hashes.offsets[request] + place]
    if isolate_tenants and name.size:
        name = np.unique(np.stack((workload.column("tenant")[request], name)), axis=1, return_inverse=True)[1].ravel()
    return _Pieces(request, name, np.minimum(told[request] - place * size, size), first, size)


def _seen_before(workload: Workload, told: IntArray, isolate_tenants: bool) -> IntArray:
    """Leading tokens of the told content that a request of a smaller number had."""
    pieces = _pieces(workload, told, isolate_tenants)
    order = np.lexsort((pieces.request, pieces.name))
    name, tokens = pieces.name[order], pieces.tokens[order]
    # The greatest so far under each name: names are lifted above each other, so that one running maximum does for all.
    lift = np.cumsum(np.concatenate(([0], name[1:] != name[:-1]))) * (pieces.size + 1) if name.size else name
    before = np.concatenate(([0], np.maximum.accumulate(tokens + lift)[:-1])) - lift if name.size else name
    matched = np.empty_like(tokens)
    matched[order] = np.clip(before, 0, tokens)
    return _leading_sums(matched, pieces)


def _leading_sums(matched: IntArray, pieces: _Pieces) -> IntArray:
    """For each request the matched tokens of its pieces up to the first that is not matched whole."""
    whole = np.concatenate(([0], np.cumsum(matched == pieces.size)))
    unbroken = whole[np.arange(matched.size)] - whole[pieces.first[pieces.request]]
    place = np.arange(matched.size) - pieces.first[pieces.request]
    sums = np.concatenate(([0], np.cumsum(np.where(unbroken == place, matched, 0))))
    return sums[pieces.first[1:]] - sums[pieces.first[:-1]]


def _computed_before(workload: Workload, log: EventLog, isolate_tenants: bool) -> IntArray:
    """Leading tokens that a request on the same replica had computed at each one's admission.

    A prompt is computed when the first token is out, an answer when it is finished.
    """
    pieces = _pieces(workload, leading_tokens(workload), isolate_tenants)
    names, tokens = pieces.name.tolist(), pieces.tokens.tolist()
    prompts = workload.prompt_tokens.tolist()
    replica = log.replica.tolist()
    known: dict[tuple[int, int], int] = {}
    found = np.zeros(len(workload), np.int64)
    for number, kind in _moments(log):
        first = int(pieces.first[number])
        for piece in range(first, pieces.first[number + 1]):
            key = (replica[number], names[piece])
            before = known.get(key, 0)
            if kind != "admitted":
                prompt = prompts[number] - (piece - first) * pieces.size if kind == "first_token" else tokens[piece]
                known[key] = max(before, min(tokens[piece], prompt))
                continue
            found[number] += min(before, tokens[piece])
            if before < pieces.size:
                break
    return found


def _moments(log: EventLog) -> Iterator[tuple[int, Moment]]:
    """Requests and what happens to them, in time; ends come before begins."""
    moments = np.concatenate((log.finish_ps, log.first_token_ps, log.admitted_ps))
    kinds = get_args(Moment)
    for moment in np.argsort(moments, kind="stable").tolist():
        if moments[moment] != NEVER:
            yield moment % len(log), kinds[moment // len(log)]
