"""Conversations: each turn's prompt is all that was said before it and something new."""

from collections.abc import Callable, Iterator
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from simulator.checks import checked
from simulator.errors import SimulatorError, require_int, require_number
from simulator.steptime import IntArray
from simulator.traffic.arrivals import Arrivals
from simulator.traffic.gaps import FloatArray
from simulator.traffic.lengths import Lengths, Tokens
from simulator.traffic.merging import in_time_order
from simulator.traffic.rates import MAX_TIME_S, whole_ps
from simulator.traffic.streams import Source
from simulator.workload import MAX_TIME_PS, MAX_TOKENS, BlockHashes, Workload

SESSIONS_PER_BLOCK = 8_192
Number = TypeVar("Number", np.int64, np.float64)

ThinkTimes = Callable[[int, np.random.Generator], FloatArray]
"""(count, rng) -> that many times in seconds from one turn's sending to the next one's."""


@checked
def geometric_turns(mean: float, most: int) -> Tokens:
    """Numbers of turns, at least 1: each is the last with the same chance 1/mean, and `most` is the end."""
    chance = 1.0 / require_number("mean", mean, 1.0, 1e6)
    limit = require_int("most", most, 1)
    return lambda count, rng: np.minimum(rng.geometric(chance, count), limit)


@checked
def exponential_think_times(mean_s: float) -> ThinkTimes:
    """Exponential times between the turns of a conversation."""
    mean = require_number("mean_s", mean_s, 0.0, 1e9)
    return lambda count, rng: mean * rng.standard_exponential(count)


@checked
def conversations(
    starts: Arrivals,
    turns: Tokens,
    lengths: Lengths,
    think_times: ThinkTimes,
    *,
    max_model_len: int,
    system_tokens: int = 0,
    system_prompts: int = 1,
    answer_token_s: float = 0.0,
    block_tokens: int = 64,
) -> Source:
    """Conversations that start at `starts`; `lengths` draws each turn's new text and its answer.

    Turn k's prompt is the system prompt (one of `system_prompts`, at random), all former texts and answers, and its
    new text. It is sent relative to the *sending* of turn k - 1: a think time, and `answer_token_s` for each token of
    the answer being read. So arrivals do not depend on how fast the server is (open loop). A conversation ends early
    before a turn that does not fit `max_model_len`; a first turn is cut to it.

    `session` numbers the conversations. What a prompt shares with former turns and their answers, and with others under
    the same system prompt, is told by block hashes of `block_tokens`, 8 bytes for each block of each turn. Within a
    conversation any size is exact; of the system prompt its full blocks are shared, so let the size divide it.
    """
    limit = require_int("max_model_len", max_model_len, 2, MAX_TOKENS)
    system = require_int("system_tokens", system_tokens, 0, MAX_TOKENS)
    if system + 2 > limit:
        raise SimulatorError("prefix_too_long", "system_tokens", f"leaves no room for a turn in {limit} tokens")
    size = require_int("block_tokens", block_tokens, 1)
    variants = require_int("system_prompts", system_prompts, 1)
    answer_s = require_number("answer_token_s", answer_token_s, 0.0, 1e6)

    def opened(start_ps: IntArray, first_session: int, rng: np.random.Generator) -> Workload:
        count = turns(start_ps.size, rng)
        first = np.concatenate(([0], np.cumsum(count)[:-1]))
        session = np.repeat(np.arange(start_ps.size), count)
        new, answer = lengths(session.size, rng)
        gaps_s = think_times(session.size, rng) + answer_s * answer
        later_ps = whole_ps(np.minimum(_sums_before(gaps_s, first, count), MAX_TIME_S))
        variant = rng.integers(0, variants, start_ps.size)
        sent_ps = start_ps[session] + later_ps
        prompt = system + _sums_before(new + answer, first, count) + new
        prompt[first] = np.minimum(prompt[first], limit - 1)
        answer[first] = np.minimum(answer[first], limit - prompt[first])
        kept = np.flatnonzero((prompt + answer <= limit) & (sent_ps <= MAX_TIME_PS))
        kept = kept[np.argsort(sent_ps[kept], kind="stable")]
        prompt, session = prompt[kept], session[kept]
        told, own = prompt + answer[kept], session + first_session
        hashes = _content(told, own, variant[session], system // size, variants, limit, size)
        return Workload(
            sent_ps[kept],
            prompt,
            answer[kept],
            block_hashes=hashes,
            session=own,
            recorded_tokens=told,
        )

    return lambda rng: _in_time_order(starts, opened, *rng.spawn(2))


def _in_time_order(
    starts: Arrivals,
    opened: Callable[[IntArray, int, np.random.Generator], Workload],
    start_rng: np.random.Generator,
    turn_rng: np.random.Generator,
) -> Iterator[Workload]:
    """Turns wait until no conversation to come can begin before them: memory holds the conversations under way."""
    waiting: list[Workload] = []
    first_session = 0
    for block in starts(start_rng):
        for begin in range(0, block.size, SESSIONS_PER_BLOCK):
            start_ps = block[begin : begin + SESSIONS_PER_BLOCK]
            due = int(np.searchsorted(waiting[0].arrival_ps, start_ps[0])) if waiting else 0
            if due:
                yield waiting[0].take(slice(due))
                waiting = [waiting[0].take(slice(due, None))] if due < len(waiting[0]) else []
            waiting = [in_time_order([*waiting, opened(start_ps, first_session, turn_rng)])]
            first_session += start_ps.size
    yield from waiting


def _sums_before(values: npt.NDArray[Number], first: IntArray, count: IntArray) -> npt.NDArray[Number]:
    """For each entry the sum of those before it in its own group; groups begin at `first` and have `count` entries."""
    before = np.concatenate((np.zeros(1, values.dtype), np.cumsum(values)[:-1]))
    return before - np.repeat(before[first], count)


def _content(
    tokens: IntArray, session: IntArray, variant: IntArray, shared: int, variants: int, limit: int, size: int
) -> BlockHashes:
    """Blocks of the system prompt are named by its version, all others by their conversation."""
    blocks = -(-tokens // size)
    offsets = np.concatenate(([0], np.cumsum(blocks)))
    own = variants * shared + session * -(-limit // size)
    ids = np.repeat(own - offsets[:-1], blocks)
    ids += np.arange(offsets[-1])
    if shared:
        place = np.arange(shared)
        inside = place < blocks[:, None]
        ids[(offsets[:-1, None] + place)[inside]] = (variant[:, None] * shared + place)[inside]
    return BlockHashes(offsets, ids, size)
