"""Distributions of lengths: tables of [tokens, share of requests up to it], or ServeGen's shares by tokens."""

from __future__ import annotations

import re
from typing import Any

from planner.planning.importers.cells import printable

MAX_POINTS = 100_000
SUM_TOLERANCE = 0.02
_PAIR = re.compile(r"([\d.]+)['\"]?\s*:\s*([\d.eE+-]+)")
LEAST_LONGEST = 2
"""Tokens; what never reaches two is a distribution of something else, such as of a share."""
Table = tuple[tuple[float, float], ...]


def length_tables(document: Any) -> dict[str, Table]:
    """Every table in a JSON document, by its path, as pairs [ratio, tokens] that rise; empty where there is none."""
    windows = _windows(document)
    if windows:
        return windows
    tables: dict[str, Table] = {}
    _find(document, "", tables, 0)
    return tables


def _windows(document: Any) -> dict[str, Table]:
    """Of {"600": {"input_tokens": {tokens: share}}}, windows of a client's day, the mean of each kind of length; every
    window counts alike, since their rates stand in another file."""
    if not isinstance(document, dict) or not document or not all(_is_count(key) for key in document):
        return {}
    sums: dict[str, dict[float, float]] = {}
    counts: dict[str, int] = {}
    for window in document.values():
        if not isinstance(window, dict):
            return {}
        for name, value in window.items():
            shares = _shares(value)
            if shares:
                kind = printable(name, 60)
                counts[kind] = counts.get(kind, 0) + 1
                for tokens, share in shares.items():
                    sums.setdefault(kind, {})[tokens] = sums.get(kind, {}).get(tokens, 0.0) + share
    means = {kind: {tokens: share / counts[kind] for tokens, share in by.items()} for kind, by in sums.items()}
    return {kind: table for kind, shares in means.items() if (table := _cumulated(shares))}


def _shares(value: Any) -> dict[float, float] | None:
    """{tokens: share}, as an object or as the text of one; None for anything else."""
    if isinstance(value, str):
        text = value.strip()
        if not text.startswith("{") or not text.endswith("}"):
            return None
        value = dict(_PAIR.findall(text))
    if not isinstance(value, dict) or not 1 <= len(value) <= MAX_POINTS:
        return None
    try:
        shares = {float(tokens): float(share) for tokens, share in value.items()}
    except (TypeError, ValueError):
        return None
    fits = all(0 <= tokens < 1e9 and 0 <= share <= 1 for tokens, share in shares.items())
    return shares if fits and abs(sum(shares.values()) - 1) < SUM_TOLERANCE else None


def _cumulated(shares: dict[float, float]) -> Table | None:
    total, points = 0.0, []
    whole = sum(shares.values())
    for tokens in sorted(shares):
        total += shares[tokens]
        points.append((min(1.0, total / whole), tokens))
    return tuple(points) if points[-1][1] >= LEAST_LONGEST else None


def _is_count(key: object) -> bool:
    return isinstance(key, str) and key.replace(".", "", 1).isdecimal()


def _find(value: Any, path: str, tables: dict[str, Table], depth: int) -> None:
    if depth > 4:
        return
    table = _table(value)
    if table:
        tables[path or "lengths"] = table
    elif isinstance(value, dict):
        for key, part in list(value.items())[:200]:
            name = printable(key, 60)
            _find(part, path if name == "cdf" else f"{path}/{name}".lstrip("/"), tables, depth + 1)


def _table(value: Any) -> Table | None:
    if not isinstance(value, list) or not 2 <= len(value) <= MAX_POINTS:
        return None
    points: list[tuple[float, float]] = []
    for entry in value:
        if not isinstance(entry, list) or len(entry) != 2 or not all(_is_plain(part) for part in entry):
            return None
        tokens, ratio = entry
        if not 0 <= ratio <= 1 or tokens < 0 or (points and (ratio < points[-1][0] or tokens < points[-1][1])):
            return None
        points.append((float(ratio), float(tokens)))
    return tuple(points) if points[-1][1] >= LEAST_LONGEST else None


def _is_plain(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e9


def quantiles(table: Table) -> list[list[float]]:
    """Points as a scenario's `empirical` lengths take them: from 0 to 1, at least 1 token, at most 201 of them."""
    points = [list(point) for point in table if point[1] >= 1]
    if not points:
        return []
    if points[0][0] > 0:
        points.insert(0, [0.0, 1.0])
    if points[-1][0] < 1:
        points.append([1.0, points[-1][1]])
    rising = [points[0]]
    for point in points[1:]:
        if point[0] > rising[-1][0]:
            rising.append(point)
    step = -(-len(rising) // 200)
    kept = rising[::step]
    return kept if kept[-1] is rising[-1] else [*kept, rising[-1]]
