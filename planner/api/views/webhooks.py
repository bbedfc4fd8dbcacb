"""A team's webhooks. Their addresses often carry a secret of the receiver, so reading them takes `write` too."""

import json
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner.api import openapi_webhooks as openapi
from planner.api.answers import answer
from planner.api.listing import list_rows
from planner.api.problems import INVALID_BODY, ApiProblem
from planner.api.query import NoQuery, TimedQuery, read_query
from planner.api.small_body import read_body
from planner.api.throttles import EveryRequest, NewRuns
from planner.api.views.base import ApiView, ListView
from planner.api.wire import Fault
from planner.api.wire_webhooks import (
    DeliveryDetail,
    DeliverySummary,
    LastDelivery,
    WebhookCreated,
    WebhookRequest,
    WebhookSummary,
)
from planner.core.addresses import TargetRefused
from planner.planning.errors import show
from planner.teams.models import Scope
from planner.webhooks.models import Delivery, DeliveryState, Webhook
from planner.webhooks.selectors import deliveries_of, webhook_get, webhooks_of
from planner.webhooks.services import (
    MAX_PER_TEAM,
    TooManyWebhooks,
    webhook_create,
    webhook_delete,
    webhook_enable,
    webhook_ping,
)

PATH = "/api/v1/webhooks"
_WRITE = {"GET": Scope.WRITE, "HEAD": Scope.WRITE, "POST": Scope.WRITE, "DELETE": Scope.WRITE}


class WebhookList(ListView):
    """All webhooks of the team."""

    makes_anew = True
    scopes: ClassVar = _WRITE

    @extend_schema(**openapi.WEBHOOK_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = webhooks_of(self.caller.team)
        return list_rows(request, query, rows, WebhookSummary, lambda row: WebhookSummary(**_summary(row)), "webhooks")

    @extend_schema(**openapi.WEBHOOK_CREATE)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        wanted = read_body(request, WebhookRequest)
        try:
            row, secret = webhook_create(
                team=self.caller.team, user=self.caller.user, url=wanted.url, events=wanted.events, name=wanted.name
            )
        except TargetRefused as refused:
            raise _refused(refused.code, "/url", wanted.url, refused.detail) from None
        except TooManyWebhooks:
            raise _refused("too_many", "", "", f"A team has at most {MAX_PER_TEAM} webhooks; delete one.") from None
        body = WebhookCreated(**_summary(row), secret=secret)
        return answer(request, body, status=201, headers={"Location": _path(row)})


class _OfWebhook(ApiView):
    scopes: ClassVar = _WRITE

    def webhook(self, webhook_id: UUID) -> Webhook:
        try:
            return webhook_get(self.caller.team, webhook_id)
        except Webhook.DoesNotExist:
            raise NotFound("The team has no such webhook.") from None


class WebhookItem(_OfWebhook):
    """One webhook."""

    @extend_schema(**openapi.WEBHOOK_READ)
    def get(self, request: Request, webhook_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        return answer(request, WebhookSummary(**_summary(self.webhook(webhook_id))))

    @extend_schema(**openapi.WEBHOOK_DELETE)
    def delete(self, request: Request, webhook_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        webhook_delete(webhook=self.webhook(webhook_id), actor=self.caller.user)
        return HttpResponse(status=204)


class WebhookPing(_OfWebhook):
    """A test."""

    makes_anew = True
    throttle_classes = [EveryRequest, NewRuns]
    http_method_names = ["post"]

    @extend_schema(**openapi.WEBHOOK_PING)
    def post(self, request: Request, webhook_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row = webhook_ping(webhook=self.webhook(webhook_id))
        headers = {"Location": f"{PATH}/{webhook_id}/deliveries/{row.pk}", "Retry-After": "1"}
        return answer(request, _delivery(row), status=202, headers=headers)


class WebhookEnable(_OfWebhook):
    """Brings a disabled webhook back."""

    http_method_names = ["post"]

    @extend_schema(**openapi.WEBHOOK_ENABLE)
    def post(self, request: Request, webhook_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row = webhook_enable(webhook=self.webhook(webhook_id), actor=self.caller.user)
        return answer(request, WebhookSummary(**_summary(row)))


class WebhookDeliveries(_OfWebhook, ListView):
    """What was sent to a webhook, or will be."""

    http_method_names = ["get", "head"]

    @extend_schema(**openapi.DELIVERY_LIST)
    def get(self, request: Request, webhook_id: UUID) -> HttpResponse:
        query = read_query(request, TimedQuery)
        rows = deliveries_of(self.webhook(webhook_id)).defer("body")
        return list_rows(request, query, rows, DeliverySummary, _delivery, f"deliveries-{webhook_id}")


class WebhookDelivery(_OfWebhook):
    """One of them, with its body."""

    http_method_names = ["get", "head"]

    @extend_schema(**openapi.DELIVERY_READ)
    def get(self, request: Request, webhook_id: UUID, delivery_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        row = deliveries_of(self.webhook(webhook_id)).filter(pk=delivery_id).first()
        if row is None:
            raise NotFound("The webhook has no such delivery.")
        return answer(request, DeliveryDetail(**_delivery(row).model_dump(), body=json.loads(row.body)))


def _refused(code: str, place: str, given: str, detail: str) -> ApiProblem:
    fault = Fault(code=code, pointer=place, given=show(given) if given else "", allowed="", detail=detail)
    return ApiProblem(INVALID_BODY, detail, errors=[fault])


def _path(row: Webhook) -> str:
    return f"{PATH}/{row.pk}"


def _summary(row: Webhook) -> dict[str, Any]:
    known = getattr(row, "last", None)
    newest = known if known is not None else list(deliveries_of(row).defer("body")[:1])
    return {
        "id": row.pk,
        "name": row.name,
        "url": row.url,
        "events": row.events,
        "enabled": row.disabled_at is None,
        "disabled_reason": row.disabled_reason,
        "failures": row.failures,
        "created_at": row.created_at,
        "last_delivery": _last(newest[0]) if newest else None,
        "link": _path(row),
    }


def _last(row: Delivery) -> LastDelivery:
    names = ("event", "state", "status", "error", "created_at")
    return LastDelivery(id=row.pk, **{name: getattr(row, name) for name in names})


def _delivery(row: Delivery) -> DeliverySummary:
    names = ("event", "state", "attempts", "status", "error", "duration_ms", "created_at", "ended_at")
    due_at = row.due_at if row.state == DeliveryState.PENDING else None
    return DeliverySummary(id=row.pk, next_attempt_at=due_at, **{name: getattr(row, name) for name in names})
