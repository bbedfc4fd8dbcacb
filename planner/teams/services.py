"""Writes about people, teams and what lets them in."""

import hmac
import secrets
from datetime import datetime, timedelta
from typing import TypeVar

from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.utils import timezone

from planner.core.remembered import Remembered
from planner.teams.audit import record
from planner.teams.hashing import sha256_of
from planner.teams.models import ApiToken, LinkToken, Membership, Role, SignInLink, Team, User

TOKEN_MARK = "stc"  # noqa: S105 - the public start of every token, so that leaks can be searched for
LINK_MARK = "stl"
AnyToken = TypeVar("AnyToken", ApiToken, LinkToken)
SIGN_IN_LINK_LIFE = timedelta(minutes=30)
_ROLE = "role_in_team"
"""What a query for a token calls the role of its user in its team."""
LAST_USED_STEP = timedelta(minutes=1)


@transaction.atomic
def user_create(*, email: str, password: str, name: str = "", is_staff: bool = False) -> User:
    """Makes a user with a team of one. ValidationError: address taken or malformed, password too weak."""
    validate_password(password, User(email=email, name=name))
    user = User.objects.create_user(email, password, name=name, is_staff=is_staff, is_superuser=is_staff)
    team = Team(name=f"{name or email.partition('@')[0]}'s team"[:120])
    team.full_clean()
    team.save()
    Membership.objects.create(team=team, user=user, role=Role.OWNER)
    return user


def token_create(
    *,
    team: Team,
    user: User,
    scope: str,
    name: str = "",
    expires_at: datetime | None = None,
    of_team: bool = False,
) -> tuple[ApiToken, str]:
    """Makes a token and returns it with its text, which is shown this once and never stored.

    of_team: it is not `user`'s, who only makes it, but the team's. ValidationError: unknown scope, name too long.
    """
    token = ApiToken(team=team, user=user, name=name, scope=scope, expires_at=expires_at, of_team=of_team)
    return _create(token, TOKEN_MARK, 20)


def token_authenticate(text: str) -> ApiToken | None:
    """The live token of this text, with team and user loaded; None when it is not one (no reason is given away).

    A token is live until it expires or is revoked; a person's only while they are active and in its team.
    """
    return _authenticate(ApiToken, TOKEN_MARK, text)


def link_token_create(
    *, team: Team, user: User, name: str = "", expires_at: datetime | None = None
) -> tuple[LinkToken, str]:
    """Makes a token for the addresses of a sheet, and returns it with its text, which is shown this once.

    ValidationError: name too long.
    """
    return _create(LinkToken(team=team, user=user, name=name, expires_at=expires_at), LINK_MARK, 16)


def link_token_authenticate(text: str) -> LinkToken | None:
    """The live link token of this text, with team and user loaded; as `token_authenticate`. It only reads, so that all
    cells of a sheet may share one object."""
    given, _, rest = text.partition("_")
    prefix, _, secret = rest.partition("_")
    return _let_in(_LINKS.of(prefix), secret) if given == LINK_MARK else None


@transaction.atomic
def _create(token: AnyToken, mark: str, secret_bytes: int) -> tuple[AnyToken, str]:
    """Gives a new token its prefix and secret, and keeps of the secret only the hash."""
    secret = secrets.token_hex(secret_bytes)
    token.prefix, token.secret_sha256 = secrets.token_hex(6), sha256_of(secret)
    token.full_clean()
    token.save()
    details = {
        "prefix": token.prefix,
        "scope": getattr(token, "scope", "sheets"),
        "ends": token.expires_at.date().isoformat() if token.expires_at else "never",
    }
    record(
        team=token.team,
        actor=token.user,
        action="token.made",
        thing=token,
        kind=_kind(token),
        label=token.name or token.prefix,
        details=details,
    )
    return token, f"{mark}_{token.prefix}_{secret}"


def _kind(token: ApiToken | LinkToken) -> str:
    if isinstance(token, LinkToken):
        return "link token"
    return "team token" if token.of_team else "personal token"


def _authenticate(kind: type[AnyToken], mark: str, text: str) -> AnyToken | None:
    given, _, rest = text.partition("_")
    prefix, _, secret = rest.partition("_")
    token = next(iter(_with_role(kind).filter(prefix=prefix)), None)
    return _let_in(token, secret) if given == mark else None


def _with_role(kind: type[AnyToken]) -> QuerySet[AnyToken]:
    """Tokens with team, user and the user's role in the team."""
    role = Membership.objects.filter(team=OuterRef("team"), user=OuterRef("user")).values("role")
    return kind._default_manager.select_related("team", "user").annotate(**{_ROLE: Subquery(role)})


_LINKS: Remembered[LinkToken, LinkToken | None] = Remembered(
    lambda: _with_role(LinkToken), "prefix", lambda rows: next(iter(rows), None)
)


def _let_in(token: AnyToken | None, secret: str) -> AnyToken | None:
    """Takes as long for an unknown prefix as for a wrong secret."""
    known_sha256 = token.secret_sha256 if token else sha256_of("")
    matches = hmac.compare_digest(known_sha256, sha256_of(secret))
    if token is None or not matches or not _is_live(token):
        return None
    _note_use(token)
    return token


def _is_live(token: ApiToken | LinkToken) -> bool:
    expired = token.expires_at is not None and token.expires_at <= timezone.now()
    if expired or token.revoked_at is not None:
        return False
    if isinstance(token, ApiToken) and token.of_team:
        return True
    role: str | None = getattr(token, _ROLE)
    if token.user.is_active and role is not None:
        token.member_role = Role(role)
    return token.member_role is not None


def _note_use(token: ApiToken | LinkToken) -> None:
    """Written at most once a minute, so that a spreadsheet's refresh is not a write per cell."""
    now = timezone.now()
    if token.last_used_at is None or token.last_used_at <= now - LAST_USED_STEP:
        unseen = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_STEP)
        type(token)._default_manager.filter(unseen, pk=token.pk).update(last_used_at=now)


@transaction.atomic
def token_revoke(*, token: ApiToken | LinkToken, actor: User | None = None) -> None:
    """Ends a token; ending it twice changes nothing."""
    live = type(token)._default_manager.filter(pk=token.pk, revoked_at=None)
    if live.update(revoked_at=timezone.now()):
        record(
            team=token.team,
            actor=actor,
            action="token.revoked",
            thing=token,
            kind=_kind(token),
            label=token.name or token.prefix,
            details={"prefix": token.prefix},
        )


def sign_in_link_create(*, user: User, next_path: str) -> str:
    """Makes a link that signs the user in once within 30 minutes and then shows `next_path`; returns its secret.

    ValueError: `next_path` is not a path of this site.
    """
    if not next_path.startswith("/") or next_path.startswith(("//", "/\\")):
        raise ValueError(f"not a path of this site: {next_path}")
    secret = secrets.token_urlsafe(32)
    SignInLink.objects.create(
        user=user,
        secret_sha256=sha256_of(secret),
        next_path=next_path,
        expires_at=timezone.now() + SIGN_IN_LINK_LIFE,
    )
    return secret


def sign_in_link_use(*, secret: str) -> SignInLink | None:
    """Uses a link up and returns it with its user; None when unknown, used, expired, or its user is not active."""
    now = timezone.now()
    usable = SignInLink.objects.filter(used_at=None, expires_at__gt=now, user__is_active=True)
    if not usable.filter(secret_sha256=sha256_of(secret)).update(used_at=now):
        return None
    return SignInLink.objects.select_related("user").get(secret_sha256=sha256_of(secret))
