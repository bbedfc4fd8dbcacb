"""Closed-form estimates, kept by digest: a sheet asks the same again and again."""

import hashlib
from collections.abc import Callable
from threading import Lock
from typing import Any

from planner import planning
from planner.core.kept_answers import find_answer, keep_answer

_ONE_AT_A_TIME = Lock()
"""Of one process: threads that compute side by side take turns anyway, and pay for each turn."""


def estimate(scenario: planning.Scenario) -> dict[str, Any]:
    """The whole estimate."""
    return _kept("document", scenario, planning.estimate_scenario)


def cells(scenario: planning.Scenario) -> dict[str, Any]:
    """The estimate as one flat row of planning.ESTIMATE_COLUMNS. Columns are only ever added: one that was kept with
    fewer is not found."""
    return _kept(f"cells:{len(planning.ESTIMATE_COLUMNS)}", scenario, planning.estimate_cells)


def _kept(
    kind: str, scenario: planning.Scenario, compute: Callable[[planning.Scenario], dict[str, Any]]
) -> dict[str, Any]:
    """The digest covers the scenario with its date and the versions of engine and catalog, so nothing goes stale."""
    versions = f"{planning.scenario_digest(scenario)} {planning.result_version()}"
    key = f"{kind}:{hashlib.sha256(versions.encode()).hexdigest()}"
    known = find_answer(key)
    if known is not None:
        return known
    with _ONE_AT_A_TIME:
        known = find_answer(key)  # kept by another thread meanwhile
        if known is None:
            known = compute(scenario)
            keep_answer(key, known)
        return known
