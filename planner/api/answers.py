"""Turns data into an answer: rendered once, with an ETag of the bytes, and 304 where the caller has them already."""

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from django.http import HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags
from pydantic import BaseModel
from rest_framework.request import Request

from planner.api.renderers import Json
from planner.reports.tables import Table

REVALIDATE = "private, no-cache"
Response = TypeVar("Response", bound=HttpResponseBase)
ONE_MINUTE = "private, max-age=60"


def answer(
    request: Request,
    data: BaseModel | Table | Mapping[str, Any],
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cache_control: str = REVALIDATE,
    version: int | None = None,
) -> HttpResponse:
    """The data in the negotiated format. version: stands in front in the ETag, for `If-Match`."""
    renderer = request.accepted_renderer
    plain: Any = data.model_dump(mode="python", by_alias=True) if isinstance(data, BaseModel) else data
    kind = f"{renderer.media_type}; charset=utf-8" if renderer.charset else renderer.media_type
    body: bytes = renderer.render(plain)  # type: ignore[assignment]
    return answer_bytes(
        request, body, kind, status=status, headers=headers, cache_control=cache_control, version=version
    )


def answer_bytes(
    request: Request,
    body: bytes,
    content_type: str,
    *,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    cache_control: str = REVALIDATE,
    version: int | None = None,
) -> HttpResponse:
    """The bytes as they are; the ETag is their SHA-256, after the version where there is one."""
    readable = request.method in ("GET", "HEAD") and status == 200
    etag = _etag(body, version) if readable else None
    if etag is not None and _held(request, etag):
        return _headed(HttpResponseNotModified(), headers, etag, cache_control)
    response = HttpResponse(body, status=status, content_type=content_type)
    return _headed(response, headers, etag, cache_control)


def answer_stream(
    request: Request,
    chunks: Iterable[bytes],
    content_type: str,
    *,
    version: str,
    headers: Mapping[str, str] | None = None,
) -> HttpResponseBase:
    """A GET's bytes as they are made, for what is too long to be held. version: names them; the ETag follows from it,
    since it is sent before they are made."""
    etag = _etag(version.encode())
    if _held(request, etag):
        return _headed(HttpResponseNotModified(), headers, etag, REVALIDATE)
    return _headed(StreamingHttpResponse(chunks, content_type=content_type), headers, etag, REVALIDATE)


def json_etag(data: BaseModel) -> str:
    """The ETag that an answer of this data has."""
    return _etag(Json().render(data.model_dump(mode="python", by_alias=True)))


def _etag(source: bytes, version: int | None = None) -> str:
    return f'"{"" if version is None else f"{version}."}{hashlib.sha256(source).hexdigest()}"'


def _held(request: Request, etag: str) -> bool:
    """Whether the caller says that it has these bytes."""
    known = parse_etags(request.headers.get("If-None-Match", ""))
    return "*" in known or etag in (tag.removeprefix("W/") for tag in known)


def _headed(response: Response, headers: Mapping[str, str] | None, etag: str | None, cache_control: str) -> Response:
    for name, value in (headers or {}).items():
        response[name] = value
    response["Cache-Control"] = "no-store" if etag is None else cache_control
    if etag is not None:
        response["ETag"] = etag
    patch_vary_headers(response, ("Authorization", "Cookie"))
    return response
