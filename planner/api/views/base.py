"""What all views share."""

from typing import Any, ClassVar

from django.db import transaction
from django.http.response import HttpResponseBase
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request, clone_request
from rest_framework.views import APIView

from planner.api.access import Caller
from planner.api.conditional import check_if_match
from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.renderers import Csv, Json, Xlsx
from planner.api.throttles import limit_headers
from planner.api.wire import Fault
from planner.planning.errors import show
from planner.teams.models import Scope, Team
from planner.teams.rules import Action

_CHANGES = ("PUT", "PATCH", "DELETE")


class ApiView(APIView):
    """A view of the caller's team. `scopes` names the scope per method, reading is the default; `actions` names what a
    method does where the scope alone does not tell which roles may.

    A change of what the view also reads holds to `If-Match`, the ETag of that answer; `by_version` leaves it to views
    of a saved scenario, which compare the version's number. `makes_anew`: a POST that is sent again makes or sends
    another one, so that an `Idempotency-Key` must not look as if it prevented that.
    """

    scopes: ClassVar[dict[str, Scope]] = {}
    actions: ClassVar[dict[str, Action]] = {}
    by_version: ClassVar[bool] = False
    makes_anew: ClassVar[bool] = False
    http_method_names = ["get", "head", "post", "put", "patch", "delete"]
    caller: Caller

    def dispatch(self, request: Any, *args: Any, **kwargs: Any) -> HttpResponseBase:
        """With `If-Match` in one transaction, so that nothing changes between what is compared and what is done."""
        if request.method in _CHANGES and "If-Match" in request.headers:
            with transaction.atomic():
                return super().dispatch(request, *args, **kwargs)
        return super().dispatch(request, *args, **kwargs)

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """As REST framework's, and 412 where the thing is no longer what `If-Match` names."""
        super().initial(request, *args, **kwargs)
        if self.makes_anew and request.method == "POST" and "Idempotency-Key" in request.headers:
            raise ApiProblem(INVALID_PARAMETER, "Only runs are made once for each key.", errors=[_no_key(request)])
        read, word = getattr(self, "get", None), str(request.method).lower()
        held = request.method in _CHANGES and "If-Match" in request.headers and not self.by_version
        if held and read is not None and word in self.http_method_names and hasattr(self, word):
            Team.objects.select_for_update().get(pk=self.caller.team.pk)
            check_if_match(request, self.shown_etag(request, read, kwargs))

    def shown_etag(self, request: Request, read: Any, named: dict[str, Any]) -> str:
        """The ETag of what a GET of this address answers now."""
        shown: HttpResponseBase = read(clone_request(request, "GET"), **named)
        return shown["ETag"]

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        """Adds what the limits have left, to refusals too."""
        done = super().finalize_response(request, response, *args, **kwargs)
        for name, value in limit_headers(request).items():
            done[name] = value
        return done


def _no_key(request: Request) -> Fault:
    return Fault(
        code="not_supported",
        pointer="Idempotency-Key",
        given=show(request.headers["Idempotency-Key"]),
        allowed="no such header",
        detail="Each request to this address makes another one. Leave the header out, and look before asking again.",
    )


class ListView(ApiView):
    """A list: JSON pages, or one table. What is posted to it is answered in JSON alone."""

    renderer_classes = [Json, Csv, Xlsx]

    def get_renderers(self) -> list[BaseRenderer]:
        reads = getattr(self.request, "method", "GET") in ("GET", "HEAD")
        return [renderer() for renderer in (self.renderer_classes if reads else [Json])]
