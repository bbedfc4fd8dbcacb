"""Requests with the standard library: JSON in and out, problems as ApiError, 429 and 503 waited out."""

from __future__ import annotations

import http.client
import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode, urlsplit

from staircase_client.errors import ApiError, Fault

RETRIED = (429, 503)
USER_AGENT = "staircase-client/0.1.0"


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


Send = Callable[[str, str, Mapping[str, str], bytes | None, float], Answer]
"""Method, address, headers, body, seconds: what `send` does, to be replaced in tests."""


def send(method: str, url: str, headers: Mapping[str, str], body: bytes | None, timeout_s: float) -> Answer:
    """One request. ApiError of status 0: the server cannot be reached."""
    request = urllib.request.Request(url, data=body, headers=dict(headers), method=method)  # noqa: S310 - checked below
    try:
        with urllib.request.urlopen(request, timeout=timeout_s) as response:  # noqa: S310
            return Answer(response.status, {k.lower(): v for k, v in response.headers.items()}, response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, {k.lower(): v for k, v in error.headers.items()}, error.read())
    except (OSError, http.client.HTTPException) as error:
        raise ApiError(0, f"cannot reach {urlsplit(url).netloc}: {error}") from None


class Http:
    """Calls below /api/v1 of one server with one token."""

    def __init__(
        self, url: str, token: str, *, timeout_s: float, send: Send = send, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        if urlsplit(url).scheme not in ("http", "https"):
            raise ValueError(f"not an http address: {url}")
        self._url, self._token, self._timeout_s = url.rstrip("/"), token, timeout_s
        self._send, self._sleep = send, sleep

    def __repr__(self) -> str:
        return f"Http({self._url!r})"

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        data: bytes | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """A request by its path below the server, or below /api/v1 where it does not start so; with a body as JSON, or
        with bytes. ApiError: it failed."""
        given = {name: _text(value) for name, value in (query or {}).items() if value is not None}
        full = path if path.startswith("/api/") else f"/api/v1{path}"
        url = f"{self._url}{full}" + (f"{'&' if '?' in full else '?'}{urlencode(given)}" if given else "")
        sent = {"Authorization": f"Bearer {self._token}", "Accept": "application/json", "User-Agent": USER_AGENT}
        if data is not None:
            sent["Content-Type"] = "application/octet-stream"
        elif body is not None:
            data, sent["Content-Type"] = json.dumps(body).encode(), "application/json"
        return self._until_taken(method, url, {**sent, **(headers or {})}, data)

    def pages(self, path: str, query: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
        """The items of a list, page by page."""
        page = self.call("GET", path, query={"limit": 500, **query}).json()
        while True:
            yield from page["items"]
            if page["next"] is None:
                return
            page = self.call("GET", page["next"]).json()

    def _until_taken(self, method: str, url: str, headers: Mapping[str, str], data: bytes | None) -> Answer:
        """What was refused for the load of the moment was not begun, so it is sent again when the server says."""
        left_s = self._timeout_s
        while True:
            answer = self._send(method, url, headers, data, self._timeout_s)
            if answer.status < 400:
                return answer
            after_s = float(answer.headers.get("retry-after") or 1)
            if answer.status not in RETRIED or after_s > left_s:
                raise error_of(answer)
            self._sleep(after_s)
            left_s -= after_s


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "1" if value else "0"
    return ",".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def error_of(answer: Answer) -> ApiError:
    """The problem document as an exception; any other body as its status."""
    try:
        problem = answer.json()
        faults = tuple(Fault(**fault) for fault in problem["errors"])
        kind = str(problem["type"]).rpartition("#")[2]
        return ApiError(answer.status, problem["detail"], kind=kind, faults=faults, request_id=problem["request_id"])
    except (ValueError, KeyError, TypeError):
        return ApiError(answer.status, f"the server answered {answer.status}")
