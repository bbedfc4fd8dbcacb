"""What the API says about saved scenarios, as pydantic models."""

from datetime import date, datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import Field

from planner.api.wire import Wire

_ONE_LINE = r"^[^\x00-\x1f\x7f]*$"
Line = Annotated[str, Field(pattern=_ONE_LINE)]
Note = Annotated[str, Field(max_length=500, pattern=_ONE_LINE)]
Number = Annotated[int, Field(ge=1, le=2_147_483_647)]


class ScenarioSummary(Wire):
    """A saved scenario as lists show it."""

    id: UUID
    name: str
    newest_number: int = Field(description="Number of the newest version.")
    created_at: datetime
    link: str = Field(description="Path of the scenario.")
    changed_at: datetime = Field(description="When the newest version was saved.")
    archived_at: datetime | None = Field(description="When it was put away; null while it is in use.")
    tags: list[str] = Field(description="In alphabetical order.")


class ScenarioPage(Wire):
    """Saved scenarios, newest first; archived ones only when asked for."""

    items: list[ScenarioSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class VersionSummary(Wire):
    """One version of a saved scenario; it never changes."""

    number: int
    digest: str = Field(description="SHA-256 of the canonical scenario.")
    note: str
    created_at: datetime
    author: str = Field(description="Name or e-mail address of who saved it.")
    priced_at: date | None = Field(description="The day whose prices it names.")
    link: str = Field(description="Path of the version.")


class VersionPage(Wire):
    """Versions, newest first."""

    items: list[VersionSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class VersionDetail(VersionSummary):
    """A version with its content."""

    scenario: dict[str, Any] = Field(description="Can be sent to POST /api/v1/runs as it is.")


class ScenarioDetail(ScenarioSummary):
    """A saved scenario with its versions and the content of the newest."""

    versions: list[VersionSummary] = Field(description="Newest first, at most 100.")
    scenario: dict[str, Any] = Field(description="The newest version; can be sent to POST /api/v1/runs as it is.")


class VersionRequest(Wire):
    """A version to save."""

    scenario: dict[str, Any] = Field(description="As for POST /api/v1/runs; its name becomes the scenario's.")
    note: Note = Field("", description="What changed, for colleagues.")


class ScenarioRequest(VersionRequest):
    """A scenario to save, as its version 1."""

    tags: list[Line] = Field([], max_length=20, description="Words to find it by.")


class Tags(Wire):
    """The tags of a scenario."""

    tags: list[Line] = Field(max_length=20, description="Each at most 40 characters, without commas.")


class CopyRequest(Wire):
    """What to copy, and where to."""

    number: Number | None = Field(None, description="Version to copy; left out: the newest.")
    name: Annotated[str, Field(min_length=1, max_length=200, pattern=_ONE_LINE)] | None = Field(
        None, description="Name of the copy; left out: the same, with “(copy)” within the team."
    )
    team_id: UUID | None = Field(
        None, description="Another team in which you may write; for browser sessions alone, as a token is of one team."
    )


class VersionAt(Wire):
    """A version that is compared."""

    scenario_id: UUID
    number: int
    link: str


class DifferenceRow(Wire):
    """A place where two versions differ."""

    pointer: str = Field(description="JSON pointer into the scenario.")
    old: Any = Field(description="Value of the first version; null where it has none.")
    new: Any = Field(description="Value of the second version; null where it has none.")


class Diff(Wire):
    """Where two versions differ. Texts longer than 2,000 characters are named by length and SHA-256."""

    first: VersionAt
    second: VersionAt
    differences: list[DifferenceRow]


class CommentRequest(Wire):
    """Something to say about a scenario."""

    text: str = Field(min_length=1, max_length=4_000, description="Plain text.")


class CommentSummary(Wire):
    """What someone said."""

    id: int
    text: str
    author: str = Field(description="Name or e-mail address of who said it.")
    version_number: int = Field(description="The newest version at that time.")
    created_at: datetime
    link: str = Field(description="Path of the comment.")


class CommentPage(Wire):
    """Comments, newest first."""

    items: list[CommentSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")
