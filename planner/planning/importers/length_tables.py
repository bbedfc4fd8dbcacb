"""Distributions of lengths as tables of [tokens, share of requests up to it]."""

from __future__ import annotations

from typing import Any

from planner.planning.importers.cells import printable

MAX_POINTS = 100_000
LEAST_LONGEST = 2
"""Tokens; what never reaches two is a distribution of something else, such as of a share."""
Table = tuple[tuple[float, float], ...]


def length_tables(document: Any) -> dict[str, Table]:
    """Every table in a JSON document, by its path, as pairs [ratio, tokens] that rise; empty where there is none."""
    tables: dict[str, Table] = {}
    _find(document, "", tables, 0)
    return tables


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
