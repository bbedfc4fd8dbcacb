"""Speculative decoding: several tokens of a sequence are verified in a step, and those that are kept come out together.

Every step is a full one, for which the running list is walked as the reference walks it: the budget may not suffice for
all, and what is verified takes blocks whether it is kept or not, so each row tells how many it holds. In the heap by
which sequences end, all stand as FAR_PS until their last step.
"""

from simulator.hashing import mixed
from simulator.kernels.accounts import add_gap
from simulator.kernels.compile import kernel
from simulator.kernels.heap import heap_hasten
from simulator.kernels.pool import blocks_for, take
from simulator.kernels.preempt import stop_last
from simulator.kernels.running import shift, tokens_made
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    BUDGET,
    CHUNK,
    CHUNK_COUNT,
    CHUNKS,
    CLOCK,
    COMPUTED,
    DRAFT_TOKENS,
    DUE,
    EMITS,
    FREE,
    HEAD,
    LAST_TOKEN,
    LONGEST_CHUNK,
    LOOKAHEAD,
    MAX_LEN,
    NEXT,
    NOBODY,
    PREEMPTED,
    RANK,
    REQUEST,
    ROW_HELD,
    STEP_CONTEXT,
    STEP_OUT,
    STEP_SEQS,
    STEP_TOKENS,
    STEPS,
    TARGET,
    THRESHOLDS,
    WORD,
)
from simulator.steptime import IntArray

_mixed = kernel(mixed)


@kernel
def _schedule(m: IntArray, w: Int32Array, counts: Int32Array, rep: int, row: int, computed: int, tokens: int) -> bool:
    """Let the row compute `tokens` more, with the blocks for them; False: it has fallen."""
    m[row + CHUNK] = tokens
    if tokens == 0:
        return True
    held = m[row + ROW_HELD]
    blocks = max(held, blocks_for(m, rep, min(computed + tokens + m[rep + LOOKAHEAD], m[rep + MAX_LEN])))
    while blocks - held > m[rep + FREE]:
        if stop_last(m, w, counts, rep) == row:
            return False
    take(m, w, rep, blocks - held)
    m[row + ROW_HELD] = blocks
    return True


@kernel
def _schedule_running(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> int:
    """Tokens and blocks for those who run, in order of admission; returns the tokens left."""
    budget, decoded, place = m[rep + BUDGET], NOBODY, m[rep + CHUNKS]
    while True:
        row = m[decoded + NEXT] if decoded != NOBODY else m[rep + HEAD]
        prompt = m[place] if place < m[rep + CHUNKS] + m[rep + CHUNK_COUNT] else NOBODY
        most = min(budget, m[rep + LONGEST_CHUNK])
        if prompt != NOBODY and (row == NOBODY or m[prompt + RANK] < m[row + RANK]):
            row, place, computed = prompt, place + 1, m[prompt + COMPUTED]
            tokens = min(m[row + TARGET] - computed, most)
        elif row != NOBODY:
            decoded, computed = row, m[row + BASE] + m[rep + STEPS]
            tokens = min(1 + m[rep + DRAFT_TOKENS], m[rep + MAX_LEN] - 1 - computed, most)
        else:
            return int(budget)
        if not _schedule(m, w, counts, rep, row, computed, tokens):
            return int(budget)
        budget -= tokens


@kernel
def _kept(m: IntArray, rep: int, row: int, drafts: int) -> int:
    """How many of the first `drafts` draft tokens the model keeps: `simulator.speculation.draw`."""
    bits = _mixed(_mixed(m[WORD] ^ m[row + REQUEST]) ^ _mixed(tokens_made(m, rep, row)))
    thresholds, kept = m[rep + THRESHOLDS], 0
    while kept < drafts and bits < m[thresholds + kept]:
        kept += 1
    return kept


@kernel
def _draw(m: IntArray, rep: int) -> None:
    """What comes out of the scheduled step, and its sums."""
    seqs = tokens = context = out = 0
    row = m[rep + HEAD]
    while row != NOBODY:
        emits, verified = 0, m[row + CHUNK]
        if verified > 0:
            left = m[row + DUE] - m[rep + STEPS]
            emits = min(1 + _kept(m, rep, row, verified - 1), left)
            seqs += 1
            tokens += verified
            context += m[row + BASE] + m[rep + STEPS]
            out += emits
        m[row + EMITS] = emits
        row = m[row + NEXT]
    m[rep + STEP_SEQS], m[rep + STEP_TOKENS], m[rep + STEP_CONTEXT], m[rep + STEP_OUT] = seqs, tokens, context, out


@kernel
def schedule_drafts(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Let running requests take tokens and blocks; answers (whether anyone was preempted, tokens left)."""
    preempted = m[rep + PREEMPTED]
    budget = _schedule_running(m, w, counts, rep)
    _draw(m, rep)
    return bool(m[rep + PREEMPTED] > preempted), budget


@kernel
def keep_drafts(m: IntArray, rep: int) -> None:
    """The step has ended and STEPS counts it: what is kept is computed; whose last token came out is due."""
    row = m[rep + HEAD]
    while row != NOBODY:
        emits = m[row + EMITS]
        shift(m, rep, row, emits - 1)
        if emits > 0:
            add_gap(m, rep, m[CLOCK] - m[row + LAST_TOKEN], 1)
            m[row + LAST_TOKEN] = m[CLOCK]
        if m[row + DUE] == m[rep + STEPS]:
            heap_hasten(m, rep, row, m[rep + STEPS])
        row = m[row + NEXT]
