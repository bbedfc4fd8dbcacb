"""Which format an answer takes: `?format=` first, then the Accept header with its weights."""

from collections.abc import Iterable
from typing import Any

from rest_framework.exceptions import NotAcceptable
from rest_framework.negotiation import DefaultContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.wire import Fault
from planner.planning.errors import show


class FormatThenAccept(DefaultContentNegotiation):
    """A `format` in the address wins over Accept, because cell functions and browsers cannot set that header."""

    def select_renderer(
        self, request: Request, renderers: Iterable[BaseRenderer], format_suffix: str | None = None
    ) -> tuple[BaseRenderer, str]:
        offered = list(renderers)
        given = request.query_params.getlist("format")
        chosen = _accepted(request.headers.get("Accept", ""), offered) if not given else _named(given, offered)
        return chosen, str(chosen.media_type)


def _named(given: list[str], offered: list[BaseRenderer]) -> BaseRenderer:
    for renderer in offered:
        if given == [renderer.format]:
            return renderer
    raise ApiProblem(INVALID_PARAMETER, "This format is not offered here.", errors=[_fault(given, offered)])


def _accepted(header: str, offered: list[BaseRenderer]) -> BaseRenderer:
    """The format of the greatest weight, of equal ones what stands first here. NotAcceptable: none has any."""
    ranges = _ranges(header) or {"*/*": 1.0}
    best = max(offered, key=lambda renderer: _weight(str(renderer.media_type), ranges))
    if _weight(str(best.media_type), ranges) == 0:
        kinds = ", ".join(str(renderer.media_type) for renderer in offered)
        raise NotAcceptable(f"Accept names nothing that is offered here: {kinds}.")
    return best


def _ranges(header: str) -> dict[str, float]:
    """The weight of each media range (RFC 9110, 12.5.1); one that cannot be read has none."""
    weights: dict[str, float] = {}
    for part in filter(None, (part.strip() for part in header.split(","))):
        kind, *parameters = (text.strip().lower() for text in part.split(";"))
        given = next((text[2:].strip() for text in parameters if text.startswith("q=")), "1")
        try:
            weights[kind] = min(1.0, max(0.0, float(given)))
        except ValueError:
            weights[kind] = 0.0
    return weights


def _weight(kind: str, ranges: dict[str, float]) -> float:
    """That of the range that says most about this type."""
    for name in (kind, f"{kind.partition('/')[0]}/*", "*/*"):
        if name in ranges:
            return ranges[name]
    return 0.0


def _fault(given: list[str], offered: list[Any]) -> Fault:
    allowed = ", ".join(str(renderer.format) for renderer in offered)
    return Fault(
        code="unknown_choice",
        pointer="?format",
        given=show(" ".join(given)),
        allowed=allowed,
        detail=f"It must be one of {allowed}, given once.",
    )
