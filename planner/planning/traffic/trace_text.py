"""A trace as a scenario carries it: the text of a table, and the size of its hashed blocks."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from planner.planning.traffic.block_cache import as_ranges
from planner.planning.traffic.traces import NS_PER_S, Trace


def trace_fields(trace: Trace) -> dict[str, Any]:
    """`csv` and, where prompts have hashed blocks, `block_tokens` of a scenario's `traffic.trace`.

    Columns: time in s to the nanosecond, tokens of prompt and output (0: failed), then what the trace tells beside:
    session, the number of the conversation, and blocks, the runs of hashed blocks.
    """
    names = ["timestamp_s", "prompt_tokens", "output_tokens"]
    columns = [
        [f"{ns // NS_PER_S}.{ns % NS_PER_S:09d}" for ns in trace.arrival_ns.tolist()],
        map(str, trace.prompt_tokens.tolist()),
        map(str, trace.output_tokens.tolist()),
    ]
    fields: dict[str, Any] = {}
    if trace.session is not None:
        names.append("session")
        columns.append([str(number) if number >= 0 else "" for number in trace.session.tolist()])
    if trace.blocks is not None:
        names.append("blocks")
        ids, offsets = trace.blocks.ids.tolist(), trace.blocks.offsets.tolist()
        columns.append([as_ranges(ids[a:b]) for a, b in pairwise(offsets)])
        fields["block_tokens"] = trace.blocks.block_tokens
    rows = (",".join(cells) + "\n" for cells in zip(*columns, strict=True))
    return {"csv": ",".join(names) + "\n" + "".join(rows), **fields}
