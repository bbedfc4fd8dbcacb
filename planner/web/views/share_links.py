"""Links to a report for people outside the team: made, listed and revoked by those who may edit."""

import uuid
from typing import Any

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from planner.reports.models import ShareLink
from planner.reports.share_links import (
    USUAL_DAYS,
    share_link_create,
    share_link_path,
    share_link_revoke,
    share_links_of,
)
from planner.runs.models import Run, State
from planner.teams.selectors import owned_get
from planner.web.access import Visit, for_team, must_edit, page, run_of

LIVES = ((7, "a week"), (30, "30 days"), (90, "90 days"), (366, "a year"))


@require_http_methods(["GET", "POST"])
@never_cache
@for_team
def share(request: HttpRequest, visit: Visit, run_id: uuid.UUID) -> HttpResponse:
    """The links to a run's report; sent, it makes one and shows its address this once."""
    run = run_of(visit, run_id)
    if run.state != State.DONE:
        return redirect("run", run_id=run.pk)
    if request.method == "GET":
        return _page(request, visit, run, {})
    must_edit(visit)
    name = "".join(c for c in request.POST.get("name", "") if c.isprintable()).strip()
    days = request.POST.get("days", "")
    try:
        known = int(days) if days in {str(number) for number, _ in LIVES} else 0
        link, secret = share_link_create(run=run, user=visit.user, name=name, expires_in_days=known)
    except ValidationError as error:
        return _page(request, visit, run, {"problems": error.messages, "name": name}, status=422)
    address = request.build_absolute_uri(share_link_path(secret))
    return _page(request, visit, run, {"made": link, "address": address})


@require_POST
@for_team
def revoke(request: HttpRequest, visit: Visit, run_id: uuid.UUID, share_id: uuid.UUID) -> HttpResponse:
    """End a link at once."""
    run = run_of(visit, run_id)
    must_edit(visit)
    try:
        link = owned_get(ShareLink, visit.team, share_id)
    except ShareLink.DoesNotExist as missing:
        raise Http404 from missing
    share_link_revoke(link=link, user=visit.user)
    messages.success(request, f"The link “{link}” shows nothing any more.")
    return redirect("share", run_id=run.pk)


def _page(request: HttpRequest, visit: Visit, run: Run, more: dict[str, Any], status: int = 200) -> HttpResponse:
    version = run.scenario_version
    context = {
        "section": "scenarios",
        "run": run,
        "scenario": version.scenario if version else None,
        "links": share_links_of(visit.team, run),
        "lives": LIVES,
        "usual_days": USUAL_DAYS,
        "now": timezone.now(),
        **more,
    }
    return page(request, "pages/share.html", visit, context, status=status)
