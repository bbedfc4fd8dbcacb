"""What the API says about teams, members, invitations, tokens and the audit log, as pydantic models."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import Field

from planner.api.wire import Label, Wire

RoleName = Literal["owner", "editor", "viewer"]
ScopeName = Literal["read", "run", "write"]
_NEXT = Field(description="Path of the next page; null on the last one.")


class TeamSummary(Wire):
    """A team as the caller sees it."""

    id: UUID
    name: str
    role: RoleName = Field(description="What the caller is in it.")
    created_at: datetime
    link: str = Field(description="Path of the team.")


class TeamPage(Wire):
    """The teams that the caller sees: a token its own, a session all of the person's."""

    items: list[TeamSummary]
    next: str | None = _NEXT


class TeamDetail(TeamSummary):
    """A team with what its plans start from."""

    defaults: dict[str, Any] = Field(
        description="`billing` and `engine` of scenarios that say nothing of them, as in a scenario."
    )


class TeamChange(Wire):
    """What to change; what is left out stays."""

    name: Annotated[Label, Field(min_length=1)] | None = None
    defaults: dict[str, Any] | None = Field(None, description="Replaces the team's defaults as a whole; {} for none.")


class Member(Wire):
    """Someone in the team."""

    id: int = Field(description="Id of the person.")
    email: str
    name: str
    role: RoleName
    created_at: datetime = Field(description="When they joined.")


class MemberPage(Wire):
    """Members, who joined last first."""

    items: list[Member]
    next: str | None = _NEXT


class MemberChange(Wire):
    """Another role."""

    role: RoleName


class InvitationRequest(Wire):
    """An invitation to make."""

    role: RoleName = Field(description="By a token: editor or viewer; owners are invited from the pages.")
    email: str = Field("", max_length=254, description="The only address that may use it; empty: whoever has the link.")
    expires_in_days: int = Field(7, ge=1, le=90, description="Days until it ends.")


class Invitation(Wire):
    """An invitation that can still be used; its secret is not stored."""

    id: UUID
    role: RoleName
    email: str
    created_by: str | None = Field(description="Address of who made it.")
    created_at: datetime
    expires_at: datetime


class InvitationMade(Invitation):
    """A new invitation."""

    join_url: str = Field(description="The link to hand over, shown this once; works once.")


class InvitationPage(Wire):
    """Invitations that can still be used, newest first."""

    items: list[Invitation]
    next: str | None = _NEXT


class TokenRequest(Wire):
    """A token of one's own to make."""

    name: Label = Field("", description="What it is for.")
    scope: ScopeName = Field(description="At most that of the token that asks, and no more than the role fills.")
    expires_in_days: int = Field(
        365, ge=1, le=3650, description="Days until it ends; cut to the life of the token that asks."
    )


class Token(Wire):
    """A token without its secret."""

    id: int
    name: str
    prefix: str = Field(description="The public part of its text.")
    kind: Literal["personal", "team"]
    user: str = Field(description="Address of whose it is, or who made it.")
    scope: ScopeName
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class TokenMade(Token):
    """A new token."""

    token: str = Field(description="Its text, shown this once.")


class TokenPage(Wire):
    """API tokens that were not revoked, newest first."""

    items: list[Token]
    next: str | None = _NEXT


class AuditRow(Wire):
    """One change. Names are as they were at the time."""

    id: UUID
    created_at: datetime
    actor: str = Field(description="Address of who did it; empty: a command on the server.")
    via: str = Field(description="Prefix of the token it was done with; empty: pages.")
    action: str = Field(description="What was done, as noun.verb.")
    object_kind: str
    object_id: str
    object_label: str
    details: dict[str, Any]
    request_id: str = Field(description="Id of the request, as in the server's log.")


class AuditPage(Wire):
    """Changes, newest first."""

    items: list[AuditRow]
    next: str | None = _NEXT
