"""Which format an answer takes: `?format=` first, then the Accept header."""

from collections.abc import Iterable
from typing import Any

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
        if not given:
            chosen: tuple[BaseRenderer, str] = super().select_renderer(request, offered, format_suffix)
            return chosen
        for renderer in offered:
            if given == [renderer.format]:
                return renderer, str(renderer.media_type)
        raise ApiProblem(INVALID_PARAMETER, "This format is not offered here.", errors=[_fault(given, offered)])


def _fault(given: list[str], offered: list[Any]) -> Fault:
    allowed = ", ".join(str(renderer.format) for renderer in offered)
    return Fault(
        code="unknown_choice",
        pointer="?format",
        given=show(" ".join(given)),
        allowed=allowed,
        detail=f"It must be one of {allowed}, given once.",
    )
