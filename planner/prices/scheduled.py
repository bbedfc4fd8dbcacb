"""The schedule: where switched on, each list is fetched anew after so many hours, and its difference waits."""

import logging
from datetime import timedelta

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from planner import planning
from planner.prices.fetching import fetch
from planner.prices.messages import FETCH
from planner.prices.models import FeedFetch, PriceRefresh
from planner.prices.services import refresh_read

logger = logging.getLogger(__name__)


def feeds() -> list[planning.Feed]:
    """The lists of PLANNER_PRICE_FEEDS."""
    return [planning.parse_feed(text) for text in settings.PRICE_FEEDS]


def wake_due_fetches() -> None:
    """Has workers fetch what is due. For the reaper; any number of them may look at once."""
    if not settings.PRICE_REFRESH_HOURS or not settings.PRICE_FEEDS:
        return
    from planner.celery import app

    before = timezone.now() - timedelta(hours=settings.PRICE_REFRESH_HOURS)
    for feed in feeds():
        if not _take_turn(feed.name, before):
            continue
        try:
            app.send_task(FETCH, args=[feed.name], ignore_result=True)
        except Exception as error:  # each broker has its own errors; the next turn tries again
            logger.warning("%s: the broker took no message (%s)", feed.name, type(error).__name__)
            FeedFetch.objects.filter(feed=feed.name).update(tried_at=before)


@transaction.atomic
def _take_turn(name: str, before: object) -> bool:
    """Whether this reaper is the one that asks for the list now."""
    now = timezone.now()
    _, made = FeedFetch.objects.get_or_create(feed=name, defaults={"tried_at": now})
    return made or bool(FeedFetch.objects.filter(feed=name, tried_at__lte=before).update(tried_at=now))


def fetch_scheduled(name: str) -> PriceRefresh | None:
    """Fetches one list and keeps its difference, which waits for approval; None and a note where that failed."""
    feed = next((feed for feed in feeds() if feed.name == name), None)
    if feed is None:
        return None  # taken out of the settings since the message was sent
    try:
        data = fetch(feed, private=settings.PRICE_FEEDS_PRIVATE)
        found = refresh_read(data=data, feed=feed, source=feed.address, as_of=timezone.now().date())
    except planning.FeedInvalid as invalid:
        logger.warning("price list %s: %s", name, invalid)
        _note(name, f"{invalid}")
        return None
    _note(name, f"{found.changes_count} changes, {found.flagged_count} to be looked at")
    return found


def _note(name: str, outcome: str) -> None:
    FeedFetch.objects.filter(feed=name).update(outcome=outcome[:300])
