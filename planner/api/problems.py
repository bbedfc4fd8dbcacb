"""Every error of the API as one problem document (RFC 9457), and the one place where exceptions become one."""

import json
import logging
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import BadRequest, DisallowedHost, PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404, HttpRequest, HttpResponse
from django.http.multipartparser import MultiPartParserError
from django.http.request import RawPostDataException, UnreadablePostError
from rest_framework import exceptions

from planner.api.wire import Fault, Problem
from planner.core import health
from planner.core.context import request_id
from planner.planning.errors import show

MEDIA_TYPE = "application/problem+json"
DOCS_PATH = "/api/v1/docs"

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its anchor in docs/api.md, its HTTP status and what it says in a few words."""

    anchor: str
    status: int
    title: str


MALFORMED_BODY = Kind("malformed-body", 400, "The body cannot be read")
INVALID_PARAMETER = Kind("invalid-parameter", 400, "A parameter or header is not accepted")
NOT_AUTHENTICATED = Kind("not-authenticated", 401, "A valid token or session is needed")
FORBIDDEN = Kind("forbidden", 403, "The token, role or session does not allow this")
NOT_FOUND = Kind("not-found", 404, "There is nothing here for this team")
METHOD_NOT_ALLOWED = Kind("method-not-allowed", 405, "This address does not take this method")
NOT_ACCEPTABLE = Kind("not-acceptable", 406, "None of the accepted formats is offered here")
NO_REPORT = Kind("no-report", 409, "The run has no report")
VERSION_CONFLICT = Kind("version-conflict", 412, "It was changed meanwhile")
LAST_OWNER = Kind("last-owner", 409, "The team would be left without an owner")
BODY_TOO_LARGE = Kind("body-too-large", 413, "The body is too large")
TOO_MANY_ROWS = Kind("too-many-rows", 413, "The list is too long for one answer")
UNSUPPORTED_MEDIA_TYPE = Kind("unsupported-media-type", 415, "The body must be JSON")
INVALID_BODY = Kind("invalid-body", 422, "The body is not of the form asked for")
INVALID_SCENARIO = Kind("invalid-scenario", 422, "The scenario is not valid")
IDEMPOTENCY_CONFLICT = Kind("idempotency-conflict", 422, "The Idempotency-Key was used with another request")
IF_MATCH_NEEDED = Kind("if-match-needed", 428, "The change must say which version it began with")
TOO_MANY_REQUESTS = Kind("too-many-requests", 429, "Too many requests")
INTERNAL_ERROR = Kind("internal-error", 500, "The server failed")
DATABASE_AWAY = Kind("database-away", 503, "The database does not answer")

KINDS: tuple[Kind, ...] = (
    MALFORMED_BODY,
    INVALID_PARAMETER,
    NOT_AUTHENTICATED,
    FORBIDDEN,
    NOT_FOUND,
    METHOD_NOT_ALLOWED,
    NOT_ACCEPTABLE,
    NO_REPORT,
    VERSION_CONFLICT,
    LAST_OWNER,
    BODY_TOO_LARGE,
    TOO_MANY_ROWS,
    UNSUPPORTED_MEDIA_TYPE,
    INVALID_BODY,
    INVALID_SCENARIO,
    IDEMPOTENCY_CONFLICT,
    IF_MATCH_NEEDED,
    TOO_MANY_REQUESTS,
    INTERNAL_ERROR,
    DATABASE_AWAY,
)

_BY_EXCEPTION: tuple[tuple[tuple[type[Exception], ...], Kind], ...] = (
    ((exceptions.NotAuthenticated, exceptions.AuthenticationFailed), NOT_AUTHENTICATED),
    ((exceptions.PermissionDenied, PermissionDenied), FORBIDDEN),
    ((exceptions.NotFound, Http404), NOT_FOUND),
    ((exceptions.MethodNotAllowed,), METHOD_NOT_ALLOWED),
    ((exceptions.NotAcceptable,), NOT_ACCEPTABLE),
    ((exceptions.UnsupportedMediaType,), UNSUPPORTED_MEDIA_TYPE),
    ((exceptions.Throttled,), TOO_MANY_REQUESTS),
    ((RequestDataTooBig,), BODY_TOO_LARGE),
    (
        (SuspiciousOperation, BadRequest, MultiPartParserError, RawPostDataException, UnreadablePostError),
        MALFORMED_BODY,
    ),
)


class ApiProblem(exceptions.APIException):
    """Raised by views to answer with a problem of a given kind."""

    def __init__(
        self, kind: Kind, detail: str, *, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(detail)
        self.kind = kind
        self.status_code = kind.status
        self.errors = tuple(errors)
        self.headers = dict(headers or {})


def problem_response(
    kind: Kind, detail: str, *, errors: Sequence[Fault] = (), headers: Mapping[str, str] | None = None
) -> HttpResponse:
    """The answer for one problem; never cached."""
    body = Problem(
        type=f"{DOCS_PATH}#{kind.anchor}",
        title=kind.title,
        status=kind.status,
        detail=detail,
        errors=list(errors),
        request_id=request_id.get(),
    )
    text = json.dumps(body.model_dump(mode="json"), ensure_ascii=False)
    response = HttpResponse(text.encode(errors="replace"), status=kind.status, content_type=MEDIA_TYPE)
    response["Cache-Control"] = "no-store"
    for name, value in (headers or {}).items():
        response[name] = value
    return response


def problem_handler(exc: Exception, context: Mapping[str, Any]) -> HttpResponse:
    """REST framework's exception handler. What nobody expected is logged with its traceback and shown without it."""
    if isinstance(exc, ApiProblem):
        return problem_response(exc.kind, str(exc.detail), errors=exc.errors, headers=exc.headers)
    if isinstance(exc, health.DATABASE_AWAY):
        logger.error("the database does not answer: %s", type(exc).__name__)
        return _database_away()
    kind = next((kind for classes, kind in _BY_EXCEPTION if isinstance(exc, classes)), None)
    if kind is None:
        logger.error("unexpected error in %s", type(context.get("view")).__name__, exc_info=exc)
        return problem_response(INTERNAL_ERROR, "It was written to the server's log under this request id.")
    return problem_response(kind, _detail(exc, kind), headers=_headers(exc))


def problem_outside(request: HttpRequest, exc: Exception | None) -> HttpResponse:
    """The answer where no view was reached: an address that is none, or what a middleware refused. None: a failure of
    ours, logged already."""
    if exc is None and isinstance(sys.exc_info()[1], health.DATABASE_AWAY):
        return _database_away()
    if exc is None:
        return problem_response(INTERNAL_ERROR, "It was written to the server's log under this request id.")
    if isinstance(exc, DisallowedHost):
        fault = Fault(
            code="unknown_host",
            pointer="Host",
            given=show(request.META.get("HTTP_HOST", "")),
            allowed="a name that the server goes by",
            detail="The operator lists these names in PLANNER_ALLOWED_HOSTS.",
        )
        return problem_response(INVALID_PARAMETER, "The server does not go by this name.", errors=[fault])
    kind = next((kind for classes, kind in _BY_EXCEPTION if isinstance(exc, classes)), MALFORMED_BODY)
    return problem_response(kind, f"{kind.title}.")


def _database_away() -> HttpResponse:
    detail = "What was saved is safe, and runs go on when it is back. Send the request again in a moment."
    return problem_response(DATABASE_AWAY, detail, headers={"Retry-After": str(health.ASK_AGAIN_S)})


def _detail(exc: Exception, kind: Kind) -> str:
    """REST framework's sentences are meant for readers; Django's are for its log."""
    if isinstance(exc, exceptions.Throttled):
        return f"Try again in {_whole_seconds(exc)} s."
    if isinstance(exc, exceptions.APIException):
        return str(exc.detail)
    return f"{kind.title}."


def _headers(exc: Exception) -> dict[str, str]:
    headers: dict[str, str] = {}
    if auth_header := getattr(exc, "auth_header", None):
        headers["WWW-Authenticate"] = auth_header
    if isinstance(exc, exceptions.Throttled):
        headers["Retry-After"] = str(_whole_seconds(exc))
    return headers


def _whole_seconds(exc: exceptions.Throttled) -> int:
    return max(1, int(getattr(exc, "wait", None) or 1))
