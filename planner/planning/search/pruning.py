"""Which candidates are simulated: all of a few, of many those that may be the cheapest by the closed form."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from planner.planning.search.candidates import Candidate, Job, divided
from planner.planning.search.options import Option, fleet_usd, hoped_usd
from planner.planning.search.pools import pool_rates

SIMULATED_WHOLE = 24
"""So many candidates or fewer are all simulated."""
SIMULATED_LEAST = 12
"""Of more, the cheapest so many by the closed form are simulated, whatever was found: the frontier is drawn through
them."""


POOLS_MOST = 8
"""So many fleets of prefill and decode pools are simulated at most, those that may cost least first."""


class PoolOrder:
    """Candidates with prefill and decode pools, by the least that they may cost, until none can be cheaper than what
    was found. The least: each pool rounded up to whole engines that are filled to the brim (`ApartRates.fewest`).
    """

    def __init__(self, job: Job, prepared: Sequence[Candidate]) -> None:
        self._least: Fraction | None = None
        self._taken = 0
        hoped = []
        for candidate in prepared:
            pools = divided(job, candidate)
            if pools is None or pools.replica is None:
                continue
            engines = pool_rates(pools.replica, job.load, job.targets).fewest(job.load.peak_rps)
            hoped.append((fleet_usd(job, pools.gpu, pools.gpus_per_replica, engines, pools.pools), pools.id, pools))
        self._hoped = sorted(hoped, key=lambda item: item[:2])[:POOLS_MOST]

    @property
    def likely(self) -> int:
        """How many are simulated at most."""
        return sum(1 for usd, *_ in self._hoped if self._least is None or usd < self._least)

    def __iter__(self) -> Iterator[Candidate]:
        while self._taken < len(self._hoped):
            usd, _, candidate = self._hoped[self._taken]
            if self._least is not None and usd >= self._least:
                return
            self._taken += 1
            yield candidate

    def found(self, usd: Fraction) -> None:
        """A simulated fleet costs this much."""
        self._least = usd if self._least is None else min(self._least, usd)

    def again(self, least: Fraction | None) -> None:
        """Go on from where it ended, with what the cheapest fleet costs by now, which may be more."""
        self._least = least


class Order:
    """Places of options in the order in which they are to be simulated, until no later one can be the cheapest.

    Owned accelerators come first and are all simulated: what they can take is asked as well. Where nothing else meets
    the targets, those follow that the closed form gives no rate: bursts may be dealt over a fleet. Each place comes
    once, however often the order is gone through.
    """

    def __init__(self, job: Job, options: Sequence[Option]) -> None:
        owned = job.scenario.hardware.owned_gpus
        hoped = {place: usd for place, option in enumerate(options) if (usd := hoped_usd(job, option)) is not None}
        self._least: Fraction | None = None
        self._taken: set[int] = set()
        self._owned = [place for place in hoped if options[place].candidate.gpu.accelerator.id in owned]
        self._others = sorted((usd, place) for place, usd in hoped.items() if place not in set(self._owned))
        self._hopeless = [
            place
            for place, option in enumerate(options)
            if option.candidate.reason and option.candidate.reason.code == "load"
        ]

    def __iter__(self) -> Iterator[int]:
        for place in self._wanted():
            if place not in self._taken:
                self._taken.add(place)
                yield place

    def _wanted(self) -> Iterator[int]:
        yield from self._owned
        for count, (usd, place) in enumerate(self._others):
            if count >= SIMULATED_LEAST and self._least is not None and usd > self._least:
                return
            yield place
        if self._least is None:
            yield from self._hopeless

    def found(self, usd: Fraction) -> None:
        """A simulated fleet costs this much."""
        self._least = usd if self._least is None else min(self._least, usd)

    def again(self, least: Fraction | None) -> None:
        """What the cheapest fleet costs by now, which may be more: a run of the whole, or the probability asked for,
        took more replicas."""
        self._least = least
