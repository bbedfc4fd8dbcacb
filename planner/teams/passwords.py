"""New passwords: one's own, or by a link that someone trustworthy makes where there is no mail.

An account may belong to several teams, so whoever could set its password could enter all of them. Hence an owner makes
a link only for a member who belongs to no other team and does not operate the installation. An operator makes one for
anybody but another operator; for those there is `manage.py changepassword` on the server itself. The rule is asked
again when the link is used: someone who joined a second team meanwhile cannot be reached by the first one's link.
"""

import secrets
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.utils import timezone

from planner.teams.audit import record
from planner.teams.hashing import sha256_of
from planner.teams.models import Membership, PasswordLink, Team, User
from planner.teams.rules import Action, allows, role_of

LINK_LIFE = timedelta(hours=24)


def may_reset(actor: User, person: User, team: Team) -> bool:
    """Whether `actor` may make a link for a new password of `person`, a member of `team`."""
    if actor == person or person.is_staff or not person.is_active or role_of(person, team) is None:
        return False
    if actor.is_staff:
        return True
    return allows(role_of(actor, team), Action.MANAGE_MEMBERS) and _only_team(person, team)


def _only_team(person: User, team: Team) -> bool:
    return not Membership.objects.filter(user=person).exclude(team=team).exists()


@transaction.atomic
def password_link_create(*, person: User, actor: User | None, team: Team | None) -> str:
    """Makes a link for 24 hours and returns its secret; earlier links of the person end. Ask `may_reset` first.

    actor None: a command on the server. team: where it is written down, and whose owner vouches.
    """
    PasswordLink.objects.filter(user=person, used_at=None).delete()
    secret = secrets.token_urlsafe(32)
    by_owner = actor is not None and not actor.is_staff
    PasswordLink.objects.create(
        user=person,
        team=team if by_owner else None,
        secret_sha256=sha256_of(secret),
        expires_at=timezone.now() + LINK_LIFE,
    )
    if team is not None:
        record(team=team, actor=actor, action="password_link.made", thing=person, kind="member")
    return secret


def password_link_find(secret: str) -> PasswordLink | None:
    """The usable link of this secret, with its user; None when unknown, used, expired, or no longer safe."""
    links = PasswordLink.objects.select_related("user", "team")
    link = links.filter(
        secret_sha256=sha256_of(secret), used_at=None, expires_at__gt=timezone.now(), user__is_active=True
    ).first()
    if link is None or (link.team is not None and not _still_safe(link.user, link.team)):
        return None
    return link


def _still_safe(person: User, team: Team) -> bool:
    return not person.is_staff and role_of(person, team) is not None and _only_team(person, team)


@transaction.atomic
def password_link_use(*, link: PasswordLink, password: str) -> User | None:
    """Sets the password and uses the link up; None when it was used meanwhile. ValidationError: the password is weak.

    Every session of the person ends with the old password.
    """
    validate_password(password, link.user)
    if not PasswordLink.objects.filter(pk=link.pk, used_at=None).update(used_at=timezone.now()):
        return None
    _set(link.user, password, "password.reset")
    return link.user


@transaction.atomic
def password_change(*, user: User, password: str) -> None:
    """Sets one's own password, and ends links for a new one. ValidationError: it is weak."""
    validate_password(password, user)
    PasswordLink.objects.filter(user=user, used_at=None).delete()
    _set(user, password, "password.changed")


def _set(user: User, password: str, action: str) -> None:
    user.set_password(password)
    user.save(update_fields=["password"])
    for team in Team.objects.filter(memberships__user=user):
        record(team=team, actor=user, action=action, thing=user, kind="member")
