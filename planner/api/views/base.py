"""What all views share."""

from typing import ClassVar

from rest_framework.views import APIView

from planner.api.access import Caller
from planner.teams.models import Scope


class ApiView(APIView):
    """A view of the caller's team. `scopes` names the scope per method; reading is the default."""

    scopes: ClassVar[dict[str, Scope]] = {}
    http_method_names = ["get", "head", "post", "delete"]
    caller: Caller
