"""The fast engine's compiled functions, one idea each, over a few arrays described in `state.py`.

Importing this package imports numba; only `simulator.fast` does, and only when a fast run is asked for.
LLVM is told to optimise little. The kernels are integer arithmetic and branches: dearer passes gain nothing that can be
measured there, and compiling takes nearly twice as long with them.
"""

import os

# Read by numba when it is imported.
os.environ.setdefault("NUMBA_OPT", "1")
os.environ.setdefault("NUMBA_LOOP_VECTORIZE", "0")
