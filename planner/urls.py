"""Every address: pages at the root, REST below /api/v1/, two health checks."""

from django.urls import include, path

from planner.core.health import healthz, readyz

urlpatterns = [
    path("healthz", healthz),
    path("readyz", readyz),
    path("api/v1/", include("planner.api.urls")),
    path("", include("planner.web.urls")),
]
