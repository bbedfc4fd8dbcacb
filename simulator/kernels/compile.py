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
from llvmlite.binding import Linkage, parse_assembly
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler

from simulator.kernels.plain import KNOWN

Kernel = TypeVar("Kernel", bound=Callable[..., Any])

# Integers divide and wrap as in numpy: ranges are checked before a run. The kernels allocate nothing, so they need no
# reference counts on their arrays; without these they run twice as fast.
_OPTIONS: Any = {"nogil": True, "error_model": "numpy", "_nrt": False}
# Only the entry is called, and only from Python: the others need no wrappers, which take long to compile.
_ENTRY: Any = _OPTIONS | {"no_cfunc_wrapper": True}
_INNER: Any = _ENTRY | {"no_cpython_wrapper": True}


class _Part(JITCodeLibrary):
    """A kernel's code alone: neither optimised nor turned into machine code before the entry links it in.

    numba does both for every function together with all that it calls, and so works on the innermost ones again at each
    level above them: with kernels as deep as these it takes many times as long as once for all.
    """

    @property
    def codegen(self) -> Any:
        return _WithoutEnvironment(self._codegen)

    def finalize(self) -> None:
        self._raise_if_finalized()  # type: ignore[no-untyped-call]
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.external:
                function.linkage = Linkage.weak_odr  # linked whether or not it is called by what is there already
        return self._final_module


class _WithoutEnvironment:
    """A code generator for what has no machine code, and so no place for its environment, which kernels do not use."""

    def __init__(self, codegen: Any) -> None:
        self._codegen = codegen

    def __getattr__(self, name: str) -> Any:
        return getattr(self._codegen, name)

    def set_env(self, env_name: str, env: object) -> None:
        """Nothing."""


class _Whole(JITCodeLibrary):
    """An entry: its own code and that of all parts, optimised and turned into machine code at once."""

    known = -1  # see `plain.py`

    def finalize(self) -> None:
        for library in self._linking_libraries:  # grows on the way; parts come into it once
            own = library._linking_libraries if isinstance(library, _Part) else ()
            self._linking_libraries += [part for part in dict.fromkeys(own) if part not in self._linking_libraries]
        constant = parse_assembly(f"@{KNOWN} = constant i64 {self.known}")
        constant.triple, constant.data_layout = self._final_module.triple, self._final_module.data_layout
        self._final_module.link_in(constant)
        super().finalize()  # type: ignore[no-untyped-call]

    def _optimize_final_module(self) -> None:
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.weak_odr:
                function.linkage = Linkage.internal
        self._final_module.get_global_variable(KNOWN).linkage = Linkage.internal
        super()._optimize_final_module()  # type: ignore[no-untyped-call]


class _Plain(_Whole):
    """The plain entry: see `plain.py`."""

    known = 0


def _compiler(library: type[JITCodeLibrary]) -> type[Compiler]:
    class KernelCompiler(Compiler):
        def define_pipelines(self) -> Any:
            self.state.library = library(self.state.targetctx.codegen(), self.state.func_id.func_qualname)
            if issubclass(library, _Whole):
                self.state.library.enable_object_caching()
            return super().define_pipelines()  # type: ignore[no-untyped-call]

    return KernelCompiler


def kernel(function: Kernel) -> Kernel:
    """Compile `function` on first call, as a part of the entry that calls it."""
    return cast(Kernel, numba.njit(pipeline_class=_compiler(_Part), **_INNER)(function))


def inlined(function: Kernel) -> Kernel:
    """As `kernel`, for a function with one caller on the way that every step takes: it becomes a part of it."""
    return cast(Kernel, numba.njit(pipeline_class=_compiler(_Part), forceinline=True, **_INNER)(function))


def entry(function: Kernel) -> Kernel:
    """Compile `function` with all that it calls, and keep the result on disk."""
    return _kept(function, _Whole)


def plain_entry(function: Kernel) -> Kernel:
    """As `entry`, without what `plain.py` calls rare: its code is small and takes little time to compile."""
    return _kept(function, _Plain)


def _kept(function: Kernel, library: type[JITCodeLibrary]) -> Kernel:
    folder = _cache_folder()
    if folder is None:
        return cast(Kernel, numba.njit(pipeline_class=_compiler(library), **_ENTRY)(function))
    settings: Any = numba.config
    before = settings.CACHE_DIR
    settings.CACHE_DIR = str(folder)  # read while the function is decorated
    try:
        return cast(Kernel, numba.njit(cache=True, pipeline_class=_compiler(library), **_ENTRY)(function))
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
