"""What the API says about webhooks, as pydantic models."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from planner.api.wire import Label, RunFailure, RunLinks, Wire

EventName = Literal["run.done", "run.failed", "run.cancelled"]
DeliveryStateName = Literal["pending", "delivered", "failed"]


class WebhookRequest(Wire):
    """An address to call."""

    url: str = Field(min_length=1, max_length=500, description="https://…, of a host that the Internet can reach.")
    events: list[EventName] = Field(
        ["run.done", "run.failed", "run.cancelled"], min_length=1, max_length=3, description="What to be told of."
    )
    name: Label = Field("", description="What it is for.")


class DeliverySummary(Wire):
    """One event for a webhook."""

    id: UUID = Field(description="Goes out as Webhook-Id at every attempt.")
    event: str = Field(description="Kind of event, or `ping`.")
    state: DeliveryStateName
    attempts: int = Field(description="Requests sent so far, at most 8.")
    status: int | None = Field(description="What the receiver answered last; null without an answer.")
    error: str = Field(description="Why the last attempt failed; empty otherwise.")
    duration_ms: int | None = Field(description="How long the last attempt took.")
    next_attempt_at: datetime | None = Field(description="While it is pending.")
    created_at: datetime
    ended_at: datetime | None


class DeliveryDetail(DeliverySummary):
    """A delivery with what is sent."""

    body: dict[str, Any]


class DeliveryPage(Wire):
    """Deliveries, newest first; kept for 30 days."""

    items: list[DeliverySummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class LastDelivery(Wire):
    """The newest delivery of a webhook."""

    id: UUID
    event: str
    state: DeliveryStateName
    status: int | None
    error: str
    created_at: datetime


class WebhookSummary(Wire):
    """A webhook."""

    id: UUID
    name: str
    url: str
    events: list[EventName]
    enabled: bool
    disabled_reason: str = Field(description="Why it is not enabled; empty otherwise.")
    failures: int = Field(description="Deliveries given up since the last one that arrived; the fifth disables it.")
    created_at: datetime
    last_delivery: LastDelivery | None
    link: str = Field(description="Path of the webhook.")


class WebhookCreated(WebhookSummary):
    """A new webhook."""

    secret: str = Field(description="whsec_…, for checking signatures; shown this once.")


class WebhookPage(Wire):
    """Webhooks, newest first."""

    items: list[WebhookSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class RunVerdict(Wire):
    """The answer of a report."""

    sentence: str
    choice: Literal["self_host", "api", "hybrid", "self_host_only", "none"]


class EndedRun(Wire):
    """A run that ended."""

    id: UUID
    name: str
    state: Literal["done", "failed", "cancelled"]
    failure: RunFailure | None
    verdict: RunVerdict | None = Field(description="Null where there is no report.")
    finished_at: datetime
    links: RunLinks


class RunEventData(Wire):
    run: EndedRun


class RunEvent(Wire):
    """What a webhook is sent when a run ends."""

    id: UUID = Field(description="The same as Webhook-Id.")
    type: EventName
    timestamp: datetime = Field(description="When it was recorded, not when it is sent.")
    data: RunEventData
