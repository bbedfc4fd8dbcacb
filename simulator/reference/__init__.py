"""The reference engine: slow, readable, every iteration stepped. It is the specification of the fast one."""

from simulator.reference.run import simulate_reference

__all__ = ["simulate_reference"]
