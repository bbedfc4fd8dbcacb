"""The Celery application; its messages only wake workers, see `planner.runs`."""

import os
from typing import Any

from celery import Celery, signals

from planner.core import filebroker, lifeline, pool_guard

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.settings.base")

filebroker.register()
app = Celery("planner")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()


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
