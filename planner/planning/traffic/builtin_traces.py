"""Traces that ship with the product, with their origin and licence (see data/SOURCES.md)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from planner.planning.traffic.traces import Trace

DATA = Path(__file__).parent / "data"
TICK_NS = 100


@dataclass(frozen=True, slots=True)
class BuiltinTrace:
    """Where a vendored trace comes from."""

    id: str
    file: str
    title: str
    source: str
    as_of: str
    licence: str


BUILTIN_TRACES: dict[str, BuiltinTrace] = {
    trace.id: trace
    for trace in (
        BuiltinTrace(
            id="azure-conversation-2023",
            file="azure_conversation_2023.npz",
            title="Azure LLM inference trace 2023, conversation",
            source="https://github.com/Azure/AzurePublicDataset, commit b469a11; Patel et al., Splitwise, ISCA 2024",
            as_of="2023-11-16",
            licence="CC-BY-4.0",
        ),
    )
}


@cache
def load_builtin_trace(trace_id: str) -> Trace:
    """A vendored trace, exact to its 100 ns ticks. Raises KeyError for an unknown id."""
    spec = BUILTIN_TRACES[trace_id]
    with np.load(DATA / spec.file, allow_pickle=False) as arrays:
        gaps = arrays["gap_ticks"].astype(np.int64)
        return Trace(
            name=spec.id,
            arrival_ns=np.cumsum(gaps) * TICK_NS,
            prompt_tokens=arrays["prompt_tokens"].astype(np.int64),
            output_tokens=arrays["output_tokens"].astype(np.int64),
        )
