"""A load test as one JSON document: what `measure` writes, and `measurements` reads back."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from planner.planning.measuring.answers import SEVERAL_TOKENS
from planner.planning.measuring.search import curve, knee

FORMAT = "staircase-measurement"
VERSION = 1
DEFINITIONS = {
    "ttft": "from the instant at which a request was meant to be sent to its first chunk with text",
    "tpot": "(last chunk with text - first) / (output tokens - 1), one value a request; none for one token",
    "itl": "between two chunks with text, one value a gap; a chunk may carry several tokens",
    "e2e": "from the instant at which a request was meant to be sent to its last chunk with text",
    "latencies": "of requests meant to be sent within the window and answered; nearest rank, in ms",
    "rates": "of what ended within the window, by the server's count of tokens",
    "targets": "judged with requests that failed as infinitely slow",
}


def measurement(facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]], notes: Sequence[str]) -> dict[str, Any]:
    """The document. facts: server, scenario, settings, and why it ended."""
    plain = [dict(row) for row in rows]
    return {
        "format": FORMAT,
        "version": VERSION,
        **facts,
        "definitions": DEFINITIONS,
        "notes": list(dict.fromkeys([*notes, *(note for row in plain for note in row_notes(row))])),
        "knee": knee(plain),
        "curve": curve(plain),
        "steps": plain,
    }


MOST_ADDED_PCT = 3.0
"""What the client may add to the median TTFT before it says so."""


def row_notes(row: Mapping[str, Any]) -> list[str]:
    """What one should know about a step before believing it."""
    label = row["label"]
    notes = [
        f"{label}: the load generator was the bottleneck, not the server: {why}" for why in row["client"]["limited"]
    ]
    adds_pct = row["client"]["adds_pct"]
    if adds_pct is not None and adds_pct > MOST_ADDED_PCT:
        notes.append(
            f"{label}: this machine could not keep up: it was late by {row['client']['adds_ms']:.1f} ms in the mean, "
            f"so TTFT is about {adds_pct:.0f} % too high; leave a core to the load generator"
        )
    if row["stopped"]:
        notes.append(f"{label}: stopped: {row['stopped']}")
    per_chunk = row["tokens_per_chunk"]
    if per_chunk is not None and per_chunk > SEVERAL_TOKENS:
        notes.append(f"{label}: a chunk carries {per_chunk:.2f} tokens: ITL is per chunk, TPOT per token")
    if row["latencies_ms"] and row["output_tokens"] is None and row["completed"]:
        notes.append("the server sends no usage: token counts, TPOT and tokens per second are unknown")
    notes += [f"{label}: {row['errors'][error]} requests: {detail}" for error, detail in row["error_details"].items()]
    notes += _lengths(row)
    return notes


def _lengths(row: Mapping[str, Any]) -> list[str]:
    """Prompts or answers of other lengths than were asked for make another load."""
    notes = []
    for name, words in (("input", "prompts"), ("output", "answers")):
        columns, asked = row["requests"], row[f"asked_{name}_tokens_mean"]
        known = [each for each in columns[f"{name}_tokens"] if each is not None]
        if asked and known and abs(sum(known) / len(known) / asked - 1) > 0.05 and not any(row["errors"].values()):
            notes.append(
                f"{row['label']}: {words} had {sum(known) / len(known):.0f} tokens, {asked:.0f} were asked for"
            )
    return notes


def measurement_text(document: Mapping[str, Any]) -> str:
    """The document for people: a line a step, the knee, and the notes."""
    lines = [_HEAD, *map(_line, document["steps"])]
    found = document["knee"]
    if found is None:
        lines.append("knee: no step met all targets" if document["steps"] else "nothing was measured")
    else:
        tokens = found["output_tokens_per_s"]
        more = "" if tokens is None else f", {tokens:,.0f} output tokens/s"
        unsure = (
            "; the server may take more, as the load generator was the bottleneck" if found["client_limited"] else ""
        )
        lines.append(f"knee: all targets met up to {found['request_rps']:.4g} requests/s served{more}{unsure}")
    if document.get("ended"):
        lines.append(f"ended: {document['ended']}")
    lines += [f"note: {note}" for note in document["notes"]]
    return "\n".join(lines)


_HEAD = (
    f"{'load':<18}{'served':>9}{'tokens/s':>10}{'TTFT p50':>10}{'p95':>8}{'TPOT p50':>10}{'p95':>8}"
    f"{'E2E p50':>10}{'p95':>8}{'good':>7}{'failed':>8}  targets"
)


def progress_text(row: Mapping[str, Any]) -> str:
    """A step that has just ended."""
    return f"{row['label']}: {_short(row['request_rps'], 2)} requests/s served, targets {_verdict(row)}"


def _line(row: Mapping[str, Any]) -> str:
    def of(metric: str, percentile: str) -> float | None:
        value = row["latencies_ms"].get(metric, {}).get(percentile)
        return None if value is None else float(value)

    return (
        f"{row['label']:<18}{_short(row['request_rps'], 2):>9}{_short(row['output_tokens_per_s']):>10}"
        f"{_short(of('ttft', 'p50')):>10}{_short(of('ttft', 'p95')):>8}"
        f"{_short(of('tpot', 'p50'), 1):>10}{_short(of('tpot', 'p95'), 1):>8}"
        f"{_short(of('e2e', 'p50')):>10}{_short(of('e2e', 'p95')):>8}"
        f"{_percent(row['goodput_ratio']):>7}{row['failed']:>8}  {_verdict(row)}"
    )


def _verdict(row: Mapping[str, Any]) -> str:
    verdict = {True: "met", False: "missed", None: "unknown: too few requests"}[row["passes"]]
    if row["saturated"]:
        verdict = "missed: over-saturated"
    return f"{verdict}; client limited" if row["client"]["limited"] else verdict


def _short(value: float | None, digits: int = 0) -> str:
    return "-" if value is None or not math.isfinite(value) else f"{value:,.{digits}f}"


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.0%}"
