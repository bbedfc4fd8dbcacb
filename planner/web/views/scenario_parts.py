"""What is done to a saved scenario from its page: tags, archive, comments, copies."""

import uuid

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from planner import planning
from planner.scenarios.models import Comment
from planner.scenarios.selectors import comments_of, version_newest
from planner.scenarios.upkeep import (
    comment_add,
    comment_delete,
    scenario_archive,
    scenario_copy,
    scenario_tag,
    scenario_unarchive,
)
from planner.teams.models import Team
from planner.teams.selectors import teams_of
from planner.web.access import Visit, for_team, must_edit
from planner.web.views.scenario_form import scenario_of


@require_POST
@for_team
def tags(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Give the scenario the tags of a line with commas, and no others."""
    scenario = scenario_of(visit, scenario_id)
    must_edit(visit)
    try:
        scenario_tag(scenario=scenario, user=visit.user, names=request.POST.get("tags", "").split(","))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("scenario", scenario_id=scenario_id)


@require_POST
@for_team
def archive(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Put the scenario away, or bring it back with `back`."""
    scenario = scenario_of(visit, scenario_id)
    must_edit(visit)
    if request.POST.get("back"):
        scenario_unarchive(scenario=scenario, user=visit.user)
        messages.success(request, "It is back in the list.")
    else:
        scenario_archive(scenario=scenario, user=visit.user)
        messages.success(request, "It is archived: out of the list, with everything kept.")
    return redirect("scenario", scenario_id=scenario_id)


@require_POST
@for_team
def comment(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Say something about the scenario."""
    scenario = scenario_of(visit, scenario_id)
    must_edit(visit)
    try:
        comment_add(scenario=scenario, user=visit.user, text=request.POST.get("text", ""))
    except ValidationError:
        messages.error(request, "A comment has 1 to 4,000 characters.")
    return _to_comments(scenario_id)


@require_POST
@for_team
def uncomment(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID, comment_id: int) -> HttpResponse:
    """Delete a comment of one's own, or as an owner of the team."""
    scenario = scenario_of(visit, scenario_id)
    must_edit(visit)
    found: Comment | None = comments_of(scenario).filter(pk=comment_id).first()
    if found is None:
        raise Http404
    comment_delete(comment=found, user=visit.user)
    return _to_comments(scenario_id)


@require_POST
@for_team
def copy(request: HttpRequest, visit: Visit, scenario_id: uuid.UUID) -> HttpResponse:
    """Copy the newest version to a new scenario, of this team or of another one that the visitor may write in."""
    scenario = scenario_of(visit, scenario_id)
    must_edit(visit)
    team = _team(visit, request.POST.get("to", ""))
    try:
        version = scenario_copy(version=version_newest(scenario), team=team, user=visit.user)
    except planning.ScenarioInvalid as error:
        messages.error(request, f"It was saved under an earlier catalog and is no longer valid: {error}")
        return redirect("scenario", scenario_id=scenario_id)
    if team == visit.team:
        messages.success(request, f"This is the copy of {scenario.name}.")
        return redirect("scenario", scenario_id=version.scenario_id)
    messages.success(request, f"Copied to {team.name}.")
    return redirect("scenario", scenario_id=scenario_id)


def _team(visit: Visit, key: str) -> Team:
    try:
        return teams_of(visit.user).get(pk=uuid.UUID(key)) if key else visit.team
    except (ValueError, Team.DoesNotExist) as missing:
        raise Http404 from missing


def _to_comments(scenario_id: uuid.UUID) -> HttpResponse:
    response = redirect("scenario", scenario_id=scenario_id)
    response["Location"] += "#comments"
    return response
