"""What the API says about a team's traces, as pydantic models."""

from datetime import datetime
from typing import Any
from uuid import UUID

from pydantic import Field

from planner.api.wire import Wire


class UploadRequest(Wire):
    """A file that is about to come."""

    name: str = Field(min_length=1, max_length=200, description="What the trace will be called.")


class Upload(Wire):
    """A file on its way in."""

    id: UUID
    name: str
    parts: int = Field(description="Parts received; the next one has the number above.")
    size_bytes: int
    created_at: datetime
    link: str = Field(description="Path of the upload.")


class UploadPage(Wire):
    """Uploads that were not finished, newest first."""

    items: list[Upload]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class AnswersRequest(Wire):
    """What a person says about a file; {} where there was nothing to ask."""

    answers: dict[str, str] = Field({}, description="Question -> choice, as `reading.questions` names them.")
    columns: dict[str, str] = Field({}, description="Meaning -> name of the column: time, prompt, output, ...")


class InspectionAnswer(Wire):
    """What a file is and says; the same as `manage.py inspect --json`."""

    kind: str = Field(description="requests, usage, rates, lengths, length_tables or measurement.")
    reading: dict[str, Any] | None = Field(description="How it was read: assumptions, questions, rows left out.")
    profile: dict[str, Any] | None = Field(description="Of requests: rates, gaps, lengths, sharing, fitted traffic.")
    usage: dict[str, Any] | None
    rates: dict[str, Any] | None
    length_tables: dict[str, Any] | None
    measurement: dict[str, Any] | None


class TraceSummary(Wire):
    """A trace as lists show it."""

    id: UUID
    name: str
    format: str
    requests: int
    digest: str = Field(description="SHA-256 of the file and the answers about it.")
    created_at: datetime
    link: str = Field(description="Path of the trace.")


class TracePage(Wire):
    """The team's traces, newest first."""

    items: list[TraceSummary]
    next: str | None = Field(description="Path of the next page; null on the last one.")


class TraceDetail(TraceSummary):
    """A trace with all that was found in it."""

    reading: dict[str, Any]
    profile: dict[str, Any] = Field(description="`profile.fitted.traffic` goes into a scenario as it is.")


class ScenarioTrace(Wire):
    """`traffic.trace` of a scenario that replays the requests."""

    csv: str = Field(description="The requests, with their conversations and hashed blocks where the file told them.")
    block_tokens: int | None = Field(None, description="Tokens of a hashed block; null where there are none.")
