"""A team's webhooks: made (the secret is shown once), tested, paused, brought back, deleted."""

import uuid
from collections.abc import Callable

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from planner.core.addresses import TargetRefused
from planner.core.limits import count_up
from planner.teams.rules import Action
from planner.web.access import Visit, for_team, found_or_404, must
from planner.web.team_forms import WebhookForm, add_errors
from planner.web.views.team import team_page, to_team
from planner.webhooks.models import Webhook
from planner.webhooks.selectors import webhook_get
from planner.webhooks.services import (
    MAX_PER_TEAM,
    TooManyWebhooks,
    webhook_create,
    webhook_delete,
    webhook_enable,
    webhook_pause,
    webhook_ping,
)

MOST_PINGS_PER_MINUTE = 10
PART = "#webhooks"


@require_POST
@never_cache
@for_team
def create(request: HttpRequest, visit: Visit) -> HttpResponse:
    """Make a webhook; its secret is shown this once."""
    must(visit, Action.EDIT)
    form = WebhookForm(request.POST, auto_id="webhook-%s")
    if form.is_valid():
        given = form.cleaned_data
        try:
            row, secret = webhook_create(
                team=visit.team, user=visit.user, url=given["url"], events=form.events, name=given["name"]
            )
        except TargetRefused as refused:
            form.add_error("url", refused.detail)
        except TooManyWebhooks:
            form.add_error(None, f"A team has at most {MAX_PER_TEAM} webhooks; delete one.")
        except ValidationError as refused:
            add_errors(form, refused)
        else:
            note = "Check each call's signature with this secret."
            made = {"title": f"Secret of the webhook {row.name}".rstrip(), "text": secret, "note": note}
            return team_page(request, visit, made=made)
    return team_page(request, visit, webhook_form=form)


def _ping(request: HttpRequest, visit: Visit, row: Webhook) -> None:
    count, wait_s = count_up(f"webhook-ping:{visit.team.pk}")
    if count > MOST_PINGS_PER_MINUTE:
        messages.error(request, f"Too many tests at once. Try again in {wait_s} seconds.")
        return
    webhook_ping(webhook=row)
    messages.success(request, "A test is on its way; its answer shows in the list in a moment.")


def _pause(request: HttpRequest, visit: Visit, row: Webhook) -> None:
    webhook_pause(webhook=row, actor=visit.user)


def _enable(request: HttpRequest, visit: Visit, row: Webhook) -> None:
    webhook_enable(webhook=row, actor=visit.user)


def _delete(request: HttpRequest, visit: Visit, row: Webhook) -> None:
    webhook_delete(webhook=row, actor=visit.user)
    messages.success(request, "The webhook is deleted, with what it was sent.")


def _act(act: Callable[[HttpRequest, Visit, Webhook], None]) -> Callable[..., HttpResponseBase]:
    """The view that does something with one webhook of the team and goes back to the list."""

    @require_POST
    @for_team
    def view(request: HttpRequest, visit: Visit, webhook_id: uuid.UUID) -> HttpResponse:
        must(visit, Action.EDIT)
        with found_or_404(Webhook.DoesNotExist):
            row = webhook_get(visit.team, webhook_id)
        act(request, visit, row)
        return to_team(visit, PART)

    return view


ping, pause, enable, delete = _act(_ping), _act(_pause), _act(_enable), _act(_delete)
