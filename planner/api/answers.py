"""Turns data into an answer: rendered once, with an ETag of the bytes, and 304 where the caller has them already."""

import hashlib
from collections.abc import Mapping
from typing import Any

from django.http import HttpResponse, HttpResponseNotModified
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from pydantic import BaseModel
from rest_framework.request import Request

from planner.reports.tables import Table

REVALIDATE = "private, no-cache"
ONE_MINUTE = "private, max-age=60"


def answer(
    request: Request,
    data: BaseModel | Table | Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cache_control: str = REVALIDATE,
) -> HttpResponse:
    """The data in the negotiated format."""
    renderer = request.accepted_renderer
    plain: Any = data.model_dump(mode="python", by_alias=True) if isinstance(data, BaseModel) else data
    kind = f"{renderer.media_type}; charset=utf-8" if renderer.charset else renderer.media_type
    body: bytes = renderer.render(plain)  # type: ignore[assignment]
    return answer_bytes(request, body, kind, status=status, headers=headers, cache_control=cache_control)


def answer_bytes(
    request: Request,
    body: bytes,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cache_control: str = REVALIDATE,
) -> HttpResponse:
    """The bytes as they are; the ETag is their SHA-256."""
    etag = f'"{hashlib.sha256(body).hexdigest()}"'
    readable = request.method in ("GET", "HEAD") and status == 200
    known = parse_etags(request.headers.get("If-None-Match", ""))
    if readable and ("*" in known or etag in (tag.removeprefix("W/") for tag in known)):
        response: HttpResponse = HttpResponseNotModified()
    else:
        response = HttpResponse(body, status=status, content_type=content_type)
    for name, value in (headers or {}).items():
        response[name] = value
    response["Cache-Control"] = cache_control if readable else "no-store"
    if readable:
        response["ETag"] = etag
    patch_vary_headers(response, ("Authorization", "Cookie"))
    return response
