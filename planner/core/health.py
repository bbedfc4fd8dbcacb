"""`/healthz`: the process answers. `/readyz`: database, broker and a worker answer too."""

from django.http import HttpRequest, HttpResponse, JsonResponse


def healthz(request: HttpRequest) -> HttpResponse:
    """Alive."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Ready to take runs."""
    raise NotImplementedError
