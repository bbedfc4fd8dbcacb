"""The messages that wake workers. They carry no truth: losing or doubling one harms nothing."""

import uuid

from planner.celery import wake_worker

EXECUTE = "planner.runs.execute"


def wake(run_id: uuid.UUID) -> bool:
    """Tells the workers of a queued run. False: the broker did not take it; the reaper will send it again."""
    return wake_worker(EXECUTE, run_id)
