"""The lesson's clock: one step is one decode iteration, and every occupied slot emits one token a step.

A request admitted at step s that makes n tokens finishes at s + n. Static batching starts up to K requests together and
lets nobody in until all of them have finished; continuous batching refills a slot at the next step. Percentiles are
nearest-rank. Beside the clock stand the lesson's small formulas. Every function refuses what it cannot answer with a
SimulatorError (zero slots, negative or fractional counts, NaN), so no input can make it run for ever.
"""

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

import numpy as np

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.statistics import nearest_rank

MAX_REQUESTS = 10_000
MAX_SLOTS = 1024
MAX_WALKED_STEPS = 2_000_000
MAX_STEPS = 10**9
UNCHUNKED_STEP_TOKENS = 256  # a whole prompt of p tokens prefills in ceil(p / 256) steps


@dataclass(frozen=True, slots=True)
class LessonRequest:
    """A request of the lesson: arrival in steps, tokens to make, and prompt tokens where prefill is counted."""

    arrival_step: int
    output_tokens: int
    prompt_tokens: int = 0

    def __post_init__(self) -> None:
        require_int("arrival_step", self.arrival_step, 0, MAX_STEPS)
        require_int("output_tokens", self.output_tokens, 1, MAX_STEPS)
        require_int("prompt_tokens", self.prompt_tokens, 0, MAX_STEPS)


@dataclass(frozen=True, slots=True)
class LessonRun:
    """Outcome by request, in the order given, and the lesson's figures.

    spans: (slot, admitted step, finish step) of each request, for a timeline.
    """

    slots: int
    arrival_steps: tuple[int, ...]
    finish_steps: tuple[int, ...]
    first_token_steps: tuple[int, ...]
    spans: tuple[tuple[int, int, int], ...]
    tokens: int
    makespan_steps: int
    throughput_tokens_per_step: float
    idle_ratio: float
    mean_latency_steps: float
    p95_latency_steps: int
    mean_ttft_steps: float
    p95_ttft_steps: int


@checked
def run_lesson(
    requests: Sequence[LessonRequest], slots: int, policy: Literal["static", "continuous"] = "continuous"
) -> LessonRun:
    """Decode only: a request holds its slot for as many steps as it makes tokens."""
    if policy not in ("static", "continuous"):
        raise SimulatorError("unknown_policy", "policy", f"must be static or continuous, got {policy!r}")
    return _run(requests, slots, policy, [request.output_tokens for request in requests], [1] * len(requests))


@checked
def run_chunked_prefill(requests: Sequence[LessonRequest], slots: int, chunk_tokens: int) -> LessonRun:
    """Continuous, a prompt of p tokens first taking ceil(p / chunk_tokens) steps in its slot.

    The first token comes at the end of the last of them; slots do not disturb each other.
    """
    chunk = require_int("chunk_tokens", chunk_tokens, 1, MAX_STEPS)
    prefill = [max(1, math.ceil(request.prompt_tokens / chunk)) for request in requests]
    held = [steps + request.output_tokens - 1 for steps, request in zip(prefill, requests, strict=True)]
    return _run(requests, slots, "continuous", held, prefill)


@checked
def run_unchunked_prefill(requests: Sequence[LessonRequest], slots: int) -> LessonRun:
    """Continuous, whole prompts prefilling alone in ceil(p / 256) steps while no slot decodes.

    While any admitted request is not prefilled, the earliest admitted one (lowest slot on a tie) advances one step.
    """
    line = _Line(requests, slots)
    prefill_left = [max(1, math.ceil(request.prompt_tokens / UNCHUNKED_STEP_TOKENS)) for request in requests]
    tokens_left = [request.output_tokens for request in requests]
    if sum(prefill_left) + sum(tokens_left) > MAX_WALKED_STEPS:
        raise SimulatorError("too_large", "requests", f"together they may take {MAX_WALKED_STEPS:,} steps")
    first = [0] * len(requests)
    step = 0
    while not line.done():
        step = line.admit(step, range(slots))
        seated = [(line.admitted[number], slot, number) for slot, number in line.occupied.items()]
        unfilled = [entry for entry in seated if prefill_left[entry[2]] > 0]
        step += 1
        if unfilled:
            number = min(unfilled)[2]
            prefill_left[number] -= 1
            emitting = [number] if prefill_left[number] == 0 else []
            for ready in emitting:
                first[ready] = step
        else:
            emitting = [number for _, _, number in seated]
        for number in emitting:
            tokens_left[number] -= 1
            if tokens_left[number] == 0:
                line.finish(number, step)
    return _outcome(line, first)


class _Line:
    """Who waits, in order of arrival (of the list on a tie), and who sits in which slot."""

    def __init__(self, requests: Sequence[LessonRequest], slots: int) -> None:
        self.slots = require_int("slots", slots, 1, MAX_SLOTS)
        if not requests or len(requests) > MAX_REQUESTS:
            raise SimulatorError("too_small" if not requests else "too_large", "requests", "give 1 to 10,000 requests")
        self.requests = requests
        order = sorted(range(len(requests)), key=lambda number: requests[number].arrival_step)
        self.waiting = deque(order)
        self.occupied: dict[int, int] = {}
        self.slot_of = [0] * len(requests)
        self.admitted = [0] * len(requests)
        self.finished = [0] * len(requests)

    def done(self) -> bool:
        return not self.waiting and not self.occupied

    def admit(self, step: int, slots: range) -> int:
        """Fill free slots, lowest first; with nobody seated, the clock first jumps to the next arrival."""
        if not self.occupied:
            step = max(step, self.requests[self.waiting[0]].arrival_step)
        for slot in slots:
            if not self.waiting or self.requests[self.waiting[0]].arrival_step > step:
                break
            if slot not in self.occupied:
                number = self.waiting.popleft()
                self.occupied[slot] = number
                self.slot_of[number] = slot
                self.admitted[number] = step
        return step

    def finish(self, number: int, step: int) -> None:
        del self.occupied[self.slot_of[number]]
        self.finished[number] = step


def _run(
    requests: Sequence[LessonRequest], slots: int, policy: str, held_steps: Sequence[int], first_after: Sequence[int]
) -> LessonRun:
    """From one end or arrival to the next: slots do not disturb each other, so no step needs to be walked."""
    line = _Line(requests, slots)
    step = 0
    while not line.done():
        if policy == "continuous" or not line.occupied:
            step = line.admit(step, range(slots))
        ends = [line.admitted[number] + held_steps[number] for number in line.occupied.values()]
        step = min(ends)
        if policy == "continuous" and line.waiting and len(line.occupied) < slots:
            step = min(step, requests[line.waiting[0]].arrival_step)
        for number in [n for n in line.occupied.values() if line.admitted[n] + held_steps[n] == step]:
            line.finish(number, step)
    return _outcome(line, [line.admitted[number] + first_after[number] for number in range(len(requests))])


def _outcome(line: _Line, first_token_steps: Sequence[int]) -> LessonRun:
    arrivals = np.array([request.arrival_step for request in line.requests])
    finishes, first = np.array(line.finished), np.array(first_token_steps)
    tokens = sum(request.output_tokens for request in line.requests)
    makespan = int(finishes.max())
    latency, ttft = np.sort(finishes - arrivals).astype(float), np.sort(first - arrivals).astype(float)
    return LessonRun(
        slots=line.slots,
        arrival_steps=tuple(arrivals.tolist()),
        finish_steps=tuple(finishes.tolist()),
        first_token_steps=tuple(first.tolist()),
        spans=tuple(zip(line.slot_of, line.admitted, line.finished, strict=True)),
        tokens=tokens,
        makespan_steps=makespan,
        throughput_tokens_per_step=tokens / makespan,
        idle_ratio=1 - tokens / (line.slots * makespan),
        mean_latency_steps=float(latency.mean()),
        p95_latency_steps=int(nearest_rank(latency, 95)),
        mean_ttft_steps=float(ttft.mean()),
        p95_ttft_steps=int(nearest_rank(ttft, 95)),
    )


@checked
def slot_capacity_per_step(slots: int, mean_output_tokens: float) -> float:
    """Requests per step that K slots can finish at most: K / mean length."""
    return require_int("slots", slots, 1) / require_number(
        "mean_output_tokens", mean_output_tokens, 0.0, exclusive=True
    )


@checked
def littles_law(arrival_rps: float, time_in_system_s: float) -> float:
    """Requests in the system = arrivals per second x seconds in the system; a batch holds that many, rounded up."""
    rate = require_number("arrival_rps", arrival_rps, 0.0)
    return rate * require_number("time_in_system_s", time_in_system_s, 0.0)


@dataclass(frozen=True, slots=True)
class KvComparison:
    """How many sequences a KV budget holds; `useful_ratio`: share of a sequence's memory that holds its tokens."""

    tokens_held: int
    blocks_per_sequence: int
    bytes_per_sequence: int
    sequences: int
    useful_ratio: float
    wasted_tokens: int


@checked
def contiguous_kv(
    kv_budget_bytes: int, bytes_per_token: int, mean_context_tokens: int, max_model_len: int
) -> KvComparison:
    """Each sequence reserves room for `max_model_len` tokens."""
    context = require_int("mean_context_tokens", mean_context_tokens, 1)
    return _kv(kv_budget_bytes, bytes_per_token, context, require_int("max_model_len", max_model_len, context), 1)


@checked
def paged_kv(kv_budget_bytes: int, bytes_per_token: int, mean_context_tokens: int, block_tokens: int) -> KvComparison:
    """Each sequence holds whole blocks, the last one partly filled."""
    context, block = (
        require_int("mean_context_tokens", mean_context_tokens, 1),
        require_int("block_tokens", block_tokens, 1),
    )
    blocks = -(-context // block)
    return _kv(kv_budget_bytes, bytes_per_token, context, block, blocks)


def _kv(budget_bytes: int, bytes_per_token: int, context: int, block_tokens: int, blocks: int) -> KvComparison:
    budget = require_int("kv_budget_bytes", budget_bytes, 0, 2**60)
    held = block_tokens * blocks
    sequence_bytes = held * require_int("bytes_per_token", bytes_per_token, 1)
    return KvComparison(held, blocks, sequence_bytes, budget // sequence_bytes, context / held, held - context)


@checked
def contiguous_sequences(n_blocks: int, block_tokens: int, slab_tokens: int) -> int:
    """Sequences that a pool of `n_blocks` blocks holds when each reserves a slab of `slab_tokens`."""
    pool = require_int("n_blocks", n_blocks, 0) * require_int("block_tokens", block_tokens, 1)
    return pool // require_int("slab_tokens", slab_tokens, 1)


@dataclass(frozen=True, slots=True)
class PrefixHits:
    """Prompt tokens asked for and found, over requests that share a beginning."""

    prompt_tokens: int
    cached_tokens: int
    hit_ratio: float


@checked
def prefix_hits(requests: int, shared_tokens: int, unique_tokens: int, block_tokens: int = 16) -> PrefixHits:
    """Requests one after another with one shared beginning: the first misses, the others hit its whole blocks."""
    count = require_int("requests", requests, 1)
    shared, unique = require_int("shared_tokens", shared_tokens, 0), require_int("unique_tokens", unique_tokens, 0)
    block = require_int("block_tokens", block_tokens, 1)
    total = count * (shared + unique)
    # At least one token is left to compute, so a prompt that is all shared loses its last block.
    hit = min(shared // block, max(0, shared + unique - 1) // block) * block
    cached = (count - 1) * hit
    return PrefixHits(total, cached, cached / total if total else 0.0)


@checked
def prefill_saving_ratio(shared_tokens: int, unique_tokens: int) -> float:
    """Share of a prompt's prefill that a hit on its shared beginning saves."""
    shared, unique = require_int("shared_tokens", shared_tokens, 0), require_int("unique_tokens", unique_tokens, 1)
    return shared / (shared + unique)


@dataclass(frozen=True, slots=True)
class ResponseTimes:
    """Seconds; tpot_s is None for one token: undefined, and such a request cannot fail a TPOT SLO."""

    ttft_s: float
    tpot_s: float | None
    e2e_s: float

    def meets(self, *, ttft_s: float = math.inf, tpot_s: float = math.inf, e2e_s: float = math.inf) -> bool:
        """Whether every threshold is met at once."""
        return self.ttft_s <= ttft_s and (self.tpot_s is None or self.tpot_s <= tpot_s) and self.e2e_s <= e2e_s


@checked
def response_times(sent_s: float, token_times_s: Sequence[float]) -> ResponseTimes:
    """TTFT = first token - sent; TPOT = (last - first) / (tokens - 1); E2E = last - sent. Times must not fall."""
    if not token_times_s:
        raise SimulatorError("empty", "token_times_s", "needs at least one token")
    times = [require_number("sent_s", sent_s, -1e18)] + [
        require_number("token_times_s", t, -1e18) for t in token_times_s
    ]
    if any(later < earlier for earlier, later in pairwise(times)):
        raise SimulatorError("not_sorted", "token_times_s", "times must not fall")
    gaps = len(token_times_s) - 1
    tpot = (times[-1] - times[1]) / gaps if gaps else None
    return ResponseTimes(times[1] - times[0], tpot, times[-1] - times[0])
