"""What can go wrong, as exceptions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class StaircaseError(Exception):
    """Any failure of this client."""


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing that is wrong with a request."""

    code: str
    pointer: str
    given: str
    allowed: str
    detail: str


class ApiError(StaircaseError):
    """The server refused, or could not be reached (status 0).

    kind: the anchor of the problem's type, such as invalid-scenario. faults: every fault found.
    """

    def __init__(
        self, status: int, detail: str, *, kind: str = "", faults: tuple[Fault, ...] = (), request_id: str = ""
    ) -> None:
        self.status, self.detail, self.kind, self.faults, self.request_id = status, detail, kind, faults, request_id
        lines = [detail, *(f"{fault.pointer or '/'}: {fault.detail}" for fault in faults)]
        super().__init__("; ".join(lines))

    @property
    def invalid(self) -> bool:
        """The request itself is at fault: sending it again gives the same."""
        return self.status in (400, 413, 415, 422)


class RunFailed(StaircaseError):  # noqa: N818 - the name says what happened
    """The run ended without a report."""

    def __init__(self, state: str, failure: Mapping[str, Any] | None) -> None:
        self.state, self.failure = state, dict(failure or {})
        super().__init__(f"the run is {state}" + (f": {self.failure['detail']}" if self.failure.get("detail") else ""))


class WaitTimeout(StaircaseError):  # noqa: N818 - as above
    """The time to wait is up; the run goes on."""
