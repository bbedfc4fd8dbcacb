"""What a fleet does with requests that it cannot, or need not, serve in time."""

import math
from dataclasses import dataclass
from typing import Literal

from simulator.checks import check_fields
from simulator.errors import SimulatorError, require_int, require_number

OverCap = Literal["reject", "hold"]
NO_TIMEOUT_PS = 2**62  # later than any run can last


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Limits at the fleet's gate and at its replicas; the default has none. What is turned away ends as `rejected`.

    max_waiting    most requests in the waiting line of a replica: one more is rejected when it comes (`queue_full`)
    max_kv_ratio   share of its blocks, from which on the replica that the router has chosen rejects (`kv_full`)
    deadlines      a request that was never admitted when its `deadline_ps` has passed is dropped (`deadline`)
    timeout_ps     the client gives up that long after the arrival: what has not ended by then, running or not, is
                   dropped and ends as `timed out`
    tenant_cap     most requests of one tenant that are sent to replicas and have not ended
    tenant_caps    the same for tenant 0, 1, ...; those beyond its end have tenant_cap
    over_cap       beyond the cap: `reject` at once (`tenant_cap`), or `hold` at the gate, first come first served by
                   tenant, until a request of that tenant ends

    Drops happen between two steps, at the first boundary after the time has passed; at the gate, when it is the
    request's turn. Of requests between prefill and decode it is the decode replica's boundary; KV that is on its way
    keeps blocks and seat until it has come.
    """

    max_waiting: int | None = None
    max_kv_ratio: float | None = None
    deadlines: bool = False
    timeout_ps: int | None = None
    tenant_cap: int | None = None
    tenant_caps: tuple[int, ...] = ()
    over_cap: OverCap = "reject"

    def __post_init__(self) -> None:
        check_fields(self)
        for field, least in (("max_waiting", 1), ("tenant_cap", 1), ("timeout_ps", 0)):
            value = getattr(self, field)
            if value is not None:
                object.__setattr__(self, field, require_int(field, value, least, NO_TIMEOUT_PS))
        if self.max_kv_ratio is not None:
            require_number("max_kv_ratio", self.max_kv_ratio, 0.0, 1.0, exclusive=True)
        caps = tuple(require_int("tenant_caps", cap, 1, NO_TIMEOUT_PS) for cap in self.tenant_caps)
        object.__setattr__(self, "tenant_caps", caps)
        if self.over_cap not in ("reject", "hold"):
            raise SimulatorError("unknown_policy", "over_cap", f"must be reject or hold, got {self.over_cap!r}")

    @property
    def caps_tenants(self) -> bool:
        """Whether any tenant has a cap."""
        return self.tenant_cap is not None or bool(self.tenant_caps)

    @property
    def expires(self) -> bool:
        """Whether requests can be dropped at a replica."""
        return self.deadlines or self.timeout_ps is not None

    def cap_of(self, tenant: int) -> int | None:
        """The tenant's cap, None without one."""
        return self.tenant_caps[tenant] if tenant < len(self.tenant_caps) else self.tenant_cap

    def kv_limit_blocks(self, num_blocks: int) -> int:
        """Blocks held from which on a replica of `num_blocks` rejects; more than it has where there is no limit."""
        return num_blocks + 1 if self.max_kv_ratio is None else math.ceil(self.max_kv_ratio * num_blocks)


NO_LIMITS = Admission()
