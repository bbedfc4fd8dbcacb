"""`manage.py prices`: read price lists, show what they would change, approve or reject it."""

import json
import uuid
from datetime import date
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from planner import planning
from planner.prices.fetching import MOST_BYTES, fetch
from planner.prices.models import PriceRefresh
from planner.prices.services import RefreshRefused, refresh_approve, refresh_read, refresh_reject

SHOWN = 40


class Command(BaseCommand):
    help = "Reads a price list and shows what it would change; nothing is in force before it is approved."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True)
        read = actions.add_parser("read", help="Compare a list with the prices in force; the difference waits.")
        read.add_argument("feed", help="skypilot:CLOUD, gpuhunt[:PROVIDER] or genai-prices, with =ADDRESS to fetch it")
        read.add_argument("file", nargs="?", help="vms.csv, catalog.zip, PROVIDER.csv or data.json")
        read.add_argument("--as-of", help="The day a file is from (YYYY-MM-DD); what is fetched is from today.")
        read.add_argument("--approve", action="store_true", help="Approve at once what is plausible; print it all.")
        actions.add_parser("list", help="What was read, the newest first.")
        show = actions.add_parser("show", help="All changes of one reading.")
        approve = actions.add_parser("approve", help="Take the changes of a reading into use.")
        approve.add_argument("--flagged", action="store_true", help="Also those that need a look of their own.")
        reject = actions.add_parser("reject", help="Turn a reading down.")
        for parts in (show, approve, reject):
            parts.add_argument("id")
        for parts in (read, show):
            parts.add_argument("--json", action="store_true")
        for parts in actions.choices.values():
            parts.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, action: str, **options: Any) -> None:
        try:
            getattr(self, f"_{action}")(options)
        except (planning.FeedInvalid, RefreshRefused) as wrong:
            raise CommandError(f"{wrong}", returncode=2) from None

    def _read(self, options: dict[str, Any]) -> None:
        feed = planning.parse_feed(options["feed"])
        if (options["file"] is None) == (not feed.address):
            raise planning.FeedInvalid("name a file, or an address after the format: one of the two")
        today = timezone.now().date()
        if options["file"] is None:
            data, source, as_of = fetch(feed, private=settings.PRICE_FEEDS_PRIVATE), feed.address, today
        else:
            data, source, as_of = _file(options["file"]), Path(options["file"]).name, _day(options["as_of"])
        found = refresh_read(data=data, feed=feed, source=source, as_of=as_of)
        if options["approve"] and found.changes_count > found.flagged_count:
            found = refresh_approve(refresh=found, user=None)
        self._print(found, as_json=options["json"])

    def _list(self, _: dict[str, Any]) -> None:
        for row in PriceRefresh.objects.defer("changes", "document", "kept")[:SHOWN]:
            self.stdout.write(
                f"{row.pk}  {row.state:9} {row.feed:22} {row.as_of}  {row.changes_count} changes, "
                f"{row.flagged_count} to be looked at"
            )

    def _show(self, options: dict[str, Any]) -> None:
        self._print(_row(options["id"]), as_json=options["json"], most=None)

    def _approve(self, options: dict[str, Any]) -> None:
        row = refresh_approve(refresh=_row(options["id"]), user=None, flagged=options["flagged"])
        self.stdout.write(f"approved: {row.feed} of {row.as_of}; prices in force are now {row.book_after}")

    def _reject(self, options: dict[str, Any]) -> None:
        row = refresh_reject(refresh=_row(options["id"]), user=None)
        self.stdout.write(f"rejected: {row.feed} of {row.as_of}")

    def _print(self, row: PriceRefresh, *, as_json: bool, most: int | None = SHOWN) -> None:
        if as_json:
            fields = ("feed", "state", "source", "licence", "rows", "left_out", "changes", "changes_count")
            document = {name: getattr(row, name) for name in fields} | {"id": f"{row.pk}", "as_of": f"{row.as_of}"}
            self.stdout.write(json.dumps(document, ensure_ascii=False, sort_keys=True))
            return
        self.stdout.write(f"{row.pk}  {row.feed} of {row.as_of}, {row.state} ({row.licence})")
        for reason, count in sorted(row.left_out.items()):
            self.stdout.write(f"  left out: {count} rows, {reason}")
        for change in row.changes[:most]:
            self.stdout.write(f"  {line_of(change)}")
        if most is not None and row.changes_count > most:
            self.stdout.write(f"  … {row.changes_count - most} more: manage.py prices show {row.pk}")
        self.stdout.write(f"{row.changes_count} changes, {row.flagged_count} to be looked at")


def line_of(change: dict[str, Any]) -> str:
    """A change in one line."""
    was, now, ratio = change["was"], change["now"], change["change_ratio"]
    moved = f" ({ratio:+.1%})" if ratio is not None else ""
    flag = f"  LOOK: {change['flag']}" if change["flag"] else ""
    return f"{change['kind']:8} {change['name']}: {change['what']}: {was or '-'} -> {now or '-'}{moved}{flag}"


def _row(text: str) -> PriceRefresh:
    try:
        return PriceRefresh.objects.get(pk=uuid.UUID(text))
    except (ValueError, PriceRefresh.DoesNotExist):
        raise RefreshRefused(f"there is no reading {text}") from None


def _file(name: str) -> bytes:
    try:
        if Path(name).stat().st_size > MOST_BYTES:
            raise planning.FeedInvalid(f"{name} has more than {MOST_BYTES >> 20} MiB")
        return Path(name).read_bytes()
    except OSError as error:
        raise planning.FeedInvalid(f"{name} cannot be read: {error.strerror}") from None


def _day(text: str | None) -> date:
    if text is None:
        raise planning.FeedInvalid("say with --as-of from which day the file is")
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise planning.FeedInvalid(f"{text!r} is not a day (YYYY-MM-DD)") from None
