"""Read-only links to one report: made, listed and revoked by the team, opened by anyone who has the address."""

import secrets
from datetime import timedelta

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from planner.reports.models import ShareLink
from planner.runs.models import Run, State
from planner.teams.audit import record
from planner.teams.hashing import sha256_of
from planner.teams.models import Team, User

LONGEST_DAYS = 366
USUAL_DAYS = 30
LAST_USED_STEP = timedelta(minutes=1)


@transaction.atomic
def share_link_create(
    *, run: Run, user: User, name: str = "", expires_in_days: int = USUAL_DAYS
) -> tuple[ShareLink, str]:
    """Makes a link to the run's report; returns it with its secret, which is shown this once and never stored.

    ValidationError: the run has no report, the name is longer than 120 characters, the days are not 1 to 366.
    """
    if run.state != State.DONE:
        raise ValidationError({"run": "Only a finished run has a report to share."})
    if not 1 <= expires_in_days <= LONGEST_DAYS:
        raise ValidationError({"expires_in_days": f"A link lives 1 to {LONGEST_DAYS} days."})
    secret = secrets.token_urlsafe(32)
    expires_at = timezone.now() + timedelta(days=expires_in_days)
    link = ShareLink(team=run.team, run=run, name=name, created_by=user, expires_at=expires_at)
    link.secret_sha256 = sha256_of(secret)
    link.full_clean()
    link.save()
    details = {"for": name, "until": f"{expires_at:%Y-%m-%d}"}
    record(team=run.team, actor=user, action="share_link.made", thing=run, kind="report", details=details)
    return link, secret


def share_link_path(secret: str) -> str:
    """Where the link of this secret leads, below the server's address."""
    return f"/shared/{secret}/"


def share_link_open(secret: str) -> ShareLink | None:
    """The living link of this secret with its run, its use noted; None when there is none (no reason is given away)."""
    now = timezone.now()
    living = ShareLink.objects.filter(secret_sha256=sha256_of(secret), revoked_at=None, expires_at__gt=now)
    link = living.select_related("run").first()
    if link is not None:  # at most one write a minute
        unseen = Q(last_used_at=None) | Q(last_used_at__lte=now - LAST_USED_STEP)
        ShareLink.objects.filter(unseen, pk=link.pk).update(last_used_at=now)
    return link


@transaction.atomic
def share_link_revoke(*, link: ShareLink, user: User | None) -> None:
    """Ends a link at once; ending it twice changes nothing."""
    if ShareLink.objects.filter(pk=link.pk, revoked_at=None).update(revoked_at=timezone.now()):
        details = {"for": link.name}
        record(team=link.team, actor=user, action="share_link.revoked", thing=link.run, kind="report", details=details)


def share_links_of(team: Team, run: Run | None = None) -> QuerySet[ShareLink]:
    """The team's links that were not revoked, or those of one run, newest first; expired ones are among them."""
    links = ShareLink.objects.filter(team=team, revoked_at=None).select_related("created_by", "run")
    links = links.defer("run__body", "run__report", "run__partial")
    return (links if run is None else links.filter(run=run)).order_by("-created_at", "pk")
