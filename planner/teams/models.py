"""People, teams and what lets them in. Everything stored elsewhere belongs to a team."""

import uuid
from typing import TYPE_CHECKING, Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone

if TYPE_CHECKING:
    from planner.teams.browser_sessions import SessionStore


class UserManager(BaseUserManager["User"]):
    """Makes users who sign in by e-mail."""

    def create_user(self, email: str, password: str | None = None, **extra: Any) -> "User":
        user = self.model(email=self.normalize_email(email).lower(), **extra)
        user.set_password(password)
        user.full_clean()
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> "User":
        return self.get(email=(username or "").lower())


class User(AbstractBaseUser, PermissionsMixin):
    """A person. `is_staff` marks an operator of the installation, not a role in a team."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=150, blank=True)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    date_joined = models.DateTimeField(default=timezone.now)

    USERNAME_FIELD = "email"
    objects: ClassVar[UserManager] = UserManager()

    def __str__(self) -> str:
        return self.email


class Team(models.Model):
    """Owns scenarios, runs and tokens; personal use is a team of one."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=120)
    created_at = models.DateTimeField(auto_now_add=True)
    defaults = models.JSONField(
        default=dict, blank=True, help_text="Billing and engine of scenarios that say nothing of them."
    )
    members = models.ManyToManyField(User, through="Membership", related_name="teams")

    def __str__(self) -> str:
        return self.name


class Role(models.TextChoices):
    OWNER = "owner"
    EDITOR = "editor"
    VIEWER = "viewer"


class Membership(models.Model):
    """A user's role in a team."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role.choices)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["team", "user"], name="one_membership_per_team_and_user")]

    def __str__(self) -> str:
        return f"{self.user} is {self.role} of {self.team}"


class Scope(models.TextChoices):
    """What a token may do; each includes the ones before it."""

    READ = "read"
    RUN = "run"
    WRITE = "write"


class Secret(models.Model):
    """What a token is besides whose: a name, a public prefix, and of the secret only its SHA-256."""

    name = models.CharField(max_length=120, blank=True)
    prefix = models.CharField(max_length=12, unique=True)
    secret_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)

    member_role: Role | None = None
    """Of its user in its team, as found when it let someone in; not stored."""

    class Meta:
        abstract = True


class ApiToken(Secret):
    """An API token: `stc_<prefix>_<secret>`, sent in a header. A person's ends with their membership; one of the team
    stays when its maker leaves."""

    of_team = models.BooleanField(default=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="tokens")
    scope = models.CharField(max_length=5, choices=Scope.choices)

    def __str__(self) -> str:
        return f"{self.prefix} ({self.scope})"


class LinkToken(Secret):
    """A token that stands in the address of a sheet's request: `stl_<prefix>_<secret>`. It reads what /api/v1/sheets/
    offers and nothing else, since addresses are copied, shared and kept in histories."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="link_tokens")
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="link_tokens")

    def __str__(self) -> str:
        return f"{self.prefix} (link)"


class SignInLink(models.Model):
    """A link that signs one person in once; made by the operator's own machine, honoured on loopback only."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sign_in_links")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    next_path = models.CharField(max_length=500, default="/")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"link for {self.user}"


class Invitation(models.Model):
    """A link that lets one person in with a role: used once, by whoever has it or only by the stated address."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role.choices)
    email = models.EmailField(blank=True, help_text="The only address that may use it; empty: any.")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True, blank=True)
    used_at = models.DateTimeField(null=True, blank=True)
    used_by = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    def __str__(self) -> str:
        return f"invitation to {self.team} as {self.role}"


class PasswordLink(models.Model):
    """A link with which one person sets a new password, once. `team` is whose owner made it; null: the operator."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="password_links")
    team = models.ForeignKey(Team, on_delete=models.CASCADE, null=True, related_name="+")
    secret_sha256 = models.CharField(max_length=64, unique=True)
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True, blank=True)

    def __str__(self) -> str:
        return f"new password for {self.user}"


class BrowserSession(AbstractBaseSession):
    """Someone signed in with a browser. Whoever has the key is that person until it ends; the rest tells people which
    of their sessions it is."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, null=True, related_name="browser_sessions")
    browser = models.CharField(max_length=60, blank=True)
    signed_in_at = models.DateTimeField(null=True)
    seen_at = models.DateTimeField(null=True)

    @classmethod
    def get_session_store_class(cls) -> "type[SessionStore]":
        from planner.teams.browser_sessions import SessionStore  # the store is made of this model

        return SessionStore


class SecondFactor(models.Model):
    """What a person's authenticator app proves: of the seed only its salt, of recovery codes only hashes."""

    user = models.OneToOneField(User, on_delete=models.CASCADE, related_name="second_factor")
    salt = models.CharField(max_length=32)
    last_step = models.BigIntegerField(help_text="Of the code used last; earlier ones and itself are used up.")
    recovery_sha256 = models.JSONField(default=list)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"second factor of {self.user}"


class AppendOnly(Exception):  # noqa: N818 - the name says what is the case
    """A row of the audit log was to be changed or removed."""


class AuditQuerySet(models.QuerySet["AuditEvent"]):
    """Rows can be added and read. Only with their team do they go, by the database's own cascade."""

    def update(self, **kwargs: Any) -> int:
        raise AppendOnly

    def delete(self) -> tuple[int, dict[str, int]]:
        raise AppendOnly


class AuditEvent(models.Model):
    """Who did what to which thing. Names are kept as they were, so that rows outlive what they speak of."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="audit_events")
    actor = models.ForeignKey(User, on_delete=models.SET_NULL, null=True, related_name="+")
    actor_label = models.CharField(max_length=254, help_text="Their address at the time; empty: nobody signed in.")
    via = models.CharField(max_length=40, blank=True, help_text="Prefix of the token; empty: pages or a command.")
    action = models.CharField(max_length=60)
    object_kind = models.CharField(max_length=40, blank=True)
    object_id = models.CharField(max_length=64, blank=True)
    object_label = models.CharField(max_length=254, blank=True)
    details = models.JSONField(default=dict, blank=True)
    request_id = models.CharField(max_length=64, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = AuditQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["team", "-created_at"]),
            models.Index(fields=["team", "action", "-created_at"]),
            models.Index(fields=["team", "actor_label", "-created_at"]),
            models.Index(fields=["team", "object_id", "-created_at"]),
        ]

    def __str__(self) -> str:
        return f"{self.actor_label} {self.action} {self.object_label}"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self._state.adding:
            raise AppendOnly
        super().save(*args, **kwargs)

    def delete(self, *args: Any, **kwargs: Any) -> tuple[int, dict[str, int]]:
        raise AppendOnly
