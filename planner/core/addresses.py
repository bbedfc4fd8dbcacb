"""Web addresses that someone gives and this server then calls: their parts, where they lead, and what is public.

A host is looked up once, and the connection goes to the very address that was checked, so that a name that changes its
mind in between changes nothing.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

MAX_URL_CHARACTERS = 500
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Resolved = tuple[socket.AddressFamily, tuple[Any, ...]]
Lookup = Callable[..., list[Any]]

_REFUSED = tuple(
    map(
        ipaddress.ip_network,
        (
            "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12",
            "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24",
            "203.0.113.0/24", "224.0.0.0/3",
            "168.63.129.16/32",  # Azure's metadata answers on a public address
            "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fc00::/7",
            "fe80::/10", "fec0::/10", "ff00::/8",
        ),
    )
)  # fmt: skip
"""Loopback, private, shared, link-local (cloud metadata among them), documentation, benchmarking, multicast, reserved:
the special-purpose registries of IANA, as of 2026-11."""
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_SIX_TO_FOUR = ipaddress.ip_network("2002::/16")


class TargetRefused(Exception):  # noqa: N818 - the name says what happened
    """An address that may not be called; codes: invalid_url, https_needed, private_address, unknown_host."""

    def __init__(self, code: str, detail: str) -> None:
        self.code, self.detail = code, detail
        super().__init__(detail)


@dataclass(frozen=True, slots=True)
class Target:
    """Where a request goes: host as written (for the certificate and the Host header), port, and path with query."""

    tls: bool
    host: str
    port: int
    path: str


def split_url(url: str) -> Target:
    """The parts of a web address. TargetRefused(invalid_url): not http(s) to a host, or more than that."""
    if len(url) > MAX_URL_CHARACTERS or not all("!" <= character <= "~" for character in url) or "\\" in url:
        raise TargetRefused("invalid_url", f"It must have at most {MAX_URL_CHARACTERS} visible ASCII characters.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise TargetRefused("invalid_url", "It is not a web address.") from None
    host = (parts.hostname or "").rstrip(".")
    if parts.scheme not in ("http", "https") or not host or "%" in host or port == 0:
        raise TargetRefused("invalid_url", "It must be https://host/path.")
    if parts.username is not None or parts.password is not None or parts.fragment:
        raise TargetRefused("invalid_url", "It must have no user name, password or fragment.")
    tls = parts.scheme == "https"
    return Target(
        tls, host, port or (443 if tls else 80), (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    )


def numeric_addresses(target: Target) -> list[str]:
    """The address that the host is, in any spelling (2130706433, 0x7f.1), known without a lookup; none for a name."""
    try:
        found = socket.getaddrinfo(target.host, target.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    except (OSError, UnicodeError):
        return []
    return [str(entry[4][0]) for entry in found]


def look_up(target: Target, lookup: Lookup = socket.getaddrinfo) -> list[Resolved]:
    """All addresses of the host, asked for once. TargetRefused(unknown_host): it has none."""
    try:
        found = lookup(target.host, target.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        raise TargetRefused("unknown_host", "The host's name has no address.") from None
    if not found:
        raise TargetRefused("unknown_host", "The host's name has no address.")
    return [(entry[0], entry[4]) for entry in found]


def is_public(text: str) -> bool:
    """Whether an address, and each one that is written inside it, is open to the whole Internet."""
    address = ipaddress.ip_address(text.partition("%")[0])
    return all(each.is_global and not _refused(each) for each in (address, *_inside(address)) if each is not None)


def _refused(address: Address) -> bool:
    return any(address in network for network in _REFUSED)


def _inside(address: Address) -> tuple[Address | None, ...]:
    """IPv4 addresses that an IPv6 address leads to: mapped, NAT64, 6to4. Mapped ones are what they map to, alone."""
    if not isinstance(address, ipaddress.IPv6Address):
        return ()
    if address in _NAT64:
        return (ipaddress.IPv4Address(int(address) & 0xFFFFFFFF),)
    if address in _SIX_TO_FOUR:
        return (address.sixtofour,)
    return (address.ipv4_mapped,)
