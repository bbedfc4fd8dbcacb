"""How the kernels are compiled: cached on disk (NUMBA_CACHE_DIR is honoured), without the interpreter lock."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first call. Integers divide and wrap as in numpy: ranges are checked before a run."""
    return cast(Kernel, numba.njit(cache=True, nogil=True, error_model="numpy")(function))
