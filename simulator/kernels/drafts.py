"""Speculative decoding: several tokens of a sequence are verified in a step, and those that are kept come out together.

Without drafts, in an engine that walks, one token comes out of each sequence that is in the step.
"""

from simulator.hashing import mixed
from simulator.kernels.accounts import add_gap
from simulator.kernels.compile import kernel
from simulator.kernels.fresh import emit_first
from simulator.kernels.heap import heap_hasten
from simulator.kernels.running import shift, tokens_made
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BASE,
    CHUNK,
    CLOCK,
    DUE,
    EMITS,
    HEAD,
    LAST_TOKEN,
    NEXT,
    NOBODY,
    REQUEST,
    ROW_FRESH,
    STEP_CONTEXT,
    STEP_OUT,
    STEP_SEQS,
    STEP_TOKENS,
    STEPS,
    THRESHOLDS,
    WORD,
)
from simulator.steptime import IntArray

_mixed = kernel(mixed)


@kernel
def _kept(m: IntArray, rep: int, row: int, drafts: int) -> int:
    """How many of the first `drafts` draft tokens the model keeps: `simulator.speculation.draw`."""
    if drafts == 0:
        return 0
    bits = _mixed(_mixed(m[WORD] ^ m[row + REQUEST]) ^ _mixed(tokens_made(m, rep, row)))
    thresholds, kept = m[rep + THRESHOLDS], 0
    while kept < drafts and bits < m[thresholds + kept]:
        kept += 1
    return kept


@kernel
def draw(m: IntArray, rep: int) -> None:
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
def keep(m: IntArray, w: Int32Array, times: IntArray, rep: int) -> None:
    """The step has ended and STEPS counts it: what is kept is computed; whose last token came out is due."""
    row = m[rep + HEAD]
    while row != NOBODY:
        emits = m[row + EMITS]
        shift(m, rep, row, emits - 1)
        if emits > 0:
            if m[row + ROW_FRESH] > 0:
                emit_first(m, w, times, rep, row)
            else:
                add_gap(m, rep, m[CLOCK] - m[row + LAST_TOKEN], 1)
            m[row + LAST_TOKEN] = m[CLOCK]
        if m[row + DUE] == m[rep + STEPS]:
            heap_hasten(m, rep, row, m[rep + STEPS])
        row = m[row + NEXT]
