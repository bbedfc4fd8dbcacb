"""What the OpenAPI document says about teams, members, invitations, tokens and the audit log."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse
from pydantic import BaseModel

from planner.api import problems
from planner.api.openapi_parts import ALWAYS, LINK, SMALL_BODY, failures, header, json_answer, listed, reading
from planner.api.query import AuditQuery, TimedQuery
from planner.api.wire_teams import (
    AuditPage,
    Invitation,
    InvitationMade,
    InvitationPage,
    InvitationRequest,
    Member,
    MemberChange,
    MemberPage,
    TeamChange,
    TeamDetail,
    TeamPage,
    Token,
    TokenMade,
    TokenPage,
    TokenRequest,
)

_ID = "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b10"
_AT = "2026-11-30T09:00:00Z"
_TEAM = {"id": _ID, "name": "Platform", "role": "owner", "created_at": _AT, "link": f"/api/v1/teams/{_ID}"}
_DETAIL = {**_TEAM, "defaults": {"billing": {"spare_replicas": 2}}}
_MEMBER = {"id": 7, "email": "ada@example.com", "name": "Ada", "role": "editor", "created_at": _AT}
_INVITATION = {
    "id": _ID,
    "role": "editor",
    "email": "",
    "created_by": "ada@example.com",
    "created_at": _AT,
    "expires_at": "2026-12-07T09:00:00Z",
}
_MADE = {**_INVITATION, "join_url": "https://staircase.example/join/S8d…/"}
_TOKEN = {
    "id": 12,
    "name": "Nightly check",
    "prefix": "9f8a7b6c5d4e",
    "kind": "personal",
    "user": "ada@example.com",
    "scope": "run",
    "created_at": _AT,
    "expires_at": "2027-11-30T09:00:00Z",
    "last_used_at": None,
}
_AUDIT = {
    "id": _ID,
    "created_at": _AT,
    "actor": "ada@example.com",
    "via": "",
    "action": "member.role_changed",
    "object_kind": "member",
    "object_id": "7",
    "object_label": "bob@example.com",
    "details": {"before": "viewer", "after": "editor"},
    "request_id": "3f0c1b7e5a914d0f8f5b0a7c2d6e9b41",
}


def listing(operation: str, what: str, page: type[BaseModel], row: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The description of a list by time, with one row as its example."""
    return reading(
        operation,
        f"List {what}",
        listed(page, f"{what.capitalize()}.", {"items": [row], "next": None}),
        formats=("json", "csv", "xlsx"),
        also=(problems.TOO_MANY_ROWS, *more.pop("also", (problems.NOT_FOUND,))),
        headers=(LINK,),
        **{"query": TimedQuery, **more},
    )


def _writing(
    operation: str,
    summary: str,
    description: str,
    body: type[BaseModel],
    sent: dict[str, Any],
    answers: dict[int, OpenApiResponse],
    *also: problems.Kind,
) -> dict[str, Any]:
    made = [header("Location", "Path of what was made.", 201)] if 201 in answers else []
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description,
        "request": {"application/json": body},
        "examples": [OpenApiExample("body", value=sent, request_only=True)],
        "parameters": made,
        "responses": {**answers, **failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND, *also)},
    }


def ending(operation: str, summary: str, description: str, *also: problems.Kind) -> dict[str, Any]:
    """The description of a DELETE."""
    return {
        "operation_id": operation,
        "summary": summary,
        "description": description,
        "responses": {
            204: OpenApiResponse(description="It is done."),
            **failures(*ALWAYS, problems.NOT_FOUND, *also),
        },
    }


TEAM_LIST = listing("teams_list", "teams", TeamPage, _TEAM, also=())
TEAM_READ = reading(
    "teams_read",
    "Read a team",
    {200: json_answer(TeamDetail, "The team.", team=_DETAIL)},
    also=(problems.NOT_FOUND,),
)
TEAM_CHANGE = _writing(
    "teams_change",
    "Change a team",
    "For owners.",
    TeamChange,
    {"name": "Platform"},
    {200: json_answer(TeamDetail, "As it is now.", team=_DETAIL)},
)
MEMBER_LIST = listing("teams_members_list", "members", MemberPage, _MEMBER)
MEMBER_READ = reading(
    "teams_members_read",
    "Read a member",
    {200: json_answer(Member, "The member.", member=_MEMBER)},
    also=(problems.NOT_FOUND,),
)
MEMBER_CHANGE = _writing(
    "teams_members_change",
    "Change a member's role",
    "For owners. A token makes no owners.",
    MemberChange,
    {"role": "editor"},
    {200: json_answer(Member, "As they are now.", member=_MEMBER)},
    problems.LAST_OWNER,
)
MEMBER_REMOVE = ending(
    "teams_members_remove",
    "Remove a member, or leave",
    "Everybody may remove themselves, owners anybody; the last owner stays. Tokens of that person end.",
    problems.LAST_OWNER,
)
INVITATION_LIST = listing("teams_invitations_list", "open invitations", InvitationPage, _INVITATION)
INVITATION_READ = reading(
    "teams_invitations_read",
    "Read an open invitation",
    {200: json_answer(Invitation, "The invitation, without its link.", invitation=_INVITATION)},
    also=(problems.NOT_FOUND,),
)
INVITATION_CREATE = _writing(
    "teams_invitations_create",
    "Make an invitation",
    "For owners. The link is in the answer and nowhere else; no mail is sent.",
    InvitationRequest,
    {"role": "editor", "email": "bob@example.com", "expires_in_days": 7},
    {201: json_answer(InvitationMade, "It was made.", made=_MADE)},
)
INVITATION_REVOKE = ending(
    "teams_invitations_revoke", "Revoke an invitation", "For owners. Doing it twice changes nothing."
)
TOKEN_LIST = listing("teams_tokens_list", "API tokens", TokenPage, _TOKEN)
TOKEN_READ = reading(
    "teams_tokens_read",
    "Read a token",
    {200: json_answer(Token, "The token, without its secret.", token=_TOKEN)},
    also=(problems.NOT_FOUND,),
)
TOKEN_CREATE = _writing(
    "teams_tokens_create",
    "Make a token of one's own",
    "No wider and no longer-lived than the token that asks, and no wider than the role. Tokens of the team are made "
    "on its page.",
    TokenRequest,
    {"name": "Nightly check", "scope": "run", "expires_in_days": 365},
    {201: json_answer(TokenMade, "It was made.", made={**_TOKEN, "token": "stc_9f8a7b6c5d4e_…"})},
)
TOKEN_REVOKE = ending(
    "teams_tokens_revoke", "Revoke a token", "One's own; owners revoke any. Doing it twice changes nothing."
)
AUDIT_LIST = listing("teams_audit_list", "changes", AuditPage, _AUDIT, query=AuditQuery)
