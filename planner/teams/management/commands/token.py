"""`manage.py token EMAIL`: prints a new API token and nothing else."""

from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser

from planner.teams.models import Scope, User
from planner.teams.selectors import current_team
from planner.teams.services import token_create


class Command(BaseCommand):
    help = "Prints a new API token for a person's team."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.RUN.value, help="Each includes the former.")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, email: str, scope: str, **_: Any) -> None:
        user = User.objects.filter(email=email.lower()).first()
        team = current_team(user) if user else None
        if user is None or team is None:
            raise CommandError(f"nobody active with a team signs in as {email}")
        _token, text = token_create(team=team, user=user, scope=scope, name="made by the token command")
        self.stdout.write(text)
