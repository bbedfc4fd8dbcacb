"""`manage.py secondfactor EMAIL [--remove]`: says whether someone has a second factor, or takes a lost one away."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from planner.teams.browser_sessions import sessions_end
from planner.teams.models import User
from planner.teams.second_factor import factor_of, factor_remove


class Command(BaseCommand):
    help = "Says whether a person has a second factor; --remove takes it away and signs them out everywhere."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--remove", action="store_true", help="After you made sure who asks for it.")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, email: str, remove: bool, **_: Any) -> None:
        user = User.objects.filter(email=email.lower()).first()
        if user is None:
            raise CommandError(f"nobody signs in as {email}")
        if remove and factor_remove(user=user):
            sessions_end(user)
            self.stdout.write("removed")
        else:
            self.stdout.write("in force" if factor_of(user) else "none")
