"""How the kernels are compiled, and where the compiled code is kept.

numba's cache notices a change of the file that holds the cached function, not of files whose functions it calls. So the
code is cached once, at the entry, in a folder named after a digest of all kernel sources: changed kernels have a new
folder. It lies in NUMBA_CACHE_DIR, else beside this file, else in the user's cache; with none writable, every process
compiles for itself.
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Integers divide and wrap as in numpy: ranges are checked before a run. The kernels allocate nothing, so they need no
# reference counts on their arrays; without these they run twice as fast.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Only the entry is called, and only from Python: the others need no wrappers, which take long to compile.
_ENTRY: Any = _OPTIONS | {"no_cfunc_wrapper": True}
_INNER: Any = _ENTRY | {"no_cpython_wrapper": True}


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first call, as a part of the entry that calls it."""
    return cast(Kernel, numba.njit(**_INNER)(function))


def inlined(function: Kernel) -> Kernel:
    """As `kernel`, for a function with one caller on the way that every step takes: it becomes a part of it."""
    return cast(Kernel, numba.njit(forceinline=True, **_INNER)(function))


def entry(function: Kernel) -> Kernel:
    """Compile `function` with all that it calls, and keep the result on disk."""
    folder = _cache_folder()
    if folder is None:
        return cast(Kernel, numba.njit(**_ENTRY)(function))
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)  # read while the function is decorated
    try:
        return cast(Kernel, numba.njit(cache=True, **_ENTRY)(function))
    finally:
        settings.CACHE_DIR = before


def _cache_folder() -> Path | None:
    here = Path(__file__).resolve().parent
    compiled_along = [
        here.parent / name for name in ("hashing.py", "records.py", "steptime.py", "reference/schedulers/sglang.py")
    ]
    sources = [*sorted(here.glob("*.py")), *compiled_along]
    digest = hashlib.sha256(b"\0".join(source.read_bytes() for source in sources)).hexdigest()[:16]
    user_cache = Path(os.environ.get("XDG_CACHE_HOME") or Path("~/.cache").expanduser()) / "staircase"
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    for base in [Path(chosen)] if chosen else [here / "__pycache__", user_cache]:
        folder = base / f"kernels-{digest}"
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return folder
    return None
