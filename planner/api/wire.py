"""What the API says, as pydantic models: they make the answers and describe them in the OpenAPI document."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

RunState = Literal["queued", "running", "done", "failed", "cancelled"]


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


class RunDetail(RunSummary):
    """A run with what it has found so far."""

    candidates: list[dict[str, Any]] = Field(
        description="Candidates finished so far, shaped as in the report; the report holds the final ones."
    )


class RunPage(Wire):
    """Runs, newest first."""

    items: list[RunSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class SavedVersionRequest(Wire):
    """Asks for a run of a saved scenario."""

    scenario_version: "SavedVersion"


class SavedVersion(Wire):
    """Which saved scenario, and which version of it."""

    scenario_id: UUID
    number: int | None = Field(None, ge=1, le=2_147_483_647, description="Left out: the newest version.")


class ScenarioSummary(Wire):
    """A saved scenario as lists show it."""

    id: UUID
    name: str
    newest_number: int = Field(description="Number of the newest version.")
    created_at: datetime
    link: str = Field(description="Path of the scenario.")


class ScenarioPage(Wire):
    """Saved scenarios, newest first; archived ones are left out."""

    items: list[ScenarioSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class VersionSummary(Wire):
    """One version of a saved scenario."""

    number: int
    digest: str = Field(description="SHA-256 of the canonical scenario.")
    note: str
    created_at: datetime


class ScenarioDetail(ScenarioSummary):
    """A saved scenario with its versions and the content of the newest."""

    versions: list[VersionSummary] = Field(description="Newest first, at most 100.")
    scenario: dict[str, Any] = Field(description="The newest version; can be sent to POST /api/v1/runs as it is.")


class ValidScenario(Wire):
    """The answer to a scenario that can be run."""

    digest: str = Field(description="SHA-256 of the canonical scenario.")
    scenario: dict[str, Any] = Field(description="The scenario with every default written out.")


class CatalogPage(Wire):
    """Rows of a catalog table, in a fixed order."""

    priced_at: str = Field(description="The date that prices were read for, YYYY-MM-DD.")
    items: list[dict[str, Any]]
    next: str | None = Field(description="Path of the next page; null on the last one.")
