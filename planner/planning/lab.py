"""What the lab shows: runs of the lesson's clock, of its block pool and of its formulas, ready to be drawn.

Nothing here needs the fast engine. Raises CalculatorInvalid where a question has no answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Literal, ParamSpec, TypeVar

from planner.planning.calculators import CalculatorInvalid
from simulator import SimulatorError
from simulator.lesson import (
    KvComparison,
    LessonRequest,
    LessonRun,
    contiguous_kv,
    paged_kv,
    prefill_saving_ratio,
    prefix_hits,
    run_chunked_prefill,
    run_lesson,
    run_unchunked_prefill,
    slot_capacity_per_step,
)
from simulator.lesson_load import drawn_requests, in_system
from simulator.lesson_pool import PoolRun, run_pool

__all__ = [
    "Batching",
    "KvComparison",
    "LessonRequest",
    "LessonRun",
    "PoolRun",
    "Prefill",
    "PrefixLookup",
    "batching",
    "drawn",
    "listed_requests",
    "pool",
    "prefill",
    "prefix_lookup",
    "reservations",
]

P = ParamSpec("P")
R = TypeVar("R")
_REQUEST = re.compile(r"(?:(?P<prompt>\d{1,7})\+)?(?P<output>\d{1,7})(?:@(?P<arrival>\d{1,7}))?")
MAX_LISTED = 64
MAX_TOGETHER = {"output_tokens": 20_000, "prompt_tokens": 1_000_000, "arrival_step": 200_000}
"""Of all listed requests together, so that a run stays short enough to be drawn and to be answered at once."""


def _answering(function: Callable[P, R]) -> Callable[P, R]:
    @wraps(function)
    def inner(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except SimulatorError as error:
            raise CalculatorInvalid(error.code, error.field, error.detail) from None

    return inner


@_answering
def listed_requests(text: str) -> tuple[LessonRequest, ...]:
    """Requests as a person lists them: "2, 8, 3@4, 7680+5@2" is tokens to make, prompt tokens before a plus, and the
    step of arrival after an at sign."""
    found = []
    for place, part in enumerate((part.strip() for part in text.split(",")), start=1):
        match = _REQUEST.fullmatch(part.replace(" ", ""))
        if match is None:
            detail = f"request {place} is {part[:20]!r}; write tokens to make, with prompt+ before and @step after"
            raise CalculatorInvalid("not_a_list", "requests", detail, "2, 8, 3@4, 7680+5@2")
        numbers = {key: int(value or 0) for key, value in match.groupdict().items()}
        found.append(LessonRequest(numbers["arrival"], numbers["output"], numbers["prompt"]))
    if len(found) > MAX_LISTED:
        raise CalculatorInvalid("too_large", "requests", f"at most {MAX_LISTED} requests can be listed")
    for name, most in MAX_TOGETHER.items():
        if sum(getattr(request, name) for request in found) > most:
            label = name.replace("_", " ").replace("arrival step", "arrival steps")
            raise CalculatorInvalid("too_large", "requests", f"{label} may be {most:,} together")
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Batching:
    """The same requests by both policies; capacity_per_step: requests per step that the slots can finish at most;
    arrivals_per_step: None where all stand in line at once. The tuples count requests in the system at each step."""

    requests: tuple[LessonRequest, ...]
    static: LessonRun
    continuous: LessonRun
    capacity_per_step: float
    arrivals_per_step: float | None
    static_in_system: tuple[int, ...]
    continuous_in_system: tuple[int, ...]


@_answering
def batching(requests: Sequence[LessonRequest], slots: int) -> Batching:
    """Static against continuous."""
    static, continuous = run_lesson(requests, slots, "static"), run_lesson(requests, slots, "continuous")
    mean = sum(request.output_tokens for request in requests) / len(requests)
    last = max(request.arrival_step for request in requests)
    return Batching(
        requests=tuple(requests),
        static=static,
        continuous=continuous,
        capacity_per_step=slot_capacity_per_step(slots, mean),
        arrivals_per_step=len(requests) / last if last else None,
        static_in_system=in_system(static),
        continuous_in_system=in_system(continuous),
    )


@_answering
def drawn(
    *, count: int, arrivals_per_step: float, mean_output_tokens: float, sigma: float, seed: int
) -> tuple[LessonRequest, ...]:
    """Requests at a rate, with spread lengths."""
    return drawn_requests(count, arrivals_per_step, mean_output_tokens, sigma, seed)


@dataclass(frozen=True, slots=True)
class Prefill:
    """The same requests with prompts prefilled whole, and in chunks."""

    requests: tuple[LessonRequest, ...]
    unchunked: LessonRun
    chunked: LessonRun


@_answering
def prefill(requests: Sequence[LessonRequest], slots: int, chunk_tokens: int) -> Prefill:
    """Whole prompts that pause the other slots against chunks in the request's own slot."""
    return Prefill(
        tuple(requests), run_unchunked_prefill(requests, slots), run_chunked_prefill(requests, slots, chunk_tokens)
    )


@_answering
def pool(
    requests: Sequence[LessonRequest],
    *,
    blocks: int,
    block_tokens: int,
    allocation: Literal["paged", "contiguous"],
) -> PoolRun:
    """The block pool, step by step."""
    return run_pool(requests, blocks, block_tokens, allocation)


@_answering
def reservations(
    *, kv_budget_bytes: int, bytes_per_token: int, mean_context_tokens: int, max_model_len: int, block_tokens: int
) -> tuple[KvComparison, KvComparison]:
    """How many sequences a budget holds, contiguous and paged."""
    return (
        contiguous_kv(kv_budget_bytes, bytes_per_token, mean_context_tokens, max_model_len),
        paged_kv(kv_budget_bytes, bytes_per_token, mean_context_tokens, block_tokens),
    )


@dataclass(frozen=True, slots=True)
class PrefixLookup:
    """A second prompt looked up after a first one: its blocks, how many are found from the start, tokens to compute;
    and the hit ratio of a number of such requests one after another."""

    blocks: int
    found_blocks: int
    computed_tokens: int
    saving_ratio: float
    prompt_tokens: int
    cached_tokens: int
    hit_ratio: float


@_answering
def prefix_lookup(
    *, shared_tokens: int, own_tokens: int, changed_token: int | None, block_tokens: int, requests: int
) -> PrefixLookup:
    """What a prompt finds of one before it. changed_token: number of the first token, from 1, that differs inside the
    part meant to be shared; None: none does. A block's name covers all before it, so nothing behind is found."""
    same = shared_tokens if changed_token is None else min(shared_tokens, changed_token - 1)
    whole = shared_tokens + own_tokens
    second = prefix_hits(2, same, whole - same, block_tokens)
    many = prefix_hits(requests, same, whole - same, block_tokens)
    return PrefixLookup(
        blocks=-(-whole // block_tokens),
        found_blocks=second.cached_tokens // block_tokens,
        computed_tokens=whole - second.cached_tokens,
        saving_ratio=prefill_saving_ratio(second.cached_tokens, whole - second.cached_tokens),
        prompt_tokens=many.prompt_tokens,
        cached_tokens=many.cached_tokens,
        hit_ratio=many.hit_ratio,
    )
