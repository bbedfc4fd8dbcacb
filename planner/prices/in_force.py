"""The prices in force: the shipped ones and all approvals. Looked up once in a while, not with each request.

A process that did not see an approval yet answers with the former prices for at most `PRICES_LOOK_S`; its answers
name the catalog version that they rest on, so none is wrong about itself.
"""

import logging
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from django.conf import settings
from django.db import Error
from django.http import HttpRequest, HttpResponse

from planner import planning
from planner.prices.models import PriceRefresh, RefreshState

WITHOUT_PRICES = frozenset({"/healthz", "/readyz"})
BOOKS_KEPT = 4
"""Former ones are for runs that were asked of them and have not ended."""

logger = logging.getLogger(__name__)
_lock = threading.Lock()
_books: dict[str, planning.PriceBook] = {"": planning.SHIPPED_PRICES}
_seen: dict[str, Any] = {"digest": "", "looked_s": None}


def book_in_force() -> planning.PriceBook:
    """What new answers rest on. While the database is away, what was in force when it last answered."""
    look_s = settings.PRICES_LOOK_S
    if look_s is None:
        return _books[_seen["digest"]]
    now_s = time.monotonic()
    if _seen["looked_s"] is None or now_s - _seen["looked_s"] >= look_s:
        try:
            digest = _newest_digest()
            if digest not in _books:
                _keep(digest)
            _seen.update(digest=digest, looked_s=now_s)
        except Error as away:
            _seen["looked_s"] = now_s
            logger.warning("approved prices could not be looked up (%s)", type(away).__name__)
    return _books.get(_seen["digest"], planning.SHIPPED_PRICES)


def book_of(result_version: str) -> planning.PriceBook:
    """The prices that a result's version names; those in force where it names approvals that are not here."""
    digest = planning.approved_digest(result_version)
    if digest is None:
        return book_in_force()
    if digest not in _books:
        _keep(digest)
    return _books.get(digest) or book_in_force()


def look_again() -> None:
    """Has this process look at once: something was approved here."""
    _seen["looked_s"] = None


def forget() -> None:
    """As after a start; for tests, whose database is taken back."""
    with _lock:
        _books.clear()
        _books[""] = planning.SHIPPED_PRICES
        _seen.update(digest="", looked_s=None)


@contextmanager
def prices_in_force() -> Iterator[None]:
    """Work with the prices in force inside the block, whatever is approved meanwhile."""
    with planning.using_prices(book_in_force()):
        yield


@contextmanager
def stored_prices() -> Iterator[None]:
    """The same for a command that has to work where nothing is stored: the shipped prices then, and no file is made."""
    database = settings.DATABASES["default"]
    if database["ENGINE"].endswith("sqlite3") and not Path(database["NAME"]).exists():
        yield
        return
    with prices_in_force():
        yield


class PricesInForce:
    """One request is answered by one set of prices. What says whether the process lives asks no database."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path in WITHOUT_PRICES:
            return self.get_response(request)
        with prices_in_force():
            return self.get_response(request)


def approvals(until: int | None = None) -> list[PriceRefresh]:
    """Everything approved, the oldest first; until: up to that number."""
    rows = PriceRefresh.objects.filter(state=RefreshState.APPROVED)
    return list((rows if until is None else rows.filter(number__lte=until)).order_by("number"))


def approved_part(row: PriceRefresh) -> Any:
    """A row as planning takes it."""
    if row.kind == "gpu":
        return planning.approved_gpu(row.kept)
    name = f"{row.source} ({row.licence})"
    return planning.approved_api(zlib.decompress(bytes(row.document)), name, row.as_of.isoformat(), row.kept)


def _newest_digest() -> str:
    newest = PriceRefresh.objects.filter(number__isnull=False).order_by("-number")
    return newest.values_list("book_after", flat=True).first() or ""


def _keep(digest: str) -> None:
    """Builds the book of a digest, once; thousands of rows and a list of megabytes are not read again."""
    with _lock:
        if digest in _books:
            return
        number = PriceRefresh.objects.filter(book_after=digest).values_list("number", flat=True).first()
        if number is None:
            return
        book = planning.book_of(approved_part(row) for row in approvals(number))
        while len(_books) >= BOOKS_KEPT:
            oldest = next(name for name in _books if name not in ("", _seen["digest"]))
            del _books[oldest]
        _books[digest] = book
