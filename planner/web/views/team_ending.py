"""Exporting and deleting a team."""

from django.contrib import messages
from django.http import FileResponse, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods, require_POST

from planner.reports.team_export import team_export
from planner.teams.endings import NotExported, exported_lately, team_delete, team_exported
from planner.teams.rules import Action
from planner.web.access import Visit, for_team, must, page
from planner.web.confirming import confirmed
from planner.web.team_forms import DeleteForm


@require_POST
@never_cache
@for_team
@confirmed
def export(request: HttpRequest, visit: Visit) -> HttpResponseBase:
    """All of the team's data as a zip."""
    must(visit, Action.EXPORT)
    team_exported(team=visit.team, actor=visit.user)
    name = f"staircase-{slugify(visit.team.name) or 'team'}-{timezone.now():%Y-%m-%d}.zip"
    return FileResponse(team_export(visit.team), as_attachment=True, filename=name, content_type="application/zip")


@require_http_methods(["GET", "POST"])
@never_cache
@for_team
@confirmed
def delete(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Delete the team: after an export, and with its name typed."""
    must(visit, Action.DELETE_TEAM)
    form = DeleteForm(request.POST or None, name=visit.team.name, auto_id="delete-%s")
    if request.method == "POST" and form.is_valid():
        try:
            team_delete(team=visit.team, actor=visit.user)
        except NotExported:
            form.add_error(None, "Take an export first; it counts for 24 hours.")
        else:
            messages.success(request, f"{visit.team.name} and everything in it was deleted.")
            return redirect("account")
    context = {"form": form, "exported": exported_lately(visit.team), "section": "team"}
    return page(request, "pages/team_delete.html", visit, context, status=422 if form.errors else 200)
