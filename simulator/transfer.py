"""How prompts computed on one replica get to the replica that decodes them."""

from dataclasses import dataclass
from typing import Literal, get_args

from simulator.checks import check_fields, checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import MAX_STEP_PS, PS_PER_S
from simulator.workload import MAX_TOKENS

Role = Literal["both", "prefill", "decode"]
Side = Literal["prefill", "decode"]
Link = Literal["shared", "prefill", "decode"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """The KV transfer from a prefill to a decode replica.

    token_ps     link time of one token's KV (`kv_token_ps`)
    latency_ps   from the last byte sent to the KV being usable; the link is free meanwhile
    link         who shares a link, which sends one request's KV after the other in the order of their reservations:
                 `shared`: the whole fleet; `prefill`, `decode`: each prefill or each decode engine has its own
    first_output who emits a request's first token. `prefill`: the prefill replica, which hands it on with the KV
                 (TensorRT-LLM, SGLang). `decode`: the decode replica, which computes the prompt's last token again
                 (vLLM's connectors)
    local_prefill_max_tokens   a prompt is computed by a decode replica itself where at most so many of its tokens lack
                 in that replica's prefix cache (conditional disaggregation); 0: none
    """

    token_ps: int
    latency_ps: int = 0
    link: Link = "shared"
    first_output: Side = "prefill"
    local_prefill_max_tokens: int = 0

    def __post_init__(self) -> None:
        check_fields(self)
        for field, high in (
            ("token_ps", MAX_STEP_PS),
            ("latency_ps", MAX_STEP_PS),
            ("local_prefill_max_tokens", MAX_TOKENS),
        ):
            object.__setattr__(self, field, require_int(field, getattr(self, field), 0, high))
        for field, allowed in (("link", get_args(Link)), ("first_output", get_args(Side))):
            if getattr(self, field) not in allowed:
                raise SimulatorError(
                    "unknown_policy", field, f"must be one of {', '.join(allowed)}, got {getattr(self, field)!r}"
                )


@checked
def kv_token_ps(*, bytes_per_token: float, bytes_per_s: float) -> int:
    """Link time of one token's KV, whole picoseconds: bytes_per_token / bytes_per_s.

    Raises SimulatorError `too_large` for a link on which a token takes 75 minutes or more.
    """
    size = require_number("bytes_per_token", bytes_per_token, 0.0)
    rate = require_number("bytes_per_s", bytes_per_s, 0.0, exclusive=True)
    if size * PS_PER_S / rate > MAX_STEP_PS:
        raise SimulatorError("too_large", "bytes_per_token", "a token would be sent for more than 75 minutes")
    return round(size * PS_PER_S / rate)
