"""The store of browser sessions: Django's, whose rows also say whose they are, so that people can end them."""

import hashlib
from datetime import UTC, datetime
from typing import Any

from django.contrib.auth import SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore as DatabaseStore

from planner.teams.models import BrowserSession, User

BROWSER, SIGNED_IN_AT, SEEN_AT = "browser", "signed_in_at", "seen_at"


class SessionStore(DatabaseStore):
    """Copies person, browser and times out of the session into columns of its row."""

    @classmethod
    def get_model_class(cls) -> type[BrowserSession]:
        return BrowserSession

    def create_model_instance(self, data: dict[str, Any]) -> BrowserSession:
        row: BrowserSession = super().create_model_instance(data)  # type: ignore[assignment]
        row.user_id = int(data[SESSION_KEY]) if SESSION_KEY in data else None
        row.browser = data.get(BROWSER, "")
        row.signed_in_at, row.seen_at = _moment(data.get(SIGNED_IN_AT)), _moment(data.get(SEEN_AT))
        return row


def _moment(stamp: float | None) -> datetime | None:
    return None if stamp is None else datetime.fromtimestamp(stamp, UTC)


def sessions_of(user: User) -> list[BrowserSession]:
    """The person's sessions that still let in, the last used first."""
    rows = BrowserSession.objects.filter(user=user, expire_date__gt=datetime.now(UTC))
    return list(rows.order_by("-seen_at", "session_key"))


def mark_of(session_key: str) -> str:
    """Names a session on pages, where its key must not stand."""
    return hashlib.sha256(f"session:{session_key}".encode()).hexdigest()[:32]


def sessions_end(user: User, *, mark: str | None = None, but: str | None = None) -> int:
    """Ends the session of this mark, or all but that of the key `but`; returns how many ended."""
    keys = [row.session_key for row in sessions_of(user) if row.session_key != but]
    ended = [key for key in keys if mark in (None, mark_of(key))]
    BrowserSession.objects.filter(session_key__in=ended).delete()
    return len(ended)
