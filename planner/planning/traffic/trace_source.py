"""The recorded traffic that a scenario names or carries."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING

from planner.planning.traffic.builtin_traces import load_builtin_trace
from planner.planning.traffic.traces import Trace, read_trace_csv, rows_in_ns, trace_from_rows

if TYPE_CHECKING:  # the schema's own checks read traces
    from planner.planning.schema.traffic import Trace as TraceField


def load_trace(field: TraceField) -> Trace:
    """The trace of exactly one of builtin, csv and rows, as it was recorded. Raises ScenarioInvalid where it cannot be
    used, KeyError for an unknown built-in one."""
    if field.builtin is not None:
        return load_builtin_trace(field.builtin)
    if field.csv is not None:
        return _read(field.csv, field.block_tokens)
    assert field.rows is not None
    return trace_from_rows(rows_in_ns(field.rows), pointer="/traffic/trace/rows", name="trace of the scenario")


@lru_cache(maxsize=2)
def _read(csv: str, block_tokens: int | None) -> Trace:
    """Kept: a scenario is judged, planned and asked about more than once."""
    return read_trace_csv(csv, block_tokens=block_tokens)
