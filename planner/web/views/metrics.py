"""`/metrics` for Prometheus, read from what all processes share. For whoever runs the service, and 404 to others."""

import ipaddress
import secrets

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.http.request import split_domain_port
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from planner import planning
from planner.core.exposition import CONTENT_TYPE, Family, Sample, exposition
from planner.core.request_counts import request_family
from planner.runs.observed import database_families

FORWARDED = ("Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP")
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@csrf_exempt  # else a stranger's POST is told apart from one to an address that there is not
def metrics(request: HttpRequest) -> HttpResponse:
    """Gauges and counts of the whole service, without names or ids. Http404: not the operator, or nothing to read."""
    if request.method not in ("GET", "HEAD") or not (_has_token(request) or _from_this_machine(request)):
        raise Http404
    text = exposition([*database_families(), *_price_ages(), request_family()])
    return HttpResponse(text, content_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})


def _has_token(request: HttpRequest) -> bool:
    kind, _, given = request.headers.get("Authorization", "").partition(" ")
    wanted = settings.METRICS_TOKEN
    return wanted is not None and kind.lower() == "bearer" and secrets.compare_digest(given.encode(), wanted.encode())


def _from_this_machine(request: HttpRequest) -> bool:
    """Asked over loopback by a program of this machine itself. A proxy on it asks over loopback too, for anybody: it
    shows by the headers that proxies add, or by the public name that it passes on."""
    try:
        near = ipaddress.ip_address(request.META.get("REMOTE_ADDR", "")).is_loopback
    except ValueError:  # a Unix socket has no address
        return False
    host, _ = split_domain_port(request.get_host())
    return near and host in LOOPBACK_NAMES and not any(name in request.headers for name in FORWARDED)


def _price_ages() -> list[Family]:
    oldest, newest = planning.gpu_price_days()
    today = timezone.now().date()
    return [
        Family(f"staircase_catalog_{which}_gpu_price_age_days", "gauge", meaning, [Sample((today - day).days)])
        for which, day, meaning in (
            ("oldest", oldest, "Age of the oldest GPU price in the catalog; prices older than 180 days are not used."),
            ("newest", newest, "Age of the newest GPU price in the catalog."),
        )
    ]
