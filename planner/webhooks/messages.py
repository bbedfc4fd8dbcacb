"""The message that wakes a worker for a delivery; losing or doubling one harms nothing."""

import uuid

from planner.celery import wake_worker

DELIVER = "planner.webhooks.deliver"


def wake(delivery_id: uuid.UUID) -> bool:
    """False: the broker did not take it; the reaper will send it again."""
    return wake_worker(DELIVER, delivery_id)
