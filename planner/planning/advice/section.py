"""The `advice` part of the report."""

from __future__ import annotations

from typing import Any

from planner.planning.advice.failure_modes import failure_modes
from planner.planning.advice.kubernetes import manifests
from planner.planning.advice.load_test import load_test_plan
from planner.planning.advice.watch import limit_rows, watch_rows
from planner.planning.money.bills import FleetBill
from planner.planning.report.launch_commands import engine_commands, pool_rows
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized


def advice_section(
    job: Job, size: Sized, bill: FleetBill, load: dict[str, Any], slo_probability: float
) -> dict[str, Any]:
    """load: the section of that name; slo_probability: of the recommended fleet."""
    deployment = size.candidate.deployment
    assert deployment is not None
    pools = pool_rows(job.scenario, size.candidate, bill)
    commands = pools[0]["commands"] if pools else engine_commands(job.scenario, deployment)
    watch = watch_rows(job, size, load)
    return {
        "watch": watch,
        "limits": limit_rows(job, size, load),
        "failure_modes": failure_modes(job, size, load, slo_probability),
        "load_test": load_test_plan(job, size),
        "kubernetes": manifests(job, size, bill, commands, pools, watch),
    }
