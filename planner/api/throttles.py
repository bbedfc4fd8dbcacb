"""Limits per token: so many requests in each window, counted in the cache, answered with 429 and Retry-After."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from rest_framework.request import Request
from rest_framework.settings import api_settings
from rest_framework.throttling import BaseThrottle

from planner.api.access import Caller
from planner.core.limits import WINDOW_S, count_up

if TYPE_CHECKING:
    from rest_framework.views import APIView


@dataclass(frozen=True, slots=True)
class Left:
    """What a caller has left of a limit in the current window."""

    name: str
    allowed: int
    remaining: int
    reset_s: int


def limit_headers(request: Request) -> dict[str, str]:
    """The limits that counted this request, as structured fields of the RateLimit draft of the IETF: the policies, and
    of each what is left and the seconds until it starts anew."""
    limits: list[Left] = getattr(request, "rate_limits", [])
    if not limits:
        return {}
    return {
        "RateLimit-Policy": ", ".join(f'"{left.name}";q={left.allowed};w={WINDOW_S}' for left in limits),
        "RateLimit": ", ".join(f'"{left.name}";r={left.remaining};t={left.reset_s}' for left in limits),
    }


class _Window(BaseThrottle):
    """At most `rate` requests per minute and caller; windows are whole minutes."""

    limit_name: ClassVar[str]
    methods: ClassVar[frozenset[str] | None] = None

    def allow_request(self, request: Request, view: APIView) -> bool:
        caller: Caller | None = getattr(view, "caller", None)
        if caller is None or (self.methods is not None and request.method not in self.methods):
            return True
        count, self._reset_s = count_up(f"api:{self.limit_name}:{caller.key}")
        allowed = _per_minute(self.limit_name)
        left = Left(self.limit_name, allowed, max(0, allowed - count), self._reset_s)
        request.rate_limits = [*getattr(request, "rate_limits", ()), left]  # type: ignore[attr-defined]
        return count <= allowed

    def wait(self) -> float:
        return self._reset_s


def _per_minute(name: str) -> int:
    return int(str(api_settings.DEFAULT_THROTTLE_RATES[name]))


class EveryRequest(_Window):
    """All requests of a caller; wide enough for a sheet of 500 cells."""

    limit_name = "requests_per_minute"


class NewRuns(_Window):
    """Requests that may start a run."""

    limit_name = "new_runs_per_minute"
    methods = frozenset({"POST"})


class Batches(_Window):
    """Requests of many estimates each."""

    limit_name = "batches_per_minute"
