"""What the API says about a team's own catalog entries, as pydantic models."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BeforeValidator, Field

from planner.api.query import iso_date
from planner.api.wire import Label, Wire

EntryKindName = Literal["accelerators", "models", "gpu-prices", "api-prices"]
Day = Annotated[date, BeforeValidator(iso_date)]


class EntryChange(Wire):
    """What an entry becomes; its kind and name stay."""

    value: dict[str, Any] = Field(
        description="gpu-prices: `gpu`, `usd_per_gpu_hour`. api-prices: `provider`, `model`, `input_usd_per_mtok`, "
        "`output_usd_per_mtok`, `cached_read_usd_per_mtok`. models: `id`, and `hf_config` or sizes as in a scenario. "
        "accelerators: a custom accelerator as in a scenario."
    )
    source: Annotated[Label, Field(min_length=1)] = Field(description="Where it is from; reports repeat it.")
    as_of: Day = Field(description="Day from which a price holds, or on which it was read; YYYY-MM-DD.")


class EntryRequest(EntryChange):
    """Something to keep; one of the same kind and name is replaced."""

    kind: EntryKindName = Field(description="Which list of the catalog it stands in.")


class Entry(Wire):
    """Something of the team's own."""

    id: UUID
    kind: EntryKindName
    name: str = Field(description="What scenarios call it; of an API price provider and model with a slash between.")
    value: dict[str, Any]
    source: str
    as_of: date
    created_by: str | None = Field(description="Address of who saved it last.")
    created_at: datetime


class EntryPage(Wire):
    """The team's entries, newest first."""

    items: list[Entry]
    next: str | None = Field(description="Path of the next page; null on the last one.")
