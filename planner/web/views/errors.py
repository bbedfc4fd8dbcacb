"""Error pages in the look of the others. They touch no database, so that they work when it does not."""

import sys

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from planner.core.context import request_id
from planner.core.health import ASK_AGAIN_S, DATABASE_AWAY


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    """400."""
    detail = "The browser sent something that this page cannot read: too large, incomplete or not from this site."
    return _error(request, 400, "This request cannot be read", detail)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    """403, with the reason that a view gave."""
    said = str(exception) if isinstance(exception, PermissionDenied) else ""
    return _error(request, 403, "Not allowed", said or "Your role in the team does not include this.")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """404; the same answer for what is not there and for what belongs to another team."""
    return _error(request, 404, "Not found", "There is nothing at this address, or it belongs to another team.")


def server_error(request: HttpRequest) -> HttpResponse:
    """500, with the request's id for the log; 503 where it is the database that does not answer."""
    if isinstance(sys.exc_info()[1], DATABASE_AWAY):
        detail = "What was saved is safe, and runs go on when it is back. Try again in a moment."
        response = _error(request, 503, "The database does not answer", detail)
        response["Retry-After"] = str(ASK_AGAIN_S)
        return response
    detail = "Something broke here. Nothing that you saved is lost. The log has the cause under this number."
    return _error(request, 500, "This page failed", detail)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:
    """A form whose protection did not match: usually a page that was open since before signing in."""
    detail = "The form was open for too long or belongs to an earlier session. Go back, reload it and send it again."
    return _error(request, 403, "This form has expired", detail)


def _error(request: HttpRequest, status: int, title: str, detail: str) -> HttpResponse:
    context = {"status": status, "title": title, "detail": detail, "request_id": request_id.get(), "bare": True}
    return render(request, "pages/error.html", context, status=status)
