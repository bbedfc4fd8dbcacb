"""Who runs, in order of admission: a list of the decoding sequences, and those that compute a prompt (CHUNKS)."""

from simulator.kernels.compile import kernel
from simulator.kernels.heap import heap_place, heap_remove
from simulator.kernels.lines import charge, count_decoder
from simulator.kernels.plain import rare
from simulator.kernels.pool import blocks_for
from simulator.kernels.residue import residue
from simulator.kernels.state import (
    ASKS,
    BASE,
    BEYOND,
    BLOCK_SIZE,
    BLOCK_TABLES,
    CHUNK_COUNT,
    CHUNKS,
    COMING,
    COMPUTED,
    CONTEXT,
    CONTIGUOUS,
    DECODING,
    DUE,
    ESTIMATE,
    FAR_PS,
    GONE,
    HEAD,
    HIST,
    LAST_TOKEN,
    LATE_COUNT,
    LENGTH,
    MADE,
    NEXT,
    NOBODY,
    ORDER,
    ORDERED,
    PREPAID,
    PREV,
    RANK,
    ROW_HELD,
    SETTLED,
    SHARED,
    STEP_OUT,
    STEPS,
    SUMMED,
    TAIL,
    TARGET,
    WALKS,
    WINDOW_COUNT,
)
from simulator.kernels.windows import begin_windows, end_windows
from simulator.steptime import IntArray


@kernel
def growth(m: IntArray, rep: int) -> int:
    """Blocks that the decoding sequences take for the next step: those that they begin and do not have yet."""
    return int(m[m[rep + HIST] + residue(m, rep, m[rep + STEPS])] - rare(m, rep + PREPAID))


@kernel
def walk_for_a_while(m: IntArray, rep: int) -> None:
    """From now on rows tell for themselves what they hold and when their last token came out."""
    for place in range(m[rep + BLOCK_SIZE]):
        m[m[rep + HIST] + place] = 0
    m[rep + WALKS] = 2
    count, row = 0, m[rep + HEAD]
    while row != NOBODY:
        m[row + LAST_TOKEN] = m[rep + SETTLED]
        m[row + ROW_HELD] = max(m[row + ROW_HELD], blocks_for(m, rep, m[row + BASE] + m[rep + STEPS]))
        heap_place(m, rep, row, FAR_PS, count)
        count, row = count + 1, m[row + NEXT]
    for place in range(m[rep + CHUNKS], m[rep + CHUNKS] + m[rep + CHUNK_COUNT]):
        row = m[place]
        m[row + ROW_HELD] = max(m[row + ROW_HELD], blocks_for(m, rep, m[row + COMPUTED]))


@kernel
def jump_again(m: IntArray, rep: int) -> None:
    """Walk no more, once all decoding rows have got a token in the same step."""
    row = m[rep + HEAD]
    while row != NOBODY:
        if m[row + LAST_TOKEN] != m[rep + SETTLED]:
            return
        row = m[row + NEXT]
    m[rep + WALKS] = 0
    count, row = 0, m[rep + HEAD]
    while row != NOBODY:
        _count_growth(m, rep, row, 1)
        heap_place(m, rep, row, m[row + DUE], count)
        count, row = count + 1, m[row + NEXT]


@kernel
def _count_growth(m: IntArray, rep: int, row: int, change: int) -> None:
    if rare(m, rep + CONTIGUOUS) == 0 and rare(m, rep + WALKS) == 0:
        m[m[rep + HIST] + residue(m, rep, -m[row + BASE])] += change * m[rep + BLOCK_TABLES]


@kernel
def running_count(m: IntArray, rep: int) -> int:
    """Requests that run."""
    return int(m[rep + DECODING] + m[rep + CHUNK_COUNT])


@kernel
def seats_taken(m: IntArray, rep: int) -> int:
    """Seats of those who run, and of late ones."""
    return int(m[rep + DECODING] + m[rep + CHUNK_COUNT] + rare(m, rep + LATE_COUNT))


@kernel
def join_running(m: IntArray, rep: int, row: int) -> None:
    """The row is admitted, with a prompt to compute: it stands last."""
    m[rep + ORDER] += 1
    m[row + RANK] = m[rep + ORDER]
    m[m[rep + CHUNKS] + m[rep + CHUNK_COUNT]] = row
    m[rep + CHUNK_COUNT] += 1


@kernel
def leave_chunks(m: IntArray, rep: int, place: int) -> None:
    """Take out the row that computes a prompt at this place of CHUNKS."""
    end = m[rep + CHUNKS] + m[rep + CHUNK_COUNT]
    for later in range(place + 1, end):
        m[later - 1] = m[later]
    m[rep + CHUNK_COUNT] -= 1


@kernel
def _link(m: IntArray, rep: int, row: int) -> None:
    """Put the row in its place in the list: nearly always the last."""
    before, after = m[rep + TAIL], NOBODY
    while before != NOBODY and m[before + RANK] > m[row + RANK]:
        before, after = m[before + PREV], before
    m[row + PREV], m[row + NEXT] = before, after
    if before != NOBODY:
        m[before + NEXT] = row
    else:
        m[rep + HEAD] = row
    if after != NOBODY:
        m[after + PREV] = row
    else:
        m[rep + TAIL] = row


@kernel
def join_decoding(m: IntArray, rep: int, row: int) -> None:
    """The row's prompt is computed and its token out: from the next step on it decodes the rest of its tokens."""
    m[row + DUE] = m[rep + STEPS] + m[row + LENGTH] - m[row + MADE]
    m[row + BASE] = m[row + TARGET] - m[rep + STEPS]
    _link(m, rep, row)
    heap_place(m, rep, row, m[row + DUE] if rare(m, rep + WALKS) == 0 else FAR_PS, m[rep + DECODING])
    m[rep + DECODING] += 1
    m[rep + CONTEXT] += m[row + TARGET]
    if rare(m, rep + ASKS) == ESTIMATE:
        m[rep + COMING] += m[row + DUE] + m[row + BEYOND]
    _count_growth(m, rep, row, 1)
    if rare(m, rep + WINDOW_COUNT) > 0:
        begin_windows(m, rep, row)
    if rare(m, rep + ORDERED) > 0:
        count_decoder(m, rep, row, 1)


@kernel
def leave_decoding(m: IntArray, rep: int, row: int) -> int:
    """Take a finished or preempted row out of the list; returns the tokens it has computed."""
    before, after = m[row + PREV], m[row + NEXT]
    if before != NOBODY:
        m[before + NEXT] = after
    else:
        m[rep + HEAD] = after
    if after != NOBODY:
        m[after + PREV] = before
    else:
        m[rep + TAIL] = before
    heap_remove(m, rep, row)
    computed = m[row + BASE] + m[rep + STEPS]
    m[rep + DECODING] -= 1
    m[rep + CONTEXT] -= computed
    if rare(m, rep + ASKS) == ESTIMATE:
        m[rep + COMING] -= m[row + DUE] + m[row + BEYOND]
    _count_growth(m, rep, row, -1)
    if rare(m, rep + WINDOW_COUNT) > 0:
        end_windows(m, rep, row)
    if rare(m, rep + ORDERED) > 0:
        count_decoder(m, rep, row, -1)
    return int(computed)


@kernel
def tokens_out(m: IntArray, rep: int) -> int:
    """Tokens that decoding sequences make in the full step under way."""
    return int(m[rep + DECODING] if rare(m, rep + SUMMED) == 0 and rare(m, rep + WALKS) == 0 else m[rep + STEP_OUT])


@kernel
def tokens_in_blocks(m: IntArray, rep: int, computed: int) -> int:
    """Tokens in the held blocks of all who run and have computed so many together; a shared block counts once."""
    return int(m[rep + BLOCK_TABLES] * computed - (rare(m, rep + SHARED) + rare(m, rep + GONE)) * m[rep + BLOCK_SIZE])


@kernel
def shift(m: IntArray, rep: int, row: int, tokens: int) -> None:
    """A decoding row got `tokens` more than one in a step, or -1 for none, of an engine that takes full steps only."""
    m[row + BASE] += tokens
    m[row + DUE] -= tokens
    m[rep + CONTEXT] += tokens
    if rare(m, rep + ORDERED) > 0:
        charge(m, row, tokens)
    if rare(m, rep + ASKS) == ESTIMATE:
        m[rep + COMING] -= tokens


@kernel
def tokens_made(m: IntArray, rep: int, row: int) -> int:
    """Tokens that a decoding row has generated."""
    return int(m[row + LENGTH] - (m[row + DUE] - m[rep + STEPS]))
