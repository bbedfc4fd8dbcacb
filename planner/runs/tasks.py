"""What workers listen to."""

import uuid

from celery import shared_task

from planner.runs import leases
from planner.runs.execution import execute
from planner.runs.messages import EXECUTE


@shared_task(name=EXECUTE)
def execute_run(run_id: str) -> None:
    """Works on the run if it is to be had; a doubled or late message does nothing."""
    lease = leases.claim(uuid.UUID(run_id))
    if lease is not None:
        execute(lease)
