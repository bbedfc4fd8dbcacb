"""Rows predicted with the measured source of step times in place of our own model."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from costmodel import Deployment
from costmodel.steptime import StepTimeTables
from costmodel.steptime.silicon import SiliconMissingError, silicon_step_time_tables, silicon_version
from costmodel.steptime.silicon_names import SiliconRefusedError
from planner.planning.validation.unusable import Unusable


@dataclass(frozen=True, slots=True)
class MeasuredSteps:
    """The measured source; tabulated curves are kept in `cache_folder`, where there is one."""

    cache_folder: Path | None = None

    def tables(self, deployment: Deployment) -> StepTimeTables:
        """Raises Unusable where the source does not cover the deployment."""
        try:
            return silicon_step_time_tables(deployment, self.cache_folder).tables
        except SiliconRefusedError as problem:
            raise Unusable(f"measured source: {problem.reason}") from problem


def missing_source() -> str | None:
    """One line saying how to install the source, or None where it is there."""
    try:
        silicon_version()
    except SiliconMissingError as problem:
        return str(problem)
    return None
