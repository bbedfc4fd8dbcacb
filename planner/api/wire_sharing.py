"""What the API says about comparisons and share links, as pydantic models."""

from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from planner.api.wire import Wire
from planner.api.wire_scenarios import Line
from planner.reports.compared import FEWEST, MOST
from planner.reports.share_links import LONGEST_DAYS, USUAL_DAYS


class ComparisonRequest(Wire):
    """What to compare."""

    of: Annotated[list[str], Field(min_length=FEWEST, max_length=MOST)] = Field(
        description="Each a scenario (`ID`: its newest version), a version (`ID:3`) or a run (`run:ID`)."
    )


class ComparedSide(Wire):
    """One side of a comparison."""

    of: str = Field(description="Its name for good: a newest version is named by its number.")
    label: str = Field(description="Tells the sides apart.")
    scenario_id: UUID | None
    number: int | None = Field(description="Number of the version.")
    run_id: UUID | None = Field(description="The finished run whose results stand here; null without one.")
    priced_at: date
    report: str | None = Field(description="Path of the whole report.")


class InputRow(Wire):
    """A place where the scenarios differ."""

    pointer: str = Field(description="JSON pointer into the scenario.")
    values: list[Any] = Field(description="One for each side; null where a scenario has none.")


class ResultRow(Wire):
    """A result of every side."""

    name: str = Field(description="Stable word, ending in its unit.")
    label: str
    unit: str
    values: list[Any] = Field(
        description="One for each side: a range {low, mid, high}, of a target also {target, met}; a number; a text; "
        "null where a side has none."
    )


class Comparison(Wire):
    """Two to five scenarios, versions or runs side by side."""

    sides: list[ComparedSide]
    inputs: list[InputRow] = Field(description="Only what differs.")
    results: list[ResultRow] = Field(description="Only what some side has.")
    link: str = Field(description="Path of this comparison.")
    page: str = Field(description="Path of its page, for members of the team.")


class ShareLinkRequest(Wire):
    """A share link to make."""

    run_id: UUID = Field(description="A finished run; its report is what the link shows.")
    name: Annotated[Line, Field(max_length=120)] = Field("", description="Whom it is for.")
    expires_in_days: int = Field(USUAL_DAYS, ge=1, le=LONGEST_DAYS, description="Days until it stops working.")


class ShareLinkSummary(Wire):
    """A share link as lists show it: without its secret."""

    id: UUID
    name: str
    run_id: UUID
    author: str = Field(description="Name or e-mail address of who made it.")
    created_at: datetime
    expires_at: datetime
    expired: bool
    last_used_at: datetime | None
    link: str = Field(description="Path of the share link.")


class ShareLinkCreated(ShareLinkSummary):
    """A new share link."""

    path: str = Field(description="Path of the shared page below the server's address; holds the secret, shown once.")


class ShareLinkPage(Wire):
    """Share links, newest first; revoked ones are left out."""

    items: list[ShareLinkSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")
