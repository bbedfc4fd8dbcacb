"""Prompts that have been computed on one engine and will be decoded on another: what they leave behind, and the links.

The fast twin of `simulator.reference.transfers`, with `intake.py`. Where prompts are decoded where they are prefilled,
m[TRANSFER] is 0. Else it is the offset of a record:

  m[transfer + ...]  the settings, the line of those that have not been routed yet, the transfers under way
  m[links + ...]     when each link is free: one for all, or one per engine, by number

Transfers under way are a heap of TRANSFER_WORDS words each: end, number, and the row where the request will run, whose
seat is kept: so there are no more of them than seats.
"""

from typing import Final

from simulator.kernels.accounts import add_product
from simulator.kernels.compile import kernel
from simulator.kernels.routers import KV_AWARE
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import (
    AWAY_TOKENS,
    CLOCK,
    COMPUTED,
    FAR_PS,
    HANDED_AT,
    HANDS_OVER,
    HELD_ROW,
    KEPT,
    NEXT_SENT,
    NOBODY,
    NUMBER,
    PENDING,
    PREFILLED_BY,
    REQUEST,
    ROUTER,
    SILENT,
    TRANSFER,
)
from simulator.kernels.waiting import push_back
from simulator.steptime import HORIZON_PS, IntArray

TOKEN_PS: Final = 0
LATENCY_PS: Final = 1
LINK: Final = 2
FIRST_HERE: Final = 3  # 1: the prefill engine emits the first token, 0: the decode engine does
LOCAL_TOKENS: Final = 4  # decode engines compute prompts of at most so many uncached tokens themselves
HANDED: Final = 5  # line of requests that have not been routed yet: three words
LINKS: Final = 8
UNDER_WAY: Final = 9
UNDER_WAY_COUNT: Final = 10
STARTED: Final = 11  # transfers so far
WAIT_HIGH: Final = 12  # picoseconds between prefill and decode, two words
LOOKS: Final = 14  # 1: decode engines may have cached so much of a longer prompt that they compute the rest
FITS: Final = 15  # table by gang: 1 for a decode replica that computes the arriving request's prompt
TRANSFER_SIZE: Final = 16

SHARED_LINK: Final = 0
PREFILL_LINK: Final = 1
DECODE_LINK: Final = 2

TRANSFER_WORDS: Final = 3


@kernel
def target_tokens(m: IntArray, prompt: int) -> int:
    """Tokens that a handed-over request has computed when its first step where it is decoded has ended."""
    return int(prompt + m[m[TRANSFER] + FIRST_HERE])


@kernel
def hand_over(m: IntArray, times: IntArray, counts: Int32Array, rep: int, row: int) -> None:
    """The row's prompt is computed: it gives up its seat, and its blocks when its KV has left."""
    request = m[row + REQUEST]
    times[HANDED_AT, request] = m[CLOCK]
    counts[HELD_ROW, request] = row
    m[rep + AWAY_TOKENS] += m[row + COMPUTED]
    if m[ROUTER] == KV_AWARE:
        if m[rep + HANDS_OVER] == SILENT:
            m[rep + PENDING] -= counts[KEPT, request]
        counts[KEPT, request] = 0
    push_back(m, counts, m[TRANSFER] + HANDED, request)


@kernel
def count_transfer_wait(m: IntArray, times: IntArray, counts: Int32Array, request: int, now_ps: int) -> None:
    """The request runs where it is decoded."""
    add_product(m, m[TRANSFER] + WAIT_HIGH, 1, now_ps - times[HANDED_AT, request])
    counts[HELD_ROW, request] = NOBODY


@kernel
def _before(m: IntArray, place: int, end_ps: int, number: int) -> bool:
    """The transfer at `place` ends before one with this end and number."""
    return bool(m[place] < end_ps or (m[place] == end_ps and m[place + 1] < number))


@kernel
def _put(m: IntArray, place: int, end_ps: int, number: int, row: int) -> None:
    m[place], m[place + 1], m[place + 2] = end_ps, number, row


@kernel
def _add(m: IntArray, end_ps: int, number: int, row: int) -> None:
    transfer = m[TRANSFER]
    heap, place = m[transfer + UNDER_WAY], m[transfer + UNDER_WAY_COUNT]
    m[transfer + UNDER_WAY_COUNT] += 1
    while place > 0:
        parent = (place - 1) >> 1
        above = heap + TRANSFER_WORDS * parent
        if _before(m, above, end_ps, number):
            break
        _put(m, heap + TRANSFER_WORDS * place, m[above], m[above + 1], m[above + 2])
        place = parent
    _put(m, heap + TRANSFER_WORDS * place, end_ps, number, row)
    m[NEXT_SENT] = m[heap]


@kernel
def take_ended(m: IntArray) -> int:
    """Take out the transfer that ends next; returns its row."""
    transfer = m[TRANSFER]
    heap, count = m[transfer + UNDER_WAY], m[transfer + UNDER_WAY_COUNT] - 1
    m[transfer + UNDER_WAY_COUNT] = count
    ended = m[heap + 2]
    last, place = heap + TRANSFER_WORDS * count, 0
    end_ps, number, row = m[last], m[last + 1], m[last + 2]
    while 2 * place + 1 < count:
        child = heap + TRANSFER_WORDS * (2 * place + 1)
        chosen = 2 * place + 1
        if chosen + 1 < count and _before(m, child + TRANSFER_WORDS, m[child], m[child + 1]):
            child += TRANSFER_WORDS
            chosen += 1
        if not _before(m, child, end_ps, number):
            break
        _put(m, heap + TRANSFER_WORDS * place, m[child], m[child + 1], m[child + 2])
        place = chosen
    _put(m, heap + TRANSFER_WORDS * place, end_ps, number, row)
    m[NEXT_SENT] = m[heap] if count > 0 else FAR_PS
    return int(ended)


@kernel
def start_transfer(m: IntArray, counts: Int32Array, rep: int, row: int, tokens: int, now_ps: int) -> None:
    """Send the KV of `tokens` tokens to the row's engine as soon as the link is free; it takes at least 1 ps.

    Times beyond the horizon need not be told apart: no run gets there.
    """
    transfer = m[TRANSFER]
    link = m[transfer + LINKS]
    if m[transfer + LINK] == PREFILL_LINK:
        link += counts[PREFILLED_BY, m[row + REQUEST]]
    elif m[transfer + LINK] == DECODE_LINK:
        link += m[rep + NUMBER]
    sent_ps = min(max(now_ps, m[link]) + tokens * m[transfer + TOKEN_PS], HORIZON_PS)
    m[link] = sent_ps
    _add(m, max(sent_ps + m[transfer + LATENCY_PS], now_ps + 1), m[transfer + STARTED], row)
    m[transfer + STARTED] += 1
