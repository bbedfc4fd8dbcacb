"""`manage.py prepare`: the database up to date and somebody who can sign in; run before each start of a deployment."""

import sys
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import BaseCommand, call_command

from planner.teams.first_admin import first_admin


class Command(BaseCommand):
    help = "Migrates the database and makes the first admin (PLANNER_ADMIN_EMAIL, PLANNER_ADMIN_PASSWORD)."
    requires_system_checks: list[str] = []

    def handle(self, **_: Any) -> None:
        call_command("migrate", verbosity=0, interactive=False)
        env = settings.ENV
        given = env.admin_password.get_secret_value() if env.admin_password else None
        try:
            user, generated = first_admin(email=env.admin_email, password=given)
        except ValidationError as error:
            sys.exit(f"staircase: PLANNER_ADMIN_EMAIL or PLANNER_ADMIN_PASSWORD: {' '.join(error.messages)}")
        if generated:
            self.stdout.write(f"First admin: {user.email} with password {generated} (shown this once)")
