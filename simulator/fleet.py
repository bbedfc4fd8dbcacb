"""A fleet: pools of equal replicas behind one router."""

from dataclasses import dataclass
from typing import Literal, get_args

from simulator.config import EngineConfig
from simulator.errors import SimulatorError, require_int
from simulator.steptime import StepTime

Router = Literal["round_robin", "random", "power_of_two", "least_requests"]
MAX_REPLICAS = 4096


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """`replicas` equal engines with one configuration and one step time."""

    config: EngineConfig
    step_time: StepTime
    replicas: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "replicas", require_int("replicas", self.replicas, 1, MAX_REPLICAS))
        self.step_time.longest_step_ps(self.config)


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """Pools, which may differ in configuration and hardware, and the router that spreads requests over their replicas.

    Replicas are numbered through the pools in order. The router chooses among those that can serve the request at all:

    round_robin     the next one in turn
    random          each alike
    power_of_two    two drawn at random, the one with fewer requests outstanding (the first drawn on a tie)
    least_requests  the one with the fewest requests outstanding, the lowest number on a tie

    Outstanding: sent to the replica and not ended.
    """

    pools: tuple[Pool, ...]
    router: Router = "round_robin"

    def __post_init__(self) -> None:
        if not self.pools:
            raise SimulatorError("empty", "pools", "a fleet needs at least one pool")
        if self.router not in get_args(Router):
            raise SimulatorError(
                "unknown_router", "router", f"must be one of {', '.join(get_args(Router))}, got {self.router!r}"
            )
        if len({pool.step_time.request_ps for pool in self.pools}) > 1:
            raise SimulatorError("incompatible", "request_ps", "all pools need the same time outside the engine")
        if len(self) > MAX_REPLICAS:
            raise SimulatorError("too_large", "pools", f"at most {MAX_REPLICAS} replicas, got {len(self)}")

    def __len__(self) -> int:
        return sum(pool.replicas for pool in self.pools)

    @property
    def draws(self) -> bool:
        """Whether the router draws random numbers."""
        return self.router in ("random", "power_of_two")

    @property
    def pool_of_replica(self) -> tuple[int, ...]:
        """The pool of each replica, by number."""
        return tuple(number for number, pool in enumerate(self.pools) for _ in range(pool.replicas))
