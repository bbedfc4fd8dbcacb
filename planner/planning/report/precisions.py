"""Number formats side by side: of each the cheapest fleet, with its memory. What they do to answers is not judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from planner.planning.search.candidates import Candidate

Row = dict[str, Any]
NOT_JUDGED = "Number formats are compared by cost and speed; what they do to answers is not judged: try yours."


def precision_rows(candidates: Sequence[Candidate], rows: Sequence[Row], chosen: str | None) -> list[Row]:
    """One row for each format that was tried, the cheapest first; none where the scenario leaves no choice.

    rows: those of `candidates`, in the same order. Fleets that were simulated go before those that were not.
    weights_gib is of one GPU. A format in which nothing meets the targets has its first reason.
    """
    best: dict[str, tuple[tuple[bool, bool, bool, float], Candidate, Row]] = {}
    for candidate, row in zip(candidates, rows, strict=True):
        said = candidate.precision.said
        if not said:
            continue
        month = row["usd_per_month"]["mid"] if row["usd_per_month"] else float("inf")
        rank = (row["id"] != chosen, not row["feasible"], not row["simulated"], float(month))
        if said not in best or rank < best[said][0]:
            best[said] = (rank, candidate, row)
    found = sorted(best.values(), key=lambda item: item[0][1:])
    return [_row(candidate, row, row["id"] == chosen) for _, candidate, row in found]


def _row(candidate: Candidate, row: Row, chosen: bool) -> Row:
    memory = candidate.memory
    fits = memory is not None and memory.fits
    same = (
        "precision", "weight_dtype", "kv_dtype", "gpu", "tp", "pp", "ep", "dp", "feasible", "simulated", "reason",
        "replicas", "gpus", "usd_per_month", "kv_tokens",
    )  # fmt: skip
    return {
        "candidate": row["id"],
        **{name: row[name] for name in same},
        "weights_gib": memory.weights_gib if memory is not None else None,
        "kv_bytes_per_token": memory.kv_bytes_per_token if memory is not None and fits else None,
        "chosen": chosen,
    }


def precision_sentence(candidate: Candidate, native: str) -> str:
    """What the recommended fleet runs in, where there was a choice and it is not what ships."""
    deployment, said = candidate.deployment, candidate.precision.said
    assert deployment is not None
    if not said or (deployment.weight_dtype == native and deployment.kv_dtype != "fp8"):
        return ""
    return f"It runs on {said}. {NOT_JUDGED}"
