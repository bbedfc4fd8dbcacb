"""A simulated fleet against the clock: requests enter when they come, and tokens go out when they are due."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

from planner.measure.clock import SPIN_S, call_at
from planner.planning.measuring.served import Ended, Served

PS_PER_S = 10**12
LATE_S = 0.005


@dataclass(slots=True)
class Sink:
    """Who gets a request's tokens: how many at a time, and the end. delay_ps: time outside the engine."""

    tokens: Callable[[int], None]
    end: Callable[[Ended], None]
    delay_ps: int
    arrival_ps: int = 0
    first_ps: int | None = None
    last_ps: int | None = None


@dataclass(slots=True)
class Totals:
    """Over some time. late: deliveries more than LATE_S late;  worst_late_s: of all."""

    deliveries: int = 0
    late: int = 0
    worst_late_s: float = 0.0

    def add(self, late_s: float) -> None:
        """One delivery more."""
        self.deliveries += 1
        self.late += late_s > LATE_S
        self.worst_late_s = max(self.worst_late_s, late_s)


class EngineClock:
    """Drives the fleet. speed: simulated seconds a second;  on_failure: called with what ends the simulation.

    Everything is told in the order of its time. The simulation itself is never late: what comes late are only its
    tokens, if this process lacks the time to send them, and that is counted.
    """

    def __init__(
        self, served: Served, *, speed: float = 1.0, spin_s: float = SPIN_S, on_failure: Callable[[str], None]
    ) -> None:
        self.served, self.live = served, served.start()
        self.totals, self._window = Totals(), Totals()
        self._loop = asyncio.get_running_loop()
        self._begun_s, self._speed, self._spin_s, self._on_failure = self._loop.time(), speed, spin_s, on_failure
        self._sinks: dict[int, Sink] = {}
        self._due: list[tuple[int, int, int, int | Ended]] = []
        self._order = 0
        self._reached_ps = -1
        self._timer: asyncio.Handle | None = None

    def now_ps(self) -> int:
        """Simulated time."""
        return self.at_ps(self._loop.time())

    def at_ps(self, at_s: float) -> int:
        """Simulated time at a time of the loop."""
        return int((at_s - self._begun_s) * self._speed * PS_PER_S)

    def submit(self, received_s: float, prompt_tokens: int, output_tokens: int, keys: Sequence[int], sink: Sink) -> int:
        """A request that came at this time of the loop. Returns its number."""
        arrival_ps = max(self.at_ps(received_s), self._reached_ps + 1)
        number = self.live.arrive(arrival_ps, prompt_tokens, output_tokens, keys)
        sink.arrival_ps = arrival_ps
        self._sinks[number] = sink
        self._tick()
        return number

    def leave(self, number: int) -> None:
        """Its client has gone."""
        if self._sinks.pop(number, None) is not None:
            self.live.leave(number, max(self.now_ps(), self._reached_ps + 1))
            self._arm()

    def take_late(self) -> Totals:
        """Deliveries since this was asked last."""
        window, self._window = self._window, Totals()
        return window

    def stop(self) -> None:
        """Nothing happens any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _tick(self) -> None:
        """What has happened up to now, and what is due."""
        now_ps = self.now_ps()
        if now_ps > self._reached_ps:
            try:
                events = self.live.advance(now_ps)
            except ValueError as error:  # beyond the 53 days that its clock holds
                self._on_failure(str(error))
                return
            self._reached_ps = now_ps
            for event in events:
                sink = self._sinks.get(event.number)
                if sink is None:
                    continue
                served = not isinstance(event, Ended) or event.finished
                self._order += 1
                what = event if isinstance(event, Ended) else event.tokens
                heappush(self._due, (event.at_ps + served * sink.delay_ps, self._order, event.number, what))
        try:
            self._deliver()
        finally:
            self._arm()

    def _deliver(self) -> None:
        while self._due and self._due[0][0] <= self.now_ps():
            due_ps, _, number, what = heappop(self._due)
            sink = self._sinks.get(number)
            if sink is None:
                continue
            late_s = (self.now_ps() - due_ps) / PS_PER_S / self._speed
            self.totals.add(late_s)
            self._window.add(late_s)
            if isinstance(what, Ended):
                del self._sinks[number]
                sink.end(what)
            else:
                sink.first_ps = due_ps if sink.first_ps is None else sink.first_ps
                sink.last_ps = due_ps
                sink.tokens(what)

    def _arm(self) -> None:
        """Wakes up for whatever comes first."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        following = [due[0] for due in self._due[:1]]
        next_ps = self.live.next_ps()
        if next_ps is not None:
            following.append(next_ps)
        if following:
            # One picosecond more, so that rounding cannot make it a moment too early.
            at_s = self._begun_s + (min(following) + 1) / PS_PER_S / self._speed
            self._timer = call_at(self._loop, at_s, self._tick, self._spin_s)
