"""Which replica, and which of its engines, an arriving request is sent to, by the rules of `simulator.fleet.Fleet`."""

from collections.abc import Sequence
from fractions import Fraction

from simulator.fleet import Fleet
from simulator.hashing import mixed
from simulator.records import NO_POOL
from simulator.reference.gangs import Gang
from simulator.reference.prefixes import SentPrefixes
from simulator.reference.replica import Replica
from simulator.reference.requests import Request, unservable_reason
from simulator.steptime import IntArray
from simulator.workload import Workload


class Routing:
    """The router and its memory, for some of the fleet's replicas.

    draws     two random numbers per request, for routers that draw
    workload  whose prompts a router remembers; None where it need not
    """

    def __init__(self, fleet: Fleet, gangs: Sequence[Gang], workload: Workload | None, draws: IntArray) -> None:
        self.fleet, self.gangs, self.draws = fleet, gangs, draws
        self.credit = {gang.number: 0 for gang in gangs}
        self.sent = None if workload is None else SentPrefixes(workload, gangs[-1].number + 1)

    def candidates(self, prompt_tokens: int, output_tokens: int) -> list[Gang]:
        """Replicas that take prompts of this length and can serve the request, in order."""
        return [gang for gang in self.gangs if not self._refusal(gang, prompt_tokens, output_tokens)]

    def unservable_reason(self, prompt_tokens: int, output_tokens: int) -> int:
        """Why there is no candidate: the reason of the first pool that takes prompts of this length, if one does."""
        reasons = [self._refusal(gang, prompt_tokens, output_tokens) for gang in self.gangs]
        return next((reason for reason in reasons if reason != NO_POOL), NO_POOL)

    def _refusal(self, gang: Gang, prompt_tokens: int, output_tokens: int) -> int:
        member = gang.members[0]
        pool = self.fleet.pools[member.pool]
        if not pool.min_prompt_tokens <= prompt_tokens <= pool.max_prompt_tokens:
            return NO_POOL
        return unservable_reason(member.config, prompt_tokens, output_tokens)

    def choose(self, request: Request, candidates: Sequence[Gang], *, handed_over: bool = False) -> Replica:
        """The engine that takes the request, of one of `candidates` (at least one). `handed_over`: to decode it."""
        if self.fleet.router == "kv_aware":
            return self._least_cost(request, candidates, handed_over)
        return self._gang(request, candidates).entry()

    def _gang(self, request: Request, candidates: Sequence[Gang]) -> Gang:
        router = self.fleet.router
        if router == "round_robin":
            return self._next_in_turn(candidates)
        if router == "random":
            return self._drawn(request.number, candidates)
        if router == "power_of_two":
            return self._better_of_two(request.number, candidates)
        if router == "least_tokens":
            return _fewest_tokens(candidates)
        if router == "prefix_affine":
            return self._prefix_affine(request, candidates)
        if router == "session_affine" and request.session >= 0:
            return _highest_hash(request.session, candidates)
        return _least_loaded(candidates)

    def _next_in_turn(self, candidates: Sequence[Gang]) -> Gang:
        """Each candidate is credited its weight, the one with the most credit pays for all."""
        for gang in candidates:
            self.credit[gang.number] += gang.weight
        chosen = max(candidates, key=lambda gang: self.credit[gang.number])
        self.credit[chosen.number] -= sum(gang.weight for gang in candidates)
        return chosen

    def _drawn(self, number: int, candidates: Sequence[Gang]) -> Gang:
        place = int(self.draws[number, 0]) % sum(gang.weight for gang in candidates)
        for gang in candidates:
            place -= gang.weight
            if place < 0:
                return gang
        raise AssertionError

    def _better_of_two(self, number: int, candidates: Sequence[Gang]) -> Gang:
        first, second = self.draws[number].tolist()
        one = candidates[first % len(candidates)]
        others = [gang for gang in candidates if gang is not one]
        return _least_loaded([one, others[second % len(others)]]) if others else one

    def _prefix_affine(self, request: Request, candidates: Sequence[Gang]) -> Gang:
        sent = self.sent
        assert sent is not None
        most, fewest = max(gang.outstanding for gang in candidates), min(gang.outstanding for gang in candidates)
        uneven = most - fewest > self.fleet.imbalance_requests and most * 100 > self.fleet.imbalance_percent * fewest
        chosen = min(candidates, key=lambda gang: (-sent.matched_tokens(request.number, gang.number), load(gang)))
        matched = sent.matched_tokens(request.number, chosen.number)
        if uneven or matched * 100 <= self.fleet.match_percent * request.prompt_tokens:
            chosen = _least_loaded(candidates)
        sent.add(request.number, chosen.number)
        return chosen

    def _least_cost(self, request: Request, candidates: Sequence[Gang], handed_over: bool) -> Replica:
        def prefill_tokens(engine: Replica) -> int:
            return 0 if handed_over else request.prompt_tokens - engine.cached_tokens(request)

        def cost(engine: Replica) -> int:
            pending = 0 if handed_over else engine.pending_tokens()
            room = engine.blocks_promised * engine.config.block_size
            return self.fleet.overlap_percent * (pending + prefill_tokens(engine)) + 100 * room

        chosen = min((engine for gang in candidates for engine in gang.members), key=cost)
        request.uncached_tokens = prefill_tokens(chosen)
        return chosen


def load(gang: Gang) -> Fraction:
    """Requests outstanding per weight."""
    return Fraction(gang.outstanding, gang.weight)


def _least_loaded(candidates: Sequence[Gang]) -> Gang:
    return min(candidates, key=load)


def _fewest_tokens(candidates: Sequence[Gang]) -> Gang:
    return min(candidates, key=lambda gang: Fraction(gang.outstanding_tokens, gang.weight))


def _highest_hash(session: int, candidates: Sequence[Gang]) -> Gang:
    """Rendezvous hashing: a replica that comes or goes moves no session of the others."""
    return max(candidates, key=lambda gang: mixed(mixed(session) ^ gang.number))
