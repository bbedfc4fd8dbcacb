"""What all views share."""

from typing import Any, ClassVar

from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from planner.api.access import Caller
from planner.api.renderers import Csv, Json, Xlsx
from planner.api.throttles import limit_headers
from planner.teams.models import Scope
from planner.teams.rules import Action


class ApiView(APIView):
    """A view of the caller's team. `scopes` names the scope per method, reading is the default; `actions` names what a
    method does where the scope alone does not tell which roles may."""

    scopes: ClassVar[dict[str, Scope]] = {}
    actions: ClassVar[dict[str, Action]] = {}
    http_method_names = ["get", "head", "post", "patch", "delete"]
    caller: Caller

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Adds what the limits have left, to refusals too."""
        done = super().finalize_response(request, response, *args, **kwargs)
        for name, value in limit_headers(request).items():
            done[name] = value
        return done


class ListView(ApiView):
    """A list: JSON pages, or one table. What is posted to it is answered in JSON alone."""

    renderer_classes = [Json, Csv, Xlsx]

    def get_renderers(self) -> list[BaseRenderer]:
        reads = getattr(self.request, "method", "GET") in ("GET", "HEAD")
        return [renderer() for renderer in (self.renderer_classes if reads else [Json])]
