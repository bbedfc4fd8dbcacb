"""Closed-form estimates, kept by digest: a sheet asks the same again and again."""

import hashlib
import json
import zlib
from collections.abc import Callable
from threading import Lock
from typing import Any

from django.core.cache import caches

from planner import planning

_ONE_AT_A_TIME = Lock()
"""Of one process: threads that compute side by side take turns anyway, and pay for each turn."""


def estimate(scenario: planning.Scenario) -> dict[str, Any]:
    """The whole estimate."""
    return _kept("document", scenario, planning.estimate_scenario)


def cells(scenario: planning.Scenario) -> dict[str, Any]:
    """The estimate as one flat row of planning.ESTIMATE_COLUMNS."""
    return _kept("cells", scenario, planning.estimate_cells)


def _kept(
    kind: str, scenario: planning.Scenario, compute: Callable[[planning.Scenario], dict[str, Any]]
) -> dict[str, Any]:
    """The digest covers the scenario with its date and the versions of engine and catalog, so nothing goes stale."""
    versions = f"{planning.scenario_digest(scenario)} {planning.result_version()}"
    key = f"{kind}:{hashlib.sha256(versions.encode()).hexdigest()}"
    known = _known(key)
    if known is not None:
        return known
    with _ONE_AT_A_TIME:
        known = _known(key)  # by another thread meanwhile
        if known is not None:
            return known
        answer = compute(scenario)
        caches["estimates"].set(key, zlib.compress(json.dumps(answer, ensure_ascii=False).encode(), 1))
        return answer


def _known(key: str) -> dict[str, Any] | None:
    packed = caches["estimates"].get(key)
    if packed is None:
        return None
    found: dict[str, Any] = json.loads(zlib.decompress(packed))
    return found
