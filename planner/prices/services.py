"""Reading a list, approving what it would change, turning it down."""

import hashlib
import zlib
from collections.abc import Iterable
from datetime import date

from django.db import transaction
from django.utils import timezone

from planner import planning
from planner.prices import in_force
from planner.prices.models import PriceRefresh, RefreshState
from planner.teams.models import User

FIRST_DAY = date(2020, 1, 1)


class RefreshRefused(Exception):  # noqa: N818 - the name says what happened
    """What was asked cannot be done; the message is for people."""


def refresh_read(*, data: bytes, feed: planning.Feed, source: str, as_of: date) -> PriceRefresh:
    """Compares a list with the prices in force and keeps the difference, which waits for approval; no price changes.

    The same list, compared with the same prices, makes one row: the waiting one is returned. A newer list of the same
    feed takes the place of the one that waits.

    planning.FeedInvalid: the list cannot be read. RefreshRefused: its day lies ahead, or far back.
    """
    if not FIRST_DAY <= as_of <= timezone.now().date():
        raise RefreshRefused(f"a list is from {FIRST_DAY} to today, not from {as_of}")
    in_force.look_again()
    book = in_force.book_in_force()
    shown = source.rpartition("/")[2] or source
    with planning.using_prices(book):
        if feed.kind == "api":
            changes, rows, left_out = planning.api_changes(data, as_of), 0, {}
        else:
            read = planning.read_offers(data, feed)
            label = f"{feed.name} {shown} ({feed.licence})"
            changes, rows, left_out = planning.gpu_changes(read, as_of, label), read.rows, dict(read.left_out)
    plain = [planning.change_as_dict(change) for change in changes]
    sha256 = hashlib.sha256(data).hexdigest()
    with transaction.atomic():
        waiting = PriceRefresh.objects.select_for_update().filter(state=RefreshState.WAITING, feed=feed.name)
        same = waiting.filter(document_sha256=sha256, book_digest=book.digest, as_of=as_of).first()
        if same is not None:
            return same
        waiting.delete()
        return PriceRefresh.objects.create(
            kind=feed.kind,
            feed=feed.name,
            source=f"{feed.name} {shown}"[:300],
            licence=feed.licence,
            as_of=as_of,
            document=zlib.compress(data, 9) if feed.kind == "api" else b"",
            document_sha256=sha256,
            rows=rows,
            left_out=left_out,
            changes=plain,
            changes_count=len(plain),
            flagged_count=sum(1 for change in plain if change["flag"]),
            book_digest=book.digest,
        )


@transaction.atomic
def refresh_approve(*, refresh: PriceRefresh, user: User | None, flagged: bool = False) -> PriceRefresh:
    """Takes a waiting difference into use. flagged: those that need a look of their own too; else they are held back.

    RefreshRefused: it was decided already, the prices in force have changed since it was compared, or nothing is left
    of it to approve.
    """
    row = PriceRefresh.objects.select_for_update().get(pk=refresh.pk)
    _must_wait(row)
    before = in_force.approvals()
    parts = [in_force.approved_part(each) for each in before]
    if planning.book_of(parts).digest != row.book_digest:
        raise RefreshRefused("other prices were approved since it was compared: read the list again")
    taken = [change for change in row.changes if flagged or not change["flag"]]
    if not taken:
        raise RefreshRefused("nothing is left to approve: every change needs a look of its own")
    if row.kind == "gpu":
        row.kept = [change["row"] for change in taken]
    else:
        row.kept = sorted(_held_back(change for change in row.changes if change["flag"] and not flagged))
    row.state, row.number = RefreshState.APPROVED, (before[-1].number or 0) + 1 if before else 1
    row.book_after = planning.book_of([*parts, in_force.approved_part(row)]).digest
    _decide(row, user)
    transaction.on_commit(in_force.look_again)
    return row


@transaction.atomic
def refresh_reject(*, refresh: PriceRefresh, user: User | None) -> PriceRefresh:
    """Turns a waiting difference down. RefreshRefused: it was decided already."""
    row = PriceRefresh.objects.select_for_update().get(pk=refresh.pk)
    _must_wait(row)
    row.state, row.document = RefreshState.REJECTED, b""
    _decide(row, user)
    return row


def _must_wait(row: PriceRefresh) -> None:
    if row.state != RefreshState.WAITING:
        raise RefreshRefused(f"it was {row.state} already")


def _decide(row: PriceRefresh, user: User | None) -> None:
    row.decided_at, row.decided_by = timezone.now(), user
    row.decided_by_label = user.email if user else "command on the server"
    row.save()


def _held_back(changes: Iterable[dict[str, dict[str, str]]]) -> list[list[str]]:
    pairs = {(change["row"]["provider"], change["row"]["model"]) for change in changes}
    return [list(pair) for pair in pairs]
