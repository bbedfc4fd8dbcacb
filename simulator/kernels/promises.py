"""Admission by outputs to come: room that is guaranteed (TensorRT-LLM) or expected (SGLang) for those who run."""

from simulator.kernels.compile import kernel
from simulator.kernels.pool import blocks_for
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    ASKS,
    BEYOND,
    BLOCK_SIZE,
    BLOCK_TABLES,
    BLOCKS,
    CARRIED,
    CLIPS,
    COMING,
    DECODING,
    DRAFT_TOKENS,
    DUE,
    FREE,
    FREE_HITS,
    FULL,
    GREATEST,
    HEAD,
    HITS,
    LATE_COUNT,
    LATE_ROWS,
    LENGTH,
    LONGEST,
    LOOKAHEAD,
    MAX_ALL,
    MAX_LEN,
    MAX_NEW,
    NEXT,
    NOBODY,
    OUTPUT,
    PROMISED,
    PROMPT,
    RATIO,
    REQUEST,
    RESERVED,
    ROW_PROMISED,
    SHARED,
    STEPS,
    TARGET,
)
from simulator.reference.schedulers.sglang import CLIP_TOKENS, ONE
from simulator.steptime import IntArray


@kernel
def greatest_output(m: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """The request's greatest output, as the engine knows it."""
    if m[rep + MAX_NEW] == 0:
        return int(counts[OUTPUT, request])
    return int(min(m[rep + MAX_NEW], m[rep + MAX_ALL] - counts[PROMPT, request]))


@kernel
def _most_blocks(m: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """Blocks of the request with its greatest output, and a token in vain."""
    tokens = counts[PROMPT, request] + greatest_output(m, counts, rep, request)
    return blocks_for(m, rep, min(tokens + m[rep + DRAFT_TOKENS] + m[rep + LOOKAHEAD], m[rep + MAX_LEN]))


@kernel
def room_for_all(m: IntArray, counts: Int32Array, rep: int, request: int) -> int:
    """Blocks that the request and all who run may ever take, less those that these hold."""
    held = m[rep + BLOCKS] - m[rep + FREE] + m[rep + SHARED]
    return int(_most_blocks(m, counts, rep, request) + m[rep + PROMISED] - held)


@kernel
def places(m: IntArray, rep: int, tokens: int) -> int:
    """Tokens of the pool that a sequence of `tokens` tokens takes, in all its tables."""
    return int(min(tokens, m[rep + LONGEST]) * m[rep + BLOCK_TABLES])


@kernel
def room_expected(m: IntArray, counts: Int32Array, rep: int, request: int, target: int, end: int) -> bool:
    """Whether the request fits with `end` tokens now, and with its output beside what is reserved; a refusal closes."""
    left = min(greatest_output(m, counts, rep, request) - counts[CARRIED, request], CLIP_TOKENS)
    asked = places(m, rep, target + left) - places(m, rep, m[rep + HITS] * m[rep + BLOCK_SIZE])
    free = m[rep + FREE] - m[rep + FREE_HITS]
    expected = ONE * asked < ONE * free * m[rep + BLOCK_SIZE] - m[rep + RESERVED]
    if expected and blocks_for(m, rep, end) - m[rep + HITS] * m[rep + BLOCK_TABLES] <= free:
        return True
    m[rep + FULL] = 1
    return False


@kernel
def whole_output(m: IntArray, counts: Int32Array, rep: int, row: int) -> int:
    """Places of a prompt's greatest output, as though it had generated nothing."""
    target = m[row + TARGET]
    output = min(greatest_output(m, counts, rep, m[row + REQUEST]), CLIP_TOKENS)
    return places(m, rep, target + output) - places(m, rep, target)


@kernel
def promise(m: IntArray, counts: Int32Array, rep: int, row: int) -> None:
    """The row is let in: room is kept for its output."""
    if m[rep + ASKS] == GREATEST:
        m[row + ROW_PROMISED] = _most_blocks(m, counts, rep, m[row + REQUEST])
        m[rep + PROMISED] += m[row + ROW_PROMISED]
    else:
        m[row + BEYOND] = greatest_output(m, counts, rep, m[row + REQUEST]) - m[row + LENGTH]
        m[rep + RESERVED] += ONE * whole_output(m, counts, rep, row)


@kernel
def _coming(m: IntArray, rep: int) -> int:
    """Tokens that those who decode make if they go on to their greatest outputs, CLIP_TOKENS of each at most."""
    if m[rep + CLIPS] == 0:
        return int(m[rep + COMING] - m[rep + DECODING] * m[rep + STEPS])
    tokens, row = 0, m[rep + HEAD]
    while row != NOBODY:
        tokens += min(m[row + DUE] + m[row + BEYOND] - m[rep + STEPS], CLIP_TOKENS)
        row = m[row + NEXT]
    return int(tokens)


@kernel
def reserve(m: IntArray, rep: int) -> None:
    """Keep room for what those who decode are expected to make; late rows are taken to go on too."""
    tokens = _coming(m, rep)
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
        tokens += min(m[m[place] + BEYOND], CLIP_TOKENS)
    m[rep + RESERVED] = m[rep + RATIO] * m[rep + BLOCK_TABLES] * tokens
