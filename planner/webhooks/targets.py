"""Which addresses a webhook may have: public ones, unless the operator allows others.

Checked twice: when a webhook is made, as far as its text says, and at each delivery for what its name then is.
"""

from __future__ import annotations

import socket
from collections.abc import Iterable

from planner.core.addresses import (
    Lookup,
    Resolved,
    Target,
    TargetRefused,
    is_public,
    look_up,
    numeric_addresses,
    split_url,
)

MAX_ADDRESSES = 4
"""Of a name with more, the first ones are tried."""


def parse_target(url: str, *, private: bool) -> Target:
    """The parts of a webhook's address. private: the operator allows private addresses, and plain http.

    TargetRefused: not an http(s) address of a host that may be called, as far as the text says.
    """
    target = split_url(url)
    if not target.tls and not private:
        raise TargetRefused("https_needed", "It must be https, so that nobody on the way reads or changes it.")
    _refuse_private(numeric_addresses(target), private=private)
    return target


def resolve(target: Target, *, private: bool, lookup: Lookup = socket.getaddrinfo) -> list[Resolved]:
    """Looks the host up, once. TargetRefused: it has no address, or one of them may not be called."""
    found = look_up(target, lookup)
    _refuse_private((str(address[0]) for _, address in found), private=private)
    return found[:MAX_ADDRESSES]


def _refuse_private(addresses: Iterable[str], *, private: bool) -> None:
    if not private and not all(map(is_public, addresses)):
        raise TargetRefused("private_address", "The host has an address that is not public; the operator can allow it.")
