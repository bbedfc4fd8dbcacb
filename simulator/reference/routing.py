"""Which replica an arriving request is sent to."""

from collections.abc import Sequence
from dataclasses import dataclass

from simulator.fleet import Router
from simulator.reference.replica import Replica
from simulator.reference.requests import unservable_reason
from simulator.steptime import IntArray


@dataclass(slots=True)
class Routing:
    """The router and its memory. draws: two random numbers per request, for routers that draw."""

    router: Router
    replicas: Sequence[Replica]
    draws: IntArray
    turn: int = 0

    def candidates(self, prompt_tokens: int, output_tokens: int) -> list[Replica]:
        """Replicas that can serve a request of this size, in order."""
        return [r for r in self.replicas if not unservable_reason(r.config, prompt_tokens, output_tokens)]

    def choose(self, number: int, candidates: Sequence[Replica]) -> Replica:
        """One of `candidates` (at least one) for request `number`."""
        if self.router == "round_robin":
            chosen: Replica = min(candidates, key=lambda replica: (replica.number - self.turn) % len(self.replicas))
            self.turn = (chosen.number + 1) % len(self.replicas)
            return chosen
        if self.router == "least_requests":
            least: Replica = min(candidates, key=lambda replica: replica.outstanding)
            return least
        first, second = self.draws[number].tolist()
        one: Replica = candidates[first % len(candidates)]
        if self.router == "random" or len(candidates) == 1:
            return one
        others = [replica for replica in candidates if replica is not one]
        other: Replica = others[second % len(others)]
        return one if one.outstanding <= other.outstanding else other
