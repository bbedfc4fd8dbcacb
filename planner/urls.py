"""Every address: pages at the root, REST below /api/v1/, two health checks and the metrics."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path

from planner.api.problems import problem_outside
from planner.api.views.service import Start, UnknownAddress
from planner.core.health import healthz, readyz
from planner.web.views import errors
from planner.web.views.metrics import metrics

urlpatterns = [
    path("healthz", healthz, name="healthz"),
    path("readyz", readyz, name="readyz"),
    path("metrics", metrics, name="metrics"),
    path("api/v1", Start.as_view()),
    path("api/v1/", include("planner.api.urls")),
    re_path(r"^api(?:/|$)", UnknownAddress.as_view()),
    path("", include("planner.web.urls")),
]


def _by_address(page: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """A page for people, a problem for programs: what fails before a view is reached has its form by the address."""

    def answer(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
        if request.path == "/api" or request.path.startswith("/api/"):
            return problem_outside(request, exception)
        return page(request) if exception is None else page(request, exception)

    return answer


handler400 = _by_address(errors.bad_request)
handler403 = _by_address(errors.forbidden)
handler404 = _by_address(errors.not_found)
handler500 = _by_address(errors.server_error)
