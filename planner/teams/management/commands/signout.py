"""`manage.py signout EMAIL` or `--all`: ends browser sessions, as after a theft."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from planner.teams.browser_sessions import sessions_end
from planner.teams.models import BrowserSession, User


class Command(BaseCommand):
    help = "Signs a person out of every browser, or with --all everybody. Tokens stay: revoke them on the team's page."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        who = parser.add_mutually_exclusive_group(required=True)
        who.add_argument("email", nargs="?")
        who.add_argument("--all", action="store_true", help="Everybody.")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, email: str | None, **options: Any) -> None:
        if options["all"]:
            ended, _ = BrowserSession.objects.all().delete()
        else:
            user = User.objects.filter(email=str(email).lower()).first()
            if user is None:
                raise CommandError(f"nobody signs in as {email}")
            ended = sessions_end(user)
        self.stdout.write(f"{ended} sessions ended")
