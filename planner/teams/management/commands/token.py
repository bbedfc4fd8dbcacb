"""`manage.py token EMAIL`: prints a new API token, or with --link a token for a sheet's addresses, and nothing else."""

from datetime import timedelta
from typing import Any

from django.core.management import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from planner.teams.models import Scope, User
from planner.teams.selectors import current_team
from planner.teams.services import link_token_create, token_create


class Command(BaseCommand):
    help = "Prints a new API token for a person's team."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("email")
        parser.add_argument("--scope", choices=Scope.values, default=Scope.RUN.value, help="Each includes the former.")
        parser.add_argument(
            "--link", action="store_true", help="For addresses below /api/v1/sheets/: reads only those."
        )
        parser.add_argument("--days", type=int, help="Days until it expires (default: never).")
        parser.add_argument("--data-dir", help="Where everything is kept (default: PLANNER_DATA_DIR, else ./var).")

    def handle(self, *, email: str, scope: str, link: bool, days: int | None, **_: Any) -> None:
        user = User.objects.filter(email=email.lower()).first()
        team = current_team(user) if user else None
        if user is None or team is None:
            raise CommandError(f"nobody active with a team signs in as {email}")
        if days is not None and not 1 <= days <= 3650:
            raise CommandError("--days takes 1 to 3650")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        name = "made by the token command"
        if link:
            text = link_token_create(team=team, user=user, name=name, expires_at=expires_at)[1]
        else:
            text = token_create(team=team, user=user, scope=scope, name=name, expires_at=expires_at)[1]
        self.stdout.write(text)
