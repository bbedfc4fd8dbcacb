"""The sample scenario is planned once for all tests of this folder."""

from typing import Any

import pytest

from planner.planning import Progress, parse_scenario, plan, sample_scenario


@pytest.fixture(scope="session")
def sample_run() -> tuple[dict[str, Any], list[Progress]]:
    """The sample's report, and all that was said on the way."""
    said: list[Progress] = []

    def listen(progress: Progress) -> bool:
        said.append(progress)
        return True

    return plan(parse_scenario(sample_scenario()), listen), said


@pytest.fixture(scope="session")
def sample(sample_run: tuple[dict[str, Any], list[Progress]]) -> dict[str, Any]:
    return sample_run[0]
