"""What every answer has: an id, shown in logs and error bodies too, a word on who may keep it and what may use it."""

import re
import uuid
from collections.abc import Callable
from typing import ClassVar

from django.http import HttpRequest, HttpResponse

from planner.core.context import LOG_IDS, request_id, team_id, via_token

_ACCEPTED = re.compile(r"[A-Za-z0-9_-]{8,64}")


class RequestIdMiddleware:
    """Keeps a well-formed id that a proxy sent, else makes one."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        given = request.headers.get("X-Request-Id", "")
        token = request_id.set(given if _ACCEPTED.fullmatch(given) else uuid.uuid4().hex)
        came_with = via_token.set("")
        acts_for = team_id.set("")
        try:
            response = self.get_response(request)
            response["X-Request-Id"] = request_id.get()
            return response
        finally:
            request.META[LOG_IDS] = {"request": request_id.get(), "team": team_id.get()}
            request_id.reset(token)
            via_token.reset(came_with)
            team_id.reset(acts_for)


class PrivateAnswersMiddleware:
    """Answers are one person's unless they say otherwise: no proxy keeps them, and a browser asks before it shows one
    again, so that nothing stays readable after signing out."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        response.headers.setdefault("Cache-Control", "private, no-cache")
        return response


class BrowserHeadersMiddleware:
    """No answer is a part of another site's page, and no page may ask for what the product never uses."""

    _HEADERS: ClassVar[dict[str, str]] = {
        "Cross-Origin-Resource-Policy": "same-origin",
        "Permissions-Policy": ", ".join(
            f"{feature}=()"
            for feature in (
                "camera",
                "display-capture",
                "geolocation",
                "microphone",
                "payment",
                "usb",
                "browsing-topics",
            )
        ),
    }

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        for name, value in self._HEADERS.items():
            response.headers.setdefault(name, value)
        return response
