"""What workers listen to."""

from celery import shared_task

from planner.prices.messages import FETCH
from planner.prices.scheduled import fetch_scheduled


@shared_task(name=FETCH)
def fetch_prices(feed: str) -> None:
    """Fetches a scheduled price list and keeps its difference for approval."""
    fetch_scheduled(feed)
