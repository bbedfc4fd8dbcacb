"""Signing in: how long it lasts, how recent it is, how often it may be tried, and what is logged of it."""

import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.contrib.auth import authenticate
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.backends.base import SessionBase
from django.dispatch import receiver
from django.http import HttpRequest, HttpResponse
from django.utils.crypto import salted_hmac

from planner.core.client_address import client_address
from planner.core.limits import count_up
from planner.teams.browser_sessions import BROWSER, SEEN_AT, SIGNED_IN_AT
from planner.teams.models import User

logger = logging.getLogger("planner.signing_in")
CONFIRMED_AT = "confirmed_at"
CONFIRMED_FOR_S = 900
"""How long a password typed lets one do what asks for it."""
SEEN_STEP_S = 300
_BROWSERS = ("Edg", "OPR", "Firefox", "Chrome", "Safari", "curl")
_SHOWN = {"Edg": "Edge", "OPR": "Opera"}
_SYSTEMS = ("Windows", "Android", "iPhone", "iPad", "Mac OS", "Linux")


class KeepSignedIn:
    """Moves the end of a session that is in use: so long after the last request, but never later than so long after
    signing in. Written at most every five minutes."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if settings.SESSION_COOKIE_NAME in request.COOKIES:
            session = request.session
            if time.time() - session.get(SEEN_AT, time.time()) > SEEN_STEP_S:
                _seen(session)
        return self.get_response(request)


def _seen(session: SessionBase) -> None:
    now_s = time.time()
    session[SEEN_AT] = now_s
    ends_s = min(now_s + settings.SESSION_COOKIE_AGE, session[SIGNED_IN_AT] + settings.SESSION_LIFE_S)
    session.set_expiry(datetime.fromtimestamp(ends_s, UTC))


@receiver(user_logged_in)
def _begin(sender: object, request: HttpRequest, user: User, **_: Any) -> None:
    """Notes when and with what someone signed in; having just done so is as good as confirming it."""
    session = request.session
    session[SIGNED_IN_AT] = session[CONFIRMED_AT] = time.time()
    session[BROWSER] = browser_label(request.headers.get("User-Agent", ""))
    _seen(session)
    logger.info("signed in: person=%s by=%s", user.pk, getattr(user, "backend", "").rpartition(".")[2])


@receiver(user_logged_out)
def _end(sender: object, request: HttpRequest, user: User | None, **_: Any) -> None:
    if user is not None:
        logger.info("signed out: person=%s", user.pk)


@receiver(user_login_failed)
def _failed(sender: object, credentials: dict[str, Any], **_: Any) -> None:
    """The account shows as a keyed mark: equal for equal addresses, and nobody's address in the log."""
    logger.warning("sign-in failed: account=%s", _mark(str(credentials.get("username", ""))))


def browser_label(user_agent: str) -> str:
    """Browser and system in two words, such as "Firefox, Linux": enough to know one's own by, and no more is kept."""
    browser = next((name for name in _BROWSERS if re.search(rf"\b{name}\w*/", user_agent)), "")
    system = next((name for name in _SYSTEMS if name in user_agent), "")
    return ", ".join(filter(None, (_SHOWN.get(browser, browser), system.replace("Mac OS", "macOS")))) or "A program"


def confirmed_lately(session: SessionBase) -> bool:
    """Whether the person signed in or typed the password again in the last 15 minutes."""
    return bool(0 <= time.time() - session.get(CONFIRMED_AT, 0) < CONFIRMED_FOR_S)


def confirm(request: HttpRequest, password: str) -> bool:
    """Takes the password of whoever is signed in: right, the session gets a new key and counts as confirmed."""
    if not password_is(request, password):
        return False
    request.session.cycle_key()
    request.session[CONFIRMED_AT] = time.time()
    return True


def password_is(request: HttpRequest, password: str) -> bool:
    """Whether this is the password of whoever is signed in; wrong guesses count as failed attempts to sign in."""
    user = request.user
    if not isinstance(user, User) or wait_before_trying(request, user.email):
        return False
    return authenticate(request, username=user.email, password=password) == user


def wait_before_trying(request: HttpRequest, address: str) -> int:
    """Counts an attempt on the account of this e-mail; returns how many seconds to wait, 0: go on. It is as long for an
    address that nobody has."""
    counts = (
        (f"sign-in-place:{client_address(request)}", settings.SIGN_INS_PER_PLACE, settings.SIGN_INS_PER_PLACE_S),
        (f"sign-in-account:{_mark(address)}", settings.SIGN_INS_PER_ACCOUNT, settings.SIGN_INS_PER_ACCOUNT_S),
    )
    waits = [0]
    for name, allowed, window_s in counts:
        count, left_s = count_up(name, window_s)
        waits.append(left_s if count > allowed else 0)
    return max(waits)


def _mark(address: str) -> str:
    return salted_hmac("planner.signing_in", address.strip().lower(), algorithm="sha256").hexdigest()[:16]
