"""People, teams and what lets them in. Everything stored elsewhere belongs to a team."""

import uuid
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models
from django.utils import timezone


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

    class Meta:
        abstract = True


class ApiToken(Secret):
    """An API token: `stc_<prefix>_<secret>`, sent in a header."""

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
