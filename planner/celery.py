"""The Celery application; its messages only wake workers, see `planner.runs`."""

import logging
import os
import uuid
from typing import Any

from celery import Celery, signals

from planner.core import filebroker, lifeline, pool_guard

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.settings.base")

RETRY_ONCE = {"max_retries": 1, "interval_start": 0, "interval_step": 0}  # a pooled connection may have gone stale

logger = logging.getLogger(__name__)
filebroker.register()
app = Celery("planner")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


def wake_worker(task: str, row_id: uuid.UUID) -> bool:
    """Tells the workers of a row that waits. False: the broker did not take it; the reaper will send it again."""
    try:
        app.send_task(task, args=[str(row_id)], retry_policy=RETRY_ONCE, ignore_result=True)
    except Exception as error:  # each broker has its own errors, and the row is safely stored whichever it was
        logger.warning(
            "%s %s: the broker took no message (%s); the reaper sends it again", task, row_id, type(error).__name__
        )
        return False
    return True


@signals.worker_init.connect
def _begin_worker(**_: Any) -> None:
    """Compiles the kernels in the parent: its children then start in milliseconds instead of seconds."""
    lifeline.hold()
    from planner.planning import warm_up  # loads numba, which no other process should

    warm_up()


@signals.worker_ready.connect
def _guard_pool(sender: Any, **_: Any) -> None:
    pool_guard.watch(sender)


@signals.setup_logging.connect
def _setup_logging(**_: Any) -> None:
    """Workers log as the settings say; connecting here keeps Celery from installing handlers of its own."""
    import logging.config

    from django.conf import settings

    logging.config.dictConfig(settings.LOGGING)
