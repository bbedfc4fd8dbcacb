"""What all views share."""

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from planner.api.access import Caller
from planner.api.throttles import limit_headers
from planner.teams.models import Scope


class ApiView(APIView):
    """A view of the caller's team. `scopes` names the scope per method; reading is the default."""

    scopes: ClassVar[dict[str, Scope]] = {}
    http_method_names = ["get", "head", "post", "delete"]
    caller: Caller

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Adds what the limits have left, to refusals too."""
        done = super().finalize_response(request, response, *args, **kwargs)
        for name, value in limit_headers(request).items():
            done[name] = value
        return done
