"""What the OpenAPI document says about webhooks, and about what they send."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from planner.api import problems
from planner.api.openapi_examples import RUN_ID
from planner.api.openapi_parts import ALWAYS, LINK, SMALL_BODY, failures, header, json_answer, listed, reading
from planner.api.query import TimedQuery
from planner.api.wire_webhooks import (
    DeliveryDetail,
    DeliveryPage,
    DeliverySummary,
    RunEvent,
    WebhookCreated,
    WebhookPage,
    WebhookRequest,
    WebhookSummary,
)
from planner.webhooks.models import Event

_ID = "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b10"
_DELIVERY_ID = "0197f0a7-11aa-7e02-8d6f-8f0d4b2b7c3e"
_AT = "2026-11-30T10:00:00Z"
_LAST = {
    "id": _DELIVERY_ID, "event": "run.done", "state": "delivered", "status": 204, "error": "", "created_at": _AT,
}  # fmt: skip
_HOOK = {
    "id": _ID,
    "name": "Chat channel",
    "url": "https://hooks.example.com/staircase",
    "events": ["run.done", "run.failed"],
    "enabled": True,
    "disabled_reason": "",
    "failures": 0,
    "created_at": _AT,
    "last_delivery": _LAST,
    "link": f"/api/v1/webhooks/{_ID}",
}
_CREATED = _HOOK | {"last_delivery": None, "secret": "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwAAAAAAAAAAA="}
_DELIVERY = _LAST | {"attempts": 1, "duration_ms": 84, "next_attempt_at": None, "ended_at": "2026-11-30T10:00:01Z"}
_EVENT = {
    "id": _DELIVERY_ID,
    "type": "run.done",
    "timestamp": _AT,
    "data": {
        "run": {
            "id": RUN_ID,
            "name": "Support chat",
            "state": "done",
            "failure": None,
            "verdict": {"sentence": "Rent 2 x H100: USD 4,672 a month.", "choice": "self_host_only"},
            "finished_at": _AT,
            "links": {"self": f"/api/v1/runs/{RUN_ID}", "report": f"/api/v1/runs/{RUN_ID}/report"},
        }
    },
}
_PING = _DELIVERY | {
    "event": "ping", "state": "pending", "attempts": 0, "status": None, "duration_ms": None, "next_attempt_at": _AT,
    "ended_at": None,
}  # fmt: skip
_FOUND = failures(*ALWAYS, problems.NOT_FOUND)

WEBHOOK_LIST = reading(
    "webhooks_list",
    "List webhooks",
    listed(WebhookPage, "Webhooks, each with its last delivery.", {"items": [_HOOK], "next": None}),
    query=TimedQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
WEBHOOK_CREATE: dict[str, Any] = {
    "operation_id": "webhooks_create",
    "summary": "Make a webhook",
    "description": "Its secret is shown this once. A team has at most 20.",
    "request": {"application/json": WebhookRequest},
    "examples": [
        OpenApiExample("webhook", value={name: _HOOK[name] for name in ("url", "events", "name")}, request_only=True)
    ],
    "parameters": [header("Location", "Path of the webhook.", 201)],
    "responses": {
        201: json_answer(WebhookCreated, "It was made.", created=_CREATED),
        **failures(*ALWAYS, *SMALL_BODY),
    },
}
WEBHOOK_READ = reading(
    "webhooks_read",
    "Read a webhook",
    {200: json_answer(WebhookSummary, "The webhook.", webhook=_HOOK)},
    also=(problems.NOT_FOUND,),
)
WEBHOOK_DELETE: dict[str, Any] = {
    "operation_id": "webhooks_delete",
    "summary": "Delete a webhook",
    "responses": {204: OpenApiResponse(description="It is gone, with its deliveries."), **_FOUND},
}
WEBHOOK_PING: dict[str, Any] = {
    "operation_id": "webhooks_ping",
    "summary": "Test a webhook",
    "description": "Sends an event `ping` once, signed as any other; a disabled webhook is sent it too.",
    "request": None,
    "parameters": [
        header("Location", "Path of the delivery.", 202),
        header("Retry-After", "Seconds until it is worth asking what became of it.", 202),
    ],
    "responses": {202: json_answer(DeliverySummary, "It will be sent.", ping=_PING), **_FOUND},
}
WEBHOOK_ENABLE: dict[str, Any] = {
    "operation_id": "webhooks_enable",
    "summary": "Enable a webhook again",
    "description": "Five deliveries in a row that were given up, or a 410, disable it. What it missed is not sent.",
    "request": None,
    "responses": {200: json_answer(WebhookSummary, "It is enabled.", webhook=_HOOK), **_FOUND},
}
DELIVERY_LIST = reading(
    "webhooks_deliveries_list",
    "List deliveries of a webhook",
    listed(DeliveryPage, "Deliveries of the last 30 days.", {"items": [_DELIVERY], "next": None}),
    query=TimedQuery,
    formats=("json", "csv", "xlsx"),
    also=(problems.TOO_MANY_ROWS, problems.NOT_FOUND),
    headers=(LINK,),
)
DELIVERY_READ = reading(
    "webhooks_deliveries_read",
    "Read a delivery",
    {200: json_answer(DeliveryDetail, "The delivery with its body.", delivery=_DELIVERY | {"body": _EVENT})},
    also=(problems.NOT_FOUND,),
)


def sent() -> dict[str, Any]:
    """The `webhooks` of the document: what a receiver gets."""
    return {event.value: {"post": _operation(event)} for event in Event}


def event_schemas() -> dict[str, Any]:
    """Schemas of what is sent."""
    schema = RunEvent.model_json_schema(ref_template="#/components/schemas/{model}", mode="serialization")
    return {**schema.pop("$defs"), "RunEvent": schema}


def _operation(event: Event) -> dict[str, Any]:
    state = event.value.partition(".")[2]
    example = {**_EVENT, "type": event.value} if state == "done" else None
    content: dict[str, Any] = {"schema": {"$ref": "#/components/schemas/RunEvent"}}
    return {
        "operationId": f"sent_run_{state}",
        "summary": f"A run of the team is {state}",
        "description": "Answer 2xx within ten seconds. Anything else is tried again, up to eight times in 18 hours.",
        "security": [],
        "parameters": [
            _header("Webhook-Id", "Id of the delivery, the same at every attempt."),
            _header("Webhook-Timestamp", "Seconds since 1970 when this attempt was sent."),
            _header("Webhook-Signature", "`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`."),
        ],
        "requestBody": {
            "required": True,
            "content": {"application/json": content | ({"examples": {state: {"value": example}}} if example else {})},
        },
        "responses": {
            "2XX": {"description": "It arrived."},
            "410": {"description": "Nothing more is wanted: the webhook is disabled."},
        },
    }


def _header(name: str, description: str) -> dict[str, Any]:
    return {"in": "header", "name": name, "required": True, "schema": {"type": "string"}, "description": description}
