"""The fast engine's compiled functions, one idea each, over a few arrays described in `state.py`.

Importing this package imports numba; only `simulator.fast` does, and only when a fast run is asked for.
"""
