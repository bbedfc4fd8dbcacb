# mypy: disable-error-code="no-untyped-call"
"""What most runs leave out, left out of the code that they run.

Of all mechanisms most runs use few. The kernels are compiled into two entries: one that knows them all, and a *plain*
one for runs in which the words below are 0 from beginning to end. There `rare(m, at)` is the constant 0, so that LLVM
drops what hangs on it; that makes runs half as fast again. A run is plain when these words are 0 at its beginning: none
of them changes but by a mechanism that another one of them tells.
"""

from collections.abc import Callable
from typing import Any, Final, cast

import numba
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

from simulator.kernels import state as s
from simulator.steptime import IntArray

RARE_IN_FLEET: Final = (s.CARRIES, s.CHOOSY, s.CONTROL, s.EXPIRES, s.HOLDS, s.LIMITED, s.SIDE, s.TENANTS, s.TRANSFER)
RARE_IN_REPLICA: Final = (
    s.ANSWERS,
    s.ASKS,
    s.AWAY_TOKENS,
    s.BATCH_LEFT,
    s.BELOW,
    s.CACHING,
    s.COME,
    s.CONTIGUOUS,
    s.DRAFT_TOKENS,
    s.FREE_HITS,
    s.FRESH_COUNT,
    s.GANG,
    s.GONE,
    s.HANDS_OVER,
    s.HIT_TOKENS,
    s.HITS,
    s.INCOMING,
    s.LATE_COUNT,
    s.LOOKAHEAD,
    s.MIXED,
    s.ORDERED,
    s.OVERLAPS,
    s.PREPAID,
    s.PROFILE,
    s.RESTED,
    s.SHARED,
    s.STALL,
    s.STALLS,
    s.STATIC,
    s.SUMMED,
    s.TABLE_WINDOWS,
    s.VAIN,
    s.WALKS,
    s.WHOLE,
    s.WINDOW_COUNT,
    s.WINDOW_PS,
    s.WORST_FALLS,
)

KNOWN: Final = "staircase_known"
"""A constant of each entry's code: all bits where it knows the rare mechanisms, none where it is plain."""


@intrinsic
def _rare(typing_context: Any, m: Any, at: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        known = builder.module.globals.get(KNOWN)
        if known is None:
            known = ir.GlobalVariable(builder.module, ir.IntType(64), KNOWN)
            known.global_constant = True
        place = context.cast(builder, args[1], sig.args[1], types.intp)
        return builder.and_(builder.load(builder.gep(args[0], [place])), builder.load(known))

    return types.int64(m, at), generate


def _word(m: IntArray, at: int) -> int:
    return int(m[at])


def _as_kernels_see_it() -> Callable[[IntArray, int], int]:
    interpreted = bool(cast(Any, numba.config).DISABLE_JIT)
    return _word if interpreted else cast(Any, _rare)


rare = _as_kernels_see_it()
"""The word `m[at]`, one of those named above; 0 in the plain entry."""


def is_plain(m: IntArray, replicas: list[int]) -> bool:
    """Whether a run that begins with this memory uses no rare mechanism; `replicas`: where their records stand."""
    records = [rep + field for rep in replicas for field in RARE_IN_REPLICA]
    return not m[[*RARE_IN_FLEET, *records]].any()
