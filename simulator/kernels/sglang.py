"""SGLang's scheduler: prompts before decodes, admission by an estimate of future output, retraction if it was wrong."""

from simulator.kernels.admit import anyone_waiting, head_chunk
from simulator.kernels.compile import kernel
from simulator.kernels.drafts import draw
from simulator.kernels.late import compute_in_vain, drop_late
from simulator.kernels.lines import stand_last
from simulator.kernels.pool import blocks_for, give_back, take
from simulator.kernels.preempt import carry, last_token_ps
from simulator.kernels.profiles import stall
from simulator.kernels.promises import greatest_output, reserve, whole_output
from simulator.kernels.rows import give_row_back
from simulator.kernels.running import growth, leave_decoding, seats_taken, tokens_made
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BLOCK_SIZE,
    BLOCK_TABLES,
    BUDGET,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLOSED,
    COMPUTED,
    DECAY,
    DECODING,
    DRAFT_TOKENS,
    FREE,
    FULL,
    HEAD,
    LAST_TOKEN,
    LATE_COUNT,
    LATE_ROWS,
    LEAST_RATIO,
    LINE,
    LOOKAHEAD,
    MADE,
    MAX_LEN,
    MAX_SEQS,
    MIXED,
    NEXT,
    NOBODY,
    NOW,
    OPEN,
    ORDERED,
    PREEMPTIONS,
    PROMPT,
    RANK,
    RATIO,
    REQUEST,
    RESERVED,
    ROW_HELD,
    STALL,
    START_RATIO,
    STEPS,
    TAKEN,
    TARGET,
    WALKS,
    WINDOW_COUNT,
)
from simulator.kernels.waiting import push_back
from simulator.kernels.windows import pass_windows
from simulator.reference.schedulers.sglang import ONE, RETRACT_DECODE_STEPS
from simulator.steptime import IntArray


@kernel
def _partial(m: IntArray, rep: int) -> int:
    """The row whose prompt is partly computed; there is one at most."""
    return int(m[m[rep + CHUNKS]]) if m[rep + CHUNK_COUNT] > 0 else NOBODY


@kernel
def nobody_tried(m: IntArray, rep: int) -> bool:
    """Whether only decoding can come next, as nobody is asked: sets OPEN, whether a request that comes would be."""
    m[rep + OPEN] = m[rep + FULL] == 0
    return bool(m[rep + FULL] > 0 or not anyone_waiting(m, rep))


@kernel
def expect_less(m: IntArray, rep: int, steps: int) -> None:
    """After steps of decodes a smaller part of outputs is expected."""
    m[rep + RATIO] = max(m[rep + LEAST_RATIO], m[rep + RATIO] - steps * m[rep + DECAY])


@kernel
def start_anew(m: IntArray, rep: int) -> None:
    """The engine is idle."""
    m[rep + RATIO] = m[rep + START_RATIO]


@kernel
def _go_on(m: IntArray, w: Int32Array, rep: int, row: int, budget: int) -> int:
    """The next chunk of the partly computed prompt, with its blocks: what budget, estimate and pool allow."""
    computed, tables = m[row + COMPUTED], m[rep + BLOCK_TABLES]
    tokens = min(m[row + TARGET] - computed, budget)
    room = ONE * m[rep + FREE] * m[rep + BLOCK_SIZE] - m[rep + RESERVED]
    if room >= ONE * tables:
        tokens = min(tokens, room // (ONE * tables))
    held = max(m[row + ROW_HELD], blocks_for(m, rep, computed))
    most = (held + m[rep + FREE]) // tables * m[rep + BLOCK_SIZE]
    if most < m[rep + MAX_LEN]:
        tokens = max(0, min(tokens, most - m[rep + LOOKAHEAD] - computed))
    m[row + CHUNK] = tokens
    if tokens > 0:
        blocks = max(held, blocks_for(m, rep, min(computed + tokens + m[rep + LOOKAHEAD], m[rep + MAX_LEN])))
        take(m, w, rep, blocks - held)
        m[row + ROW_HELD] = blocks
    return int(tokens)


@kernel
def _begun(m: IntArray, rep: int, row: int) -> int:
    """Blocks that a decoding row lacks for its tokens of a step, where it drafts."""
    computed = m[row + BASE] + m[rep + STEPS]
    m[row + CHUNK] = min(1 + m[rep + DRAFT_TOKENS], m[rep + MAX_LEN] - 1 - computed)
    places = min(computed + m[row + CHUNK] + m[rep + LOOKAHEAD], m[rep + MAX_LEN])
    return int(max(0, blocks_for(m, rep, places) - m[row + ROW_HELD]))


@kernel
def _needed(m: IntArray, rep: int) -> int:
    """Blocks that those who decode begin in the next step."""
    if m[rep + WALKS] == 0:
        return growth(m, rep)
    blocks, row = 0, m[rep + HEAD]
    while row != NOBODY:
        blocks += _begun(m, rep, row)
        row = m[row + NEXT]
    return int(blocks)


@kernel
def _take_places(m: IntArray, w: Int32Array, rep: int) -> None:
    """They take these blocks; drafts are drawn."""
    take(m, w, rep, _needed(m, rep))
    if m[rep + WALKS] > 0:
        row = m[rep + HEAD]
        while row != NOBODY:
            m[row + ROW_HELD] += _begun(m, rep, row)
            row = m[row + NEXT]
        draw(m, rep)


@kernel
def prefill(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Whether prompts are computed in this step, and the tokens that waiting ones may take in it."""
    row, budget = _partial(m, rep), m[rep + BUDGET]
    m[rep + STALL] = m[rep + TAKEN] = 0
    if m[rep + WINDOW_COUNT] > 0 and m[rep + WALKS] == 0:
        pass_windows(m, rep)
    if row != NOBODY:
        m[row + CHUNK] = 0
    elif m[rep + FULL] > 0 or not anyone_waiting(m, rep):
        return False, 0
    if m[rep + MIXED] > 0:
        if _needed(m, rep) > m[rep + FREE]:
            return False, 0
        m[rep + TAKEN] = 1
        _take_places(m, w, rep)
        budget -= m[rep + DECODING] + m[rep + LATE_COUNT]
    reserve(m, rep)
    tokens = 0
    if row != NOBODY:
        left = m[row + TARGET] - m[row + COMPUTED]
        tokens = _go_on(m, w, rep, row, budget)
        m[rep + RESERVED] += ONE * whole_output(m, counts, rep, row)
        budget = budget - tokens if tokens == left else 0
    if not _anyone_enters(m, w, counts, rep, budget) and tokens == 0:
        return False, 0
    if m[rep + MIXED] == 0:
        stall(m, rep)
    return True, int(budget)


@kernel
def decode(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Who decodes takes blocks for the next token; where these lack, some are sent back to the end of the line."""
    if m[rep + DECODING] + m[rep + LATE_COUNT] == 0:
        return
    if m[rep + TAKEN] == 0:
        if _needed(m, rep) > m[rep + FREE]:
            _retract(m, w, times, counts, rep)
            _take_places(m, w, rep)
            return
        _take_places(m, w, rep)
    expect_less(m, rep, 1)


@kernel
def _retract(m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int) -> None:
    """Send back who has generated least until the others' tokens have a place; their output is estimated anew."""
    m[rep + CLOSED] = 1
    while _needed(m, rep) > m[rep + FREE]:
        row, late = _partial(m, rep), _least_late(m, counts, rep)
        if row != NOBODY and m[rep + DECODING] + m[rep + LATE_COUNT] == 1:
            m[rep + CHUNK_COUNT] -= 1
            _send_back(m, w, times, counts, rep, row, m[row + COMPUTED])
            continue
        row = _least_made(m, counts, rep)
        made = tokens_made(m, rep, row)
        if late != NOBODY and _falls_before(m, counts, m[late], m[m[late] + MADE], row, made):
            drop_late(m, w, counts, rep, late)
            continue
        m[row + MADE] = made
        if m[rep + WALKS] == 0:
            m[row + LAST_TOKEN] = last_token_ps(m, rep, row)
        _send_back(m, w, times, counts, rep, row, leave_decoding(m, rep, row))
    _estimate_anew(m, counts, rep)


@kernel
def _estimate_anew(m: IntArray, counts: Int32Array, rep: int) -> None:
    """From what has been generated by those who decode, and the greatest outputs that they asked for."""
    made = most = 0
    row = m[rep + HEAD]
    while row != NOBODY:
        made += tokens_made(m, rep, row)
        most += greatest_output(m, counts, rep, m[row + REQUEST])
        row = m[row + NEXT]
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
        made += m[m[place] + MADE]
        most += greatest_output(m, counts, rep, m[m[place] + REQUEST])
    made += RETRACT_DECODE_STEPS * (m[rep + DECODING] + m[rep + LATE_COUNT])
    m[rep + RATIO] = min(ONE, ONE * made // (most + 1))


@kernel
def _falls_before(m: IntArray, counts: Int32Array, one: int, one_made: int, other: int, other_made: int) -> bool:
    """Of two rows, the one with fewer tokens generated falls first, of equals the longer prompt, then the later."""
    if one_made != other_made:
        return bool(one_made < other_made)
    one_prompt, other_prompt = counts[PROMPT, m[one + REQUEST]], counts[PROMPT, m[other + REQUEST]]
    if one_prompt != other_prompt:
        return bool(one_prompt > other_prompt)
    return bool(m[one + RANK] > m[other + RANK])


@kernel
def _least_late(m: IntArray, counts: Int32Array, rep: int) -> int:
    """Place of the late row that falls first, NOBODY without any."""
    chosen = NOBODY
    for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
        row, best = m[place], m[chosen] if chosen != NOBODY else NOBODY
        if best == NOBODY or _falls_before(m, counts, row, m[row + MADE], best, m[best + MADE]):
            chosen = place
    return int(chosen)


@kernel
def _least_made(m: IntArray, counts: Int32Array, rep: int) -> int:
    """The decoding row that falls first."""
    chosen = m[rep + HEAD]
    row = m[chosen + NEXT]
    while row != NOBODY:
        if _falls_before(m, counts, row, tokens_made(m, rep, row), chosen, tokens_made(m, rep, chosen)):
            chosen = row
        row = m[row + NEXT]
    return int(chosen)


@kernel
def compute_late(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> None:
    """Late rows are computed in vain where blocks are left for them, in order of the running list."""
    rank = -1
    for _ in range(m[rep + LATE_COUNT]):
        row = NOBODY
        for place in range(m[rep + LATE_ROWS], m[rep + LATE_ROWS] + m[rep + LATE_COUNT]):
            other = m[place]
            if m[other + RANK] > rank and (row == NOBODY or m[other + RANK] < m[row + RANK]):
                row = other
        compute_in_vain(m, w, counts, rep, row)
        rank = m[row + RANK]


@kernel
def _send_back(
    m: IntArray, w: Int32Array, times: IntArray, counts: Int32Array, rep: int, row: int, computed: int
) -> None:
    """The row's request waits last in line, and has no row: others may come in before it."""
    request = m[row + REQUEST]
    give_back(m, w, rep, row, computed, True)
    carry(m, times, counts, row, m[row + MADE], m[row + LAST_TOKEN], m[rep + NOW])
    counts[PREEMPTIONS, request] += 1
    if m[rep + ORDERED] > 0:
        stand_last(m, times, counts, rep, request, m[rep + STEPS])
    else:
        push_back(m, counts, rep + LINE, request)
    give_row_back(m, rep, row)


@kernel
def _anyone_enters(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, budget: int) -> bool:
    """Whether the first in line may enter; one that finds no seat or no memory closes admission."""
    running = seats_taken(m, rep)
    if budget <= 0 or not anyone_waiting(m, rep):
        return False
    if running >= m[rep + MAX_SEQS]:
        m[rep + FULL] = 1
        return False
    return head_chunk(m, w, counts, rep, running, budget) > 0
