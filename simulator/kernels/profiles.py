"""Schedulers that compute prompts apart from decoding sequences: vLLM's V0 without chunked prefill, and SGLang.

A step is of prompts alone while any can be computed (a stall: who decodes stands by), else of decodes alone. STEPS
counts the latter only, so all that follows from it holds as in V1, and stretches of decodes are one closed form. What a
stall upsets are gaps between tokens: decoding rows had their last token when the last step of decodes ended (LAST_OUT),
or when they began to decode in a stall since. The latter stand at the end of the running list.
"""

from simulator.kernels.accounts import add_gap
from simulator.kernels.admit import anyone_waiting, head_chunk, seat_open
from simulator.kernels.compile import kernel
from simulator.kernels.late import late_context
from simulator.kernels.running import running_count
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    BUDGET,
    CONTEXT,
    DECODING,
    END,
    LAST_OUT,
    LAST_TOKEN,
    NOBODY,
    PREV,
    RESTED,
    SETTLED,
    STALL,
    STEP_CONTEXT,
    STEP_OUT,
    STEP_SEQS,
    STEP_TOKENS,
    TAIL,
    VAIN,
    WALKS,
)
from simulator.steptime import IntArray


@kernel
def prompts_first(m: IntArray, w: Int32Array, counts: Int32Array, rep: int) -> tuple[bool, int]:
    """Whether this step is of prompts alone, and the tokens that waiting ones may take in it."""
    running, budget = running_count(m, rep), m[rep + BUDGET]
    m[rep + STALL] = 0
    if not anyone_waiting(m, rep) or not seat_open(m, rep, running, budget):
        return False, 0
    if head_chunk(m, w, counts, rep, running, budget) == 0:
        return False, 0
    stall(m, rep)
    return True, int(budget)


@kernel
def stall(m: IntArray, rep: int) -> None:
    """The step is of prompts alone."""
    m[rep + STALL] = 1
    if m[rep + RESTED] == 0:
        m[rep + RESTED] = 1
        m[rep + LAST_OUT] = m[rep + SETTLED]


@kernel
def sum_decoding(m: IntArray, rep: int) -> None:
    """What decodes in the scheduled step, where drafts have not told."""
    if m[rep + STALL] > 0:
        m[rep + STEP_SEQS] = m[rep + STEP_TOKENS] = m[rep + STEP_CONTEXT] = m[rep + STEP_OUT] = 0
    elif m[rep + WALKS] == 0:
        m[rep + STEP_SEQS] = m[rep + STEP_TOKENS] = m[rep + DECODING] + m[rep + VAIN]
        m[rep + STEP_OUT] = m[rep + DECODING]
        m[rep + STEP_CONTEXT] = m[rep + CONTEXT]
        if m[rep + VAIN] > 0:
            m[rep + STEP_CONTEXT] += late_context(m, rep, True)


@kernel
def add_rested_gaps(m: IntArray, rep: int) -> None:
    """The gaps before the step's tokens, where prompts have been computed alone since the last ones."""
    m[rep + RESTED] = 0
    row, others = m[rep + TAIL], m[rep + DECODING]
    while row != NOBODY and m[row + LAST_TOKEN] > m[rep + LAST_OUT]:
        add_gap(m, rep, m[rep + END] - m[row + LAST_TOKEN], 1)
        others -= 1
        row = m[row + PREV]
    if others > 0:
        add_gap(m, rep, m[rep + END] - m[rep + LAST_OUT], others)
