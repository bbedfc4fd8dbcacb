"""Every address: pages at the root, REST below /api/v1/, two health checks."""

from django.urls import include, path

from planner.core.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("api/v1/", include("planner.api.urls")),
    path("", include("planner.web.urls")),
]

handler400 = "planner.web.views.errors.bad_request"
handler403 = "planner.web.views.errors.forbidden"
handler404 = "planner.web.views.errors.not_found"
handler500 = "planner.web.views.errors.server_error"
