"""The API about itself: its OpenAPI document, its manual, and the answer for unknown addresses."""

from pathlib import Path
from typing import Any

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.views import APIView

from planner.api.answers import ONE_MINUTE, answer_bytes
from planner.api.query import NoQuery, read_query
from planner.settings.env import PROJECT_DIR

OPENAPI_FILE = Path(__file__).resolve().parents[1] / "openapi.json"
MANUAL_FILE = PROJECT_DIR / "docs" / "api.md"
SHEETS_FILE = PROJECT_DIR / "docs" / "spreadsheets.md"
SAMPLE_SERVER = "http://127.0.0.1:8000"


class PublicView(APIView):
    """Open to everyone: holds nothing of any team."""

    authentication_classes = []
    permission_classes = []
    throttle_classes = []
    http_method_names = ["get", "head"]


@extend_schema(exclude=True)
class OpenApiDocument(PublicView):
    """The document as committed; a test holds it equal to what the code generates."""

    def get(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        return answer_bytes(request, OPENAPI_FILE.read_bytes(), "application/json", cache_control=ONE_MINUTE)


@extend_schema(exclude=True)
class Manual(PublicView):
    """docs/api.md as text: where the `type` of a problem points."""

    def get(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        return answer_bytes(request, MANUAL_FILE.read_bytes(), "text/plain; charset=utf-8", cache_control=ONE_MINUTE)


@extend_schema(exclude=True)
class Spreadsheets(PublicView):
    """docs/spreadsheets.md as text, its samples with the address that the reader came by."""

    def get(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        here = request.build_absolute_uri("/").rstrip("/")
        page = SHEETS_FILE.read_text(encoding="utf-8").replace(SAMPLE_SERVER, here)
        return answer_bytes(request, page.encode(), "text/plain; charset=utf-8", cache_control=ONE_MINUTE)


@extend_schema(exclude=True)
class UnknownAddress(PublicView):
    """Every address below /api/v1/ that is none."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        raise NotFound("There is no such address in this API.")
