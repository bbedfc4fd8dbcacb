"""A fleet driven from outside, step by step: requests are told as they come, and what happens to them is told back.

It is the reference engine. Whoever drives it owns the clock: it tells every request and every client that leaves up to
an instant, then asks for what happened until then. Steps are scheduled at the instants at which they begin, so what
comes later changes nothing of what was told before, and requests told live fare exactly as in `simulate_fleet`.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from simulator.checks import require_kind
from simulator.errors import SimulatorError, require_int
from simulator.fleet import Fleet
from simulator.records import FINISHED, REASONS
from simulator.reference.arrivals import LiveArrivals
from simulator.reference.content import Content
from simulator.reference.requests import Request
from simulator.reference.run import Run
from simulator.workload import MAX_TIME_PS, MAX_TOKENS

LIVE_ROUTERS = ("round_robin", "least_requests", "least_tokens", "kv_aware")
"""Those that need neither random draws nor a memory of all prompts."""


@dataclass(frozen=True, slots=True)
class Emitted:
    """Tokens of a request came out: one, or those that one step verified."""

    number: int
    at_ps: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Ended:
    """A request ended. outcome: as in EventLog; reason: in words, "" where it finished or its client left.

    cached_tokens: prompt tokens found in the prefix cache; preemptions: how often it fell
    """

    number: int
    at_ps: int
    outcome: int
    reason: str
    cached_tokens: int
    preemptions: int

    @property
    def finished(self) -> bool:
        """All its tokens came out."""
        return self.outcome == FINISHED


@dataclass(frozen=True, slots=True)
class LiveState:
    """Now: running and waiting requests, share of the KV blocks held."""

    running: int
    waiting: int
    kv_ratio: float


class LiveFleet:
    """Serves requests as they are told; times are picoseconds from the start and never go back.

    rng  for draft tokens (SimulatorError without it)

    Raises SimulatorError for a fleet that cannot be driven: disaggregated, with replicas that come and go, with a
    router that draws or remembers prompts, or with hits inside blocks.

    >>> from simulator import EngineConfig, Fleet, Pool, linear_step_time
    >>> config = EngineConfig(max_num_seqs=8, max_num_batched_tokens=256, num_blocks=100, max_model_len=512)
    >>> live = LiveFleet(Fleet((Pool(config, linear_step_time(config, step_ps=10_000_000_000)),)))
    >>> number = live.arrive(0, prompt_tokens=300, output_tokens=2)
    >>> [(type(event).__name__, event.at_ps // 10**9) for event in live.advance(25 * 10**9)]
    [('Emitted', 20)]
    >>> live.next_ps() // 10**9
    30
    """

    def __init__(self, fleet: Fleet, *, rng: np.random.Generator | None = None) -> None:
        require_kind("fleet", fleet, Fleet)
        _check(fleet)
        speculates = any(pool.config.speculation is not None for pool in fleet.pools)
        if speculates and rng is None:
            raise SimulatorError("missing", "rng", "which draft tokens are accepted is drawn at random")
        word = int(rng.integers(0, 2**32)) if speculates and rng is not None else 0
        self._arrivals = LiveArrivals(self._ended)
        self._contents = [
            _Blocks(pool.config.block_size) if pool.config.enable_prefix_caching else None for pool in fleet.pools
        ]
        self._run = Run(fleet, self._arrivals, self._contents, np.zeros((0, 2), np.int64), word)
        self._run.shared.emitted = self._emitted
        self._events: list[Emitted | Ended] = []
        self._told = 0
        self._leaving: set[int] = set()
        self._last_ps = 0

    def arrive(self, at_ps: int, prompt_tokens: int, output_tokens: int, block_keys: Sequence[int] = ()) -> int:
        """A request comes; returns its number.

        at_ps       not before the last arrival, nor before what was asked for by `advance`
        block_keys  names (0 or more) of its leading full blocks, prompt and output in chain order: a name stands for
                    the block and all before it. Blocks beyond them are like no other's. All pools need one block size

        Raises SimulatorError where a value is out of its range, or the time goes back.
        """
        at_ps = require_int("at_ps", at_ps, self._last_ps, MAX_TIME_PS)
        prompt = require_int("prompt_tokens", prompt_tokens, 1, MAX_TOKENS)
        output = require_int("output_tokens", output_tokens, 1, MAX_TOKENS)
        self._last_ps, number = at_ps, self._told
        self._told += 1
        for contents in self._contents:
            if contents is not None:
                contents.add(number, prompt + output, block_keys)
        self._arrivals.add(Request(number, at_ps, prompt, output, prompt))
        return number

    def leave(self, number: int, at_ps: int) -> None:
        """The client of a request has gone: it ends at the first boundary between two steps from then on.

        Nothing happens where it has ended. Raises SimulatorError where the time goes back.
        """
        at_ps = require_int("at_ps", at_ps, self._last_ps, MAX_TIME_PS)
        request = self._arrivals.here.get(number)
        if request is None:
            return
        request.leaves_ps = at_ps - 1
        self._leaving.add(number)
        self._run.shared.leaving = True

    def next_ps(self) -> int | None:
        """When something happens next, if nobody else comes; None when the fleet is idle."""
        return self._run.next_ps()

    def advance(self, to_ps: int) -> list[Emitted | Ended]:
        """All that happened up to and including `to_ps`, in order. Raises SimulatorError beyond 53 days."""
        while (instant_ps := self._run.next_ps()) is not None and instant_ps <= to_ps:
            self._run.advance()
        self._last_ps = max(self._last_ps, to_ps + 1)
        events, self._events = self._events, []
        return events

    def state(self) -> LiveState:
        """What the fleet holds now."""
        replicas = self._run.replicas
        held, blocks = (
            sum(replica.queues.pool.used for replica in replicas),
            sum(replica.config.num_blocks for replica in replicas),
        )
        return LiveState(
            sum(replica.running for replica in replicas), sum(replica.waiting for replica in replicas), held / blocks
        )

    def _emitted(self, request: Request, tokens: int, at_ps: int) -> None:
        self._events.append(Emitted(request.number, at_ps, tokens))

    def _ended(self, request: Request, at_ps: int) -> None:
        reason = REASONS[request.reason]
        self._events.append(
            Ended(request.number, at_ps, request.outcome, reason, request.cached_tokens, request.preemptions)
        )
        for contents in self._contents:
            if contents is not None:
                contents.forget(request.number)
        self._leaving.discard(request.number)
        self._run.shared.leaving = bool(self._leaving)


class _Blocks:
    """Names of the blocks of requests that are here."""

    def __init__(self, block_size: int) -> None:
        self._block_size, self._own = block_size, 0
        self._contents: dict[int, Content] = {}

    def add(self, number: int, tokens: int, keys: Sequence[int]) -> None:
        """Blocks without a name get one of their own, below zero."""
        full = tokens // self._block_size
        own = full - min(full, len(keys))
        self._contents[number] = Content((*keys[:full], *range(self._own - own, self._own)))
        self._own -= own

    def of(self, number: int) -> Content:
        """The blocks of request `number`."""
        return self._contents[number]

    def forget(self, number: int) -> None:
        """It has ended."""
        del self._contents[number]


def _check(fleet: Fleet) -> None:
    if fleet.router not in LIVE_ROUTERS:
        raise SimulatorError("incompatible", "router", f"must be one of {', '.join(LIVE_ROUTERS)} for live requests")
    if fleet.disaggregated:
        raise SimulatorError("incompatible", "transfer", "prefill and decode apart are not driven live")
    if fleet.controlled:
        raise SimulatorError("incompatible", "pools", "replicas that come and go are not driven live")
    if any(pool.config.partial_block_hits for pool in fleet.pools):
        raise SimulatorError("incompatible", "partial_block_hits", "live prompts are told in whole blocks")
    if len({pool.config.block_size for pool in fleet.pools if pool.config.enable_prefix_caching}) > 1:
        raise SimulatorError("incompatible", "block_size", "live prompts are told in blocks of one size")
