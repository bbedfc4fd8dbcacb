"""A fleet: pools of equal replicas behind one router."""

from dataclasses import dataclass
from itertools import accumulate
from typing import Literal, get_args

from simulator.admission import NO_LIMITS, Admission
from simulator.checks import check_fields
from simulator.config import EngineConfig
from simulator.control import Autoscaling, Outage
from simulator.errors import SimulatorError, require_int
from simulator.steptime import MAX_STEP_PS, StepTime
from simulator.transfer import Role, Transfer

Router = Literal[
    "round_robin",
    "random",
    "power_of_two",
    "least_requests",
    "least_tokens",
    "session_affine",
    "prefix_affine",
    "kv_aware",
]
MAX_REPLICAS = 4096
MAX_WEIGHT = 1_000_000
ANY_LENGTH = 2**31 - 1


@dataclass(frozen=True, slots=True, eq=False)
class Pool:
    """`replicas` equal replicas with one configuration and one step time.

    weight               share of the load that each replica is given, relative to replicas of other pools
    min_prompt_tokens, max_prompt_tokens   prompts that the router sends here; others never enter
    autoscaling          how many of the replicas are on; without, all of them
    role                 `both`: prompts and outputs. `prefill`: prompts, `decode`: outputs, see Fleet
    """

    config: EngineConfig
    step_time: StepTime
    replicas: int = 1
    weight: int = 1
    min_prompt_tokens: int = 1
    max_prompt_tokens: int = ANY_LENGTH
    autoscaling: Autoscaling | None = None
    role: Role = "both"

    def __post_init__(self) -> None:
        check_fields(self)
        for field, high in (
            ("replicas", MAX_REPLICAS),
            ("weight", MAX_WEIGHT),
            ("min_prompt_tokens", ANY_LENGTH),
            ("max_prompt_tokens", ANY_LENGTH),
        ):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 1, high))
        if self.min_prompt_tokens > self.max_prompt_tokens:
            raise SimulatorError("incompatible", "min_prompt_tokens", "must not exceed max_prompt_tokens")
        if self.role not in get_args(Role):
            raise SimulatorError("unknown_policy", "role", f"must be one of {', '.join(get_args(Role))}")
        if self.role != "both" and self.config.scheduler == "static":
            raise SimulatorError(
                "incompatible", "role", "static batches cannot be joined, nor left by prefilled requests"
            )
        self.step_time.longest_step_ps(self.config)
        rule = self.autoscaling
        if rule is not None and max(rule.initial, rule.minimum, *rule.scheduled_minimum, 0) > self.replicas:
            raise SimulatorError("too_large", "autoscaling", f"asks for more than the pool's {self.replicas} replicas")

    @property
    def engines(self) -> int:
        """Engines of all replicas: ranks and lanes counted one by one."""
        return self.replicas * self.config.gang


@dataclass(frozen=True, slots=True, eq=False)
class Fleet:
    """Pools, which may differ in configuration and hardware, and the router that spreads requests over their replicas.

    Engines are numbered through the pools in order; a replica is one engine, or a gang of them (attention-DP ranks,
    pipeline lanes) with numbers in a row. The router chooses among the replicas that take the request's prompt length
    and can serve it at all. Ties go to the lowest number. `load`: requests outstanding (sent there and not ended) over
    the pool's weight.

    round_robin     smooth weighted round robin; with equal weights: each in turn
    random          with probabilities as the weights
    power_of_two    two different ones drawn alike, of them the one with the lower load, the first drawn on a tie
    least_requests  the one with the lowest load
    least_tokens    the one with the fewest prompt tokens of outstanding requests, over the weight. Output lengths are
                    not known to a router
    session_affine  by a hash of the session (`Workload.session`), so that a conversation stays where it is while
                    replicas come and go elsewhere; by least_requests for requests without a session
    prefix_affine   the one that was sent the longest part of this prompt before, by the router's own unbounded memory
                    (it does not hear of evictions), where that is more than `match_percent` of the prompt, by load
                    among equals. Else, and while requests are spread unevenly, by least_requests. Uneven: the most
                    outstanding exceed the fewest by more than `imbalance_requests` and are more than
                    `imbalance_percent` of them. SGLang's cache-aware router
    kv_aware        the engine with the least cost: `overlap_percent` / 100 x prefill + 1 x (tokens' room in the KV
                    blocks held there), with prefill = uncached tokens of this prompt + those of the requests sent there
                    that have no token yet. Uncached: not in that engine's own prefix cache at the instant of routing.
                    NVIDIA Dynamo's router at temperature 0; it chooses ranks itself, and knows no weights

    outages: replicas that are lost for a while. A request that finds no replica on waits at the gate, and is routed,
    first come first served, when one is.
    admission       what is turned away, held, or dropped
    Disaggregated: pools of both roles `prefill` and `decode` (and none of `both`), and how KV gets from one to the
    other. The router chooses among prefill replicas when a request arrives, and by the same rule, with a memory of its
    own, among decode replicas when its prompt has been computed. There kv_aware counts blocks only, those included that
    requests on their way will take; prompts that a decode replica computes itself (`transfer.local_prefill_max_tokens`)
    are routed there at once, by the same memory.
    """

    pools: tuple[Pool, ...]
    router: Router = "round_robin"
    overlap_percent: int = 100
    match_percent: int = 30
    imbalance_requests: int = 64
    imbalance_percent: int = 150
    outages: tuple[Outage, ...] = ()
    admission: Admission = NO_LIMITS
    transfer: Transfer | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        object.__setattr__(self, "pools", tuple(self.pools))
        object.__setattr__(self, "outages", tuple(self.outages))
        if not self.pools:
            raise SimulatorError("empty", "pools", "a fleet needs at least one pool")
        if self.router not in get_args(Router):
            raise SimulatorError(
                "unknown_router", "router", f"must be one of {', '.join(get_args(Router))}, got {self.router!r}"
            )
        for field, high in (
            ("overlap_percent", 10_000),
            ("match_percent", 100),
            ("imbalance_requests", 2**31 - 1),
            ("imbalance_percent", 10_000),
        ):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 0, high))
        if self.router == "kv_aware" and len({pool.weight for pool in self.pools}) > 1:
            raise SimulatorError("incompatible", "weight", "kv_aware goes by cost and knows no weights")
        if len({(pool.step_time.request_ps, pool.step_time.request_token_ps) for pool in self.pools}) > 1:
            raise SimulatorError("incompatible", "request_ps", "all pools need the same time outside the engine")
        for outage in self.outages:
            require_int("outages", outage.replica, 0, len(self.gangs) - 1)
        if len(self) > MAX_REPLICAS:
            raise SimulatorError("too_large", "pools", f"at most {MAX_REPLICAS} engines, got {len(self)}")
        self._check_roles()

    def _check_roles(self) -> None:
        roles = {pool.role for pool in self.pools}
        if self.transfer is None:
            if roles != {"both"}:
                raise SimulatorError("missing", "transfer", "prefill and decode pools need a KV transfer between them")
            return
        if roles != {"prefill", "decode"}:
            raise SimulatorError(
                "incompatible", "transfer", "needs at least one prefill and one decode pool, and no other"
            )
        if self.outages:
            raise SimulatorError("incompatible", "outages", "what is on its way between lost replicas is not modelled")
        longest = max(pool.config.max_model_len for pool in self.pools)
        if self.transfer.token_ps * longest > MAX_STEP_PS:
            raise SimulatorError("too_large", "token_ps", f"{longest} tokens would be sent for more than 75 minutes")

    @property
    def disaggregated(self) -> bool:
        """Whether prompts and outputs are computed on different replicas."""
        return self.transfer is not None

    def __len__(self) -> int:
        """Engines of all pools."""
        return sum(pool.engines for pool in self.pools)

    @property
    def controlled(self) -> bool:
        """Whether replicas come and go."""
        return bool(self.outages) or any(pool.autoscaling is not None for pool in self.pools)

    @property
    def draws(self) -> bool:
        """Whether the router draws random numbers."""
        return self.router in ("random", "power_of_two")

    @property
    def pool_of_replica(self) -> tuple[int, ...]:
        """The pool of each engine, by number."""
        return tuple(number for number, pool in enumerate(self.pools) for _ in range(pool.engines))

    @property
    def gangs(self) -> tuple[range, ...]:
        """The engines of each replica, by number."""
        sizes = [pool.config.gang for pool in self.pools for _ in range(pool.replicas)]
        return tuple(range(end - size, end) for size, end in zip(sizes, accumulate(sizes), strict=True))
