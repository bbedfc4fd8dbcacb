"""What workers listen to."""

import uuid

from celery import shared_task

from planner.webhooks.delivering import attempt
from planner.webhooks.messages import DELIVER


@shared_task(name=DELIVER)
def deliver(delivery_id: str) -> None:
    """Makes one attempt if one is due; a doubled or late message does nothing."""
    attempt(uuid.UUID(delivery_id))
