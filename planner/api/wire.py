"""What the API says, as pydantic models: they make the answers and describe them in the OpenAPI document."""

from datetime import date, datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from planner.planning.schema.fields import IsoDate

RunState = Literal["queued", "running", "done", "failed", "cancelled"]


def _printable(value: str) -> str:
    if not value.isprintable():
        raise ValueError("it holds control characters")
    return value.strip()


Label = Annotated[str, Field(max_length=120), AfterValidator(_printable)]
"""The name someone gives a thing: one line that prints, as PostgreSQL stores no NUL and a name stands in tables."""


class Wire(BaseModel):
    """Closed and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Fault(Wire):
    """One thing that is wrong with a request."""

    code: str = Field(description="Stable word for programs.")
    pointer: str = Field(
        description="Where: a JSON pointer into the body (empty: the whole body), `?name` for a query parameter, "
        "or the name of a header."
    )
    given: str = Field(description="What was sent there, cut to 80 characters.")
    allowed: str = Field(description="What would be accepted.")
    detail: str = Field(description="One sentence for people.")


class Problem(Wire):
    """An error (RFC 9457)."""

    type: str = Field(description="Path to the description of this kind of problem.")
    title: str = Field(description="The kind of problem in a few words.")
    status: int = Field(description="The HTTP status again.")
    detail: str = Field(description="What happened this time.")
    errors: list[Fault] = Field(description="Every fault found, where there are several.")
    request_id: str = Field(description="Quote it when asking for help; it is in the server's log.")


class RunLinks(Wire):
    """Paths below the server's address."""

    own: str = Field(serialization_alias="self", description="This run.")
    report: str | None = Field(description="Its report; null until the run is done.")


class RunFailure(Wire):
    """Why a run failed."""

    code: str
    detail: str


class ScenarioRef(Wire):
    """A version of a saved scenario."""

    scenario_id: UUID
    number: int = Field(ge=1, description="Version of the scenario, counted from 1.")


class RunSummary(Wire):
    """A run as lists show it."""

    id: UUID
    name: str = Field(description="The scenario's name.")
    state: RunState
    progress_ratio: float = Field(description="Share of the work that is done, 0 to 1.")
    stage: str = Field(description="What is being done, in words.")
    cancel_requested: bool
    scenario_version: ScenarioRef | None = Field(description="The saved version it was made from, if any.")
    failure: RunFailure | None = Field(description="Set when the state is failed.")
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    links: RunLinks
    priced_at: date | None = Field(description="The day whose prices it takes.")
    repriced: bool = Field(description="Whether that is another day than its saved version names.")
    result_version: str = Field(description="Engine and catalog that it was asked of.")


class RunDetail(RunSummary):
    """A run with what it has found so far."""

    candidates: list[dict[str, Any]] = Field(
        description="Candidates finished so far, shaped as in the report; the report holds the final ones."
    )
    measurements: list[str] = Field(description="Paths of measurements of deployments that followed it, newest first.")


class RunPage(Wire):
    """Runs, newest first."""

    items: list[RunSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class SavedVersionRequest(Wire):
    """Asks for a run of a saved scenario."""

    scenario_version: "SavedVersion"
    priced_at: IsoDate | None = Field(
        None, description="Prices of this day in place of the version's, which stays as it is."
    )


class SavedVersion(Wire):
    """Which saved scenario, and which version of it."""

    scenario_id: UUID
    number: int | None = Field(None, ge=1, le=2_147_483_647, description="Left out: the newest version.")


class ValidScenario(Wire):
    """The answer to a scenario that can be run."""

    digest: str = Field(description="SHA-256 of the canonical scenario.")
    scenario: dict[str, Any] = Field(description="The scenario with every default written out.")


class CatalogPage(Wire):
    """Rows of a catalog table, in a fixed order."""

    priced_at: str = Field(description="The date that prices were read for, YYYY-MM-DD.")
    items: list[dict[str, Any]]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class BatchRequest(Wire):
    """Many estimates in one request."""

    rows: list[dict[str, Any]] = Field(
        min_length=1,
        max_length=500,
        description="Each with the parameters of GET /sheets/estimate, or with a whole scenario under `scenario`.",
    )
    fields: list[str] | None = Field(None, max_length=100, description="Columns to answer with; left out: all.")


class BatchRow(Wire):
    """The answer to one row."""

    index: int = Field(description="Place of the row in the request, from 0.")
    cells: dict[str, Any] | None = Field(description="Columns of GET /sheets/estimate; null when the row has faults.")
    errors: list[Fault] = Field(description="Every fault of the row, with pointers into the body.")


class BatchAnswer(Wire):
    """Answers in the order of the rows."""

    rows: list[BatchRow]


class LinkRequest(Wire):
    """A link token to make."""

    name: Label = Field("", description="What it is for.")
    expires_in_days: int = Field(365, ge=1, le=3650, description="Days until it stops working.")


class LinkSummary(Wire):
    """A link token as lists show it: without its secret."""

    id: int
    name: str
    prefix: str = Field(description="The public part of its text.")
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None


class LinkCreated(LinkSummary):
    """A new link token."""

    token: str = Field(description="Its text, shown this once; goes into addresses as `token=`.")


class LinkPage(Wire):
    """Link tokens, newest first; revoked ones are left out."""

    items: list[LinkSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class SimulatedRequest(Wire):
    """One simulated request of the run that confirmed the recommended fleet; times as its client sees them."""

    request: int = Field(description="Counted from 0 in the order of arrival.")
    replica: int = Field(description="Serving replica, from 0; of a drawn load up to three are simulated.")
    traffic_class: str = Field(serialization_alias="class", description="Class of traffic; `all` where there is one.")
    arrival_s: float = Field(description="When it was sent, from the start of the run.")
    first_token_s: float | None = Field(description="When its first token came; null if never.")
    end_s: float | None = Field(description="When its last token came; null if it was not finished.")
    prompt_tokens: int
    output_tokens: int = Field(description="As generated.")
    cached_tokens: int = Field(description="Prompt tokens found in the prefix cache.")
    ttft_ms: float | None = Field(description="first_token_s minus arrival_s.")
    tpot_ms: float | None = Field(description="Per output token after the first; null for a single one.")
    e2e_ms: float | None = Field(description="end_s minus arrival_s.")
    preemptions: int
    outcome: Literal["finished", "unservable", "unfinished", "rejected", "timed_out"]
    judged: bool = Field(description="Whether the report's percentiles count it; a drawn load's warm-up is left out.")


class RequestPage(Wire):
    """Simulated requests by arrival; with `fields` only those columns."""

    items: list[SimulatedRequest]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class TablePage(Wire):
    """Rows of a table of a report."""

    items: list[dict[str, Any]]
    next: str | None = Field(description="Path of the next page; null on the last one.")
