"""The raw body of a request: planning's own reader gets the bytes, so that form, API and command share one path."""

from django.conf import settings
from rest_framework.request import Request

from planner.api.problems import BODY_TOO_LARGE, MALFORMED_BODY, UNSUPPORTED_MEDIA_TYPE, ApiProblem
from planner.api.wire import Fault


def read_json_body(request: Request) -> bytes:
    """The body, at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes, of a request that calls it UTF-8 JSON.

    ApiProblem: 415 for another type or character set, 413 when too large, 400 when empty.
    """
    limit_bytes = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    length = request.headers.get("Content-Length") or "0"
    if length == "0":
        raise _empty(chunked="Transfer-Encoding" in request.headers)
    _check_type(request)
    if length.isdecimal() and int(length[:20]) > limit_bytes:
        raise ApiProblem(BODY_TOO_LARGE, f"At most {limit_bytes} bytes are accepted.")
    body: bytes = request._request.body
    if not body:
        raise _empty(chunked=False)
    return body


def _empty(*, chunked: bool) -> ApiProblem:
    fault = Fault(code="empty_body", pointer="", given="", allowed="one JSON object", detail="The body is empty.")
    hint = " Chunked bodies are not read: send a Content-Length." if chunked else ""
    return ApiProblem(MALFORMED_BODY, f"The body is empty.{hint}", errors=[fault])


def _check_type(request: Request) -> None:
    kind = request._request.content_type or ""
    coding = request.headers.get("Content-Encoding", "identity").strip().lower()
    charset = (request._request.content_params or {}).get("charset", "utf-8")
    if kind != "application/json":
        raise ApiProblem(
            UNSUPPORTED_MEDIA_TYPE, f"Send Content-Type: application/json; this request has {kind[:80] or 'none'}."
        )
    if coding not in ("", "identity"):
        raise ApiProblem(UNSUPPORTED_MEDIA_TYPE, f"Send the body as it is; Content-Encoding {coding[:40]} is not read.")
    if charset.lower() not in ("utf-8", "utf8"):
        raise ApiProblem(UNSUPPORTED_MEDIA_TYPE, f"JSON is read as UTF-8; this request says {charset[:40]}.")
