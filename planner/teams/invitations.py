"""Letting people into a team by a link, without mail: whoever invites hands the link over."""

import secrets
from datetime import timedelta

from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from planner.teams.audit import Detail, record
from planner.teams.hashing import sha256_of
from planner.teams.models import Invitation, Membership, Role, Team, User

DEFAULT_DAYS, MOST_DAYS = 7, 90
MOST_OPEN = 200


class InvitationUnusable(Exception):  # noqa: N818 - the name says what is the case
    """The link is unknown, used, revoked or expired, or meant for another address."""


@transaction.atomic
def invitation_create(
    *, team: Team, actor: User, role: Role, email: str = "", days: int = DEFAULT_DAYS
) -> tuple[Invitation, str]:
    """Makes an invitation and returns it with the secret of its link, which is shown this once.

    email: the only address that may use it. days: 1 to 90. ValidationError: address or role malformed, days out of
    range, or too many invitations open.
    """
    if not 1 <= days <= MOST_DAYS:
        raise ValidationError({"days": f"Choose 1 to {MOST_DAYS} days."})
    if invitations_open(team).count() >= MOST_OPEN:
        raise ValidationError(f"{MOST_OPEN} invitations are open; revoke some first.")
    secret = secrets.token_urlsafe(32)
    invitation = Invitation(
        team=team,
        role=role,
        email=email.strip().lower(),
        secret_sha256=sha256_of(secret),
        created_by=actor,
        expires_at=timezone.now() + timedelta(days=days),
    )
    invitation.full_clean()
    with transaction.atomic():
        invitation.save()
        details: dict[str, Detail] = {"role": str(role), "email": invitation.email, "days": days}
        record(
            team=team,
            actor=actor,
            action="invitation.made",
            thing=invitation,
            label=_label(invitation),
            details=details,
        )
    return invitation, secret


@transaction.atomic
def invitation_revoke(*, invitation: Invitation, actor: User) -> None:
    """Ends an invitation; one that is used or revoked is left as it is."""
    open_ones = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None)
    if open_ones.update(revoked_at=timezone.now()):
        record(
            team=invitation.team,
            actor=actor,
            action="invitation.revoked",
            thing=invitation,
            label=_label(invitation),
        )


def invitations_open(team: Team) -> QuerySet[Invitation]:
    """Those that can still be used, newest first."""
    rows = Invitation.objects.filter(team=team, used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return rows.select_related("created_by").order_by("-created_at", "pk")


def invitation_find(secret: str) -> Invitation:
    """The usable invitation of a link. InvitationUnusable: there is none."""
    rows = Invitation.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    found = rows.select_related("team").filter(secret_sha256=sha256_of(secret)).first()
    if found is None:
        raise InvitationUnusable("This invitation is used up, revoked or expired. Ask for a new one.")
    return found


@transaction.atomic
def invitation_accept(*, invitation: Invitation, user: User) -> Team:
    """Makes the user a member. One who is a member already stays as they are, and the link stays unused.

    InvitationUnusable: it was used meanwhile, or is meant for another address.
    """
    if invitation.email and invitation.email != user.email:
        raise InvitationUnusable("This invitation is for another address than the one you are signed in with.")
    if Membership.objects.filter(team=invitation.team, user=user).exists():
        return invitation.team
    usable = Invitation.objects.filter(pk=invitation.pk, used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    if not usable.update(used_at=timezone.now(), used_by=user):  # two at once: one of them
        raise InvitationUnusable("This invitation was used a moment ago. Ask for a new one.")
    Membership.objects.create(team=invitation.team, user=user, role=invitation.role)
    details = {"role": invitation.role, "invitation": str(invitation.pk)}
    record(team=invitation.team, actor=user, action="member.joined", thing=user, kind="member", details=details)
    return invitation.team


@transaction.atomic
def invitation_accept_new(*, invitation: Invitation, email: str, name: str, password: str) -> User:
    """Makes an account for someone new and lets it in; it has no team besides. `email` counts where the invitation
    states none.

    ValidationError by field: address taken or malformed, password weak. InvitationUnusable.
    """
    address = invitation.email or email.strip().lower()
    faults: dict[str, list[str]] = {}
    person = User(email=address, name=name.strip())
    try:
        validate_password(password, person)
    except ValidationError as error:
        faults["password"] = error.messages
    try:
        person.full_clean(exclude=["password"], validate_unique=False)
    except ValidationError as error:
        faults |= error.message_dict
    if User.objects.filter(email=address).exists():
        faults["email"] = ["Someone has an account with this address. If it is you, sign in first."]
    if faults:
        raise ValidationError(faults)
    user = User.objects.create_user(address, password, name=person.name)
    invitation_accept(invitation=invitation, user=user)
    return user


def _label(invitation: Invitation) -> str:
    return f"{invitation.email or 'anyone'} as {invitation.role}"
