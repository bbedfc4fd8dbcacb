"""Where a request comes from, for limits: the address of the connection, or behind trusted proxies what they saw."""

from ipaddress import ip_address

from django.conf import settings
from django.http import HttpRequest


def client_address(request: HttpRequest) -> str | None:
    """The address that the outermost trusted proxy saw: each of `PLANNER_PROXIES` adds one entry at the end of
    `X-Forwarded-For`, and what stands before theirs was written by the client, so it is not believed. None where
    neither the header nor the connection has an address (a Unix socket)."""
    given = request.META.get("REMOTE_ADDR", "")
    if settings.TRUSTED_PROXIES:
        seen = [part.strip() for part in request.headers.get("X-Forwarded-For", "").split(",")]
        given = seen[-settings.TRUSTED_PROXIES] if len(seen) >= settings.TRUSTED_PROXIES else given
    try:
        return str(ip_address(given))
    except ValueError:
        return None
