"""The messages that wake workers. They carry no truth: losing or doubling one harms nothing."""

import logging
import uuid

from planner.celery import app

EXECUTE = "planner.runs.execute"
RETRY_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0}  # a pooled connection may have gone stale

logger = logging.getLogger(__name__)


def wake(run_id: uuid.UUID) -> bool:
    """Tells the workers of a queued run. False: the broker did not take it; the reaper will send it again."""
    try:
        app.send_task(EXECUTE, args=[str(run_id)], retry_policy=RETRY_ONCE, ignore_result=True)
    except Exception as error:  # each broker has its own errors, and the run is safely stored whichever it was
        logger.warning(
            "run %s: the broker took no message (%s); the reaper sends it again", run_id, type(error).__name__
        )
        return False
    return True
