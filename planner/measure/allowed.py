"""Which servers may be load-tested: those of this machine, and what the operator allows."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence

from planner.core.addresses import Lookup, Resolved, Target, TargetRefused, look_up, split_url

MAX_ADDRESSES = 4
"""Of a name with more, the first ones are tried."""


def parse_base(url: str) -> Target:
    """The parts of a server's address; its path, without /v1 or more, is where that begins.

    TargetRefused: not http(s), or it has a query, which could be a secret.
    """
    target = split_url(url)
    if "?" in target.path:
        raise TargetRefused("invalid_url", "It must have no query.")
    path = target.path.rstrip("/")
    for ending in ("/chat/completions", "/completions", "/v1"):
        path = path.removesuffix(ending)
    return Target(target.tls, target.host, target.port, path)


def resolve_allowed(target: Target, allowed: Sequence[str], lookup: Lookup = socket.getaddrinfo) -> list[Resolved]:
    """Looks the host up, once. allowed: host names, addresses and networks (10.0.0.0/8).

    TargetRefused: it has no address, or one of them is neither loopback nor allowed.
    """
    found = look_up(target, lookup)
    names = {entry.casefold().rstrip(".") for entry in allowed}
    if target.host.casefold() not in names and not all(_may(str(address[0]), allowed) for _, address in found):
        raise TargetRefused(
            "not_allowed",
            f"{target.host} is not on this machine; the operator can allow it in PLANNER_MEASURE_TARGETS.",
        )
    return found[:MAX_ADDRESSES]


def _may(text: str, allowed: Sequence[str]) -> bool:
    address = ipaddress.ip_address(text.partition("%")[0])
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    real = mapped or address
    return real.is_loopback or any(real in network for network in _networks(allowed))


def _networks(allowed: Sequence[str]) -> list[ipaddress.IPv4Network | ipaddress.IPv6Network]:
    found = []
    for entry in allowed:
        try:
            found.append(ipaddress.ip_network(entry, strict=False))
        except ValueError:
            continue  # a name
    return found
