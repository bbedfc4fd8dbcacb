"""The person who can sign in on a new installation."""

import contextlib
import secrets

from django.db import transaction

from planner.teams.models import User
from planner.teams.services import user_create


def admin_get() -> User:
    """The oldest admin who may sign in. User.DoesNotExist: there is none."""
    return User.objects.filter(is_staff=True, is_active=True).earliest("pk")


@transaction.atomic
def first_admin(*, email: str, password: str | None) -> tuple[User, str | None]:
    """The oldest admin; where nobody is registered yet, one is made, with a generated password when none is given.

    Returns the user and the generated password (None when none was). ValidationError: e-mail or password refused.
    """
    with contextlib.suppress(User.DoesNotExist):
        return admin_get(), None
    generated = None if password else secrets.token_urlsafe(12)
    user = user_create(email=email, password=password or str(generated), name="Admin", is_staff=True)
    return user, generated
