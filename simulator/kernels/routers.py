"""The routers' numbers in the fast engine's memory."""

from typing import Final

from simulator.fleet import Router

ROUND_ROBIN: Final = 0
RANDOM: Final = 1
POWER_OF_TWO: Final = 2
LEAST_REQUESTS: Final = 3
LEAST_TOKENS: Final = 4
SESSION_AFFINE: Final = 5
PREFIX_AFFINE: Final = 6
KV_AWARE: Final = 7

ROUTERS: dict[Router, int] = {
    "round_robin": ROUND_ROBIN,
    "random": RANDOM,
    "power_of_two": POWER_OF_TWO,
    "least_requests": LEAST_REQUESTS,
    "least_tokens": LEAST_TOKENS,
    "session_affine": SESSION_AFFINE,
    "prefix_affine": PREFIX_AFFINE,
    "kv_aware": KV_AWARE,
}
