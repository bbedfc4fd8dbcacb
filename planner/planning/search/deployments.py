"""What follows from a deployment alone, kept for the next question about it: sheets ask many at other rates."""

from __future__ import annotations

from functools import lru_cache

from costmodel import Coverage, Deployment, coverage
from costmodel.deployment.feasibility import minimum_tp
from costmodel.memory.plan import MemoryPlan, memory_plan
from costmodel.steptime import StepTimeTables, step_time_tables

KEPT = 256
TABLES_KEPT = 48
"""A table is some 100 kB at the usual budgets, 1 MB at the largest."""


@lru_cache(maxsize=KEPT)
def memory_of(deployment: Deployment) -> MemoryPlan:
    """See `costmodel.memory_plan`."""
    return memory_plan(deployment)


@lru_cache(maxsize=KEPT)
def fits_in_a_node(deployment: Deployment) -> bool:
    """Whether some tensor-parallel size within a node holds the model."""
    return minimum_tp(deployment) is not None


@lru_cache(maxsize=TABLES_KEPT)
def tables_of(deployment: Deployment) -> StepTimeTables:
    """See `costmodel.step_time_tables`; not to be changed by who gets them."""
    return step_time_tables(deployment)


@lru_cache(maxsize=KEPT)
def coverage_of(deployment: Deployment) -> Coverage:
    """See `costmodel.coverage`."""
    return coverage(deployment)
