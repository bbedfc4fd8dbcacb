"""A caller of the API, and what every error answer must be."""

import base64
import json
from typing import Any

from django.http import HttpResponse
from django.test import Client


class Api:
    """A caller with a token (or none): paths are below /api/v1, bodies are JSON unless bytes or text."""

    def __init__(self, token: str | None = None) -> None:
        self.client = Client(raise_request_exception=False)
        self.auth = {"Authorization": f"Bearer {token}"} if token else {}

    def call(self, method: str, path: str, body: Any = None, headers: dict[str, str] | None = None) -> HttpResponse:
        data = body if isinstance(body, bytes | str) else b"" if body is None else json.dumps(body)
        kind = (headers or {}).get("Content-Type", "application/json")
        sent = {**self.auth, **{k: v for k, v in (headers or {}).items() if k != "Content-Type"}}
        full = path if path.startswith("/api/") else f"/api/v1{path}"
        return self.client.generic(method, full, data, content_type=kind, headers=sent)

    def get(self, path: str, **headers: str) -> HttpResponse:
        return self.call("GET", path, headers={name.replace("_", "-"): value for name, value in headers.items()})

    def post(self, path: str, body: Any, **headers: str) -> HttpResponse:
        return self.call("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})

    def delete(self, path: str) -> HttpResponse:
        return self.call("DELETE", path)


def basic(name: str, password: str) -> dict[str, str]:
    return {"Authorization": "Basic " + base64.b64encode(f"{name}:{password}".encode()).decode()}


def problem(response: HttpResponse, status: int, anchor: str) -> dict[str, Any]:
    """The body of an error answer, after checking that it is a whole problem document of this kind."""
    assert response.status_code == status, response.content
    assert response["Content-Type"] == "application/problem+json"
    body: dict[str, Any] = json.loads(response.content)
    assert set(body) == {"type", "title", "status", "detail", "errors", "request_id"}
    assert body["type"] == f"/api/v1/docs#{anchor}"
    assert body["status"] == status
    assert body["request_id"] == response["X-Request-Id"]
    for fault in body["errors"]:
        assert set(fault) == {"code", "pointer", "given", "allowed", "detail"}
    return body
