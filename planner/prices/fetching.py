"""Fetching a list from its address: over https, from a public host unless the operator allows others, in bounds."""

import http.client
import ssl
import time

from planner import planning
from planner.core.addresses import Target, TargetRefused, is_public, look_up, split_url

MOST_BYTES = 64 << 20
WHOLE_S = 120.0
READ_S = 20.0
PART_BYTES = 1 << 16


def fetch(feed: planning.Feed, *, private: bool = False) -> bytes:
    """The list's bytes. private: plain http and private addresses are allowed.

    planning.FeedInvalid: it is not to be had; no redirect is followed.
    """
    if not feed.address:
        raise planning.FeedInvalid(f"{feed.name}: no address is given")
    try:
        target = split_url(feed.address)
        if not target.tls and not private:
            raise planning.FeedInvalid(f"{feed.name}: its address must be https")
        addresses = look_up(target)
        if not private and not all(is_public(str(address[0])) for _, address in addresses):
            raise planning.FeedInvalid(f"{feed.name}: its host has an address that is not public")
        return _read(target, str(addresses[0][1][0]), feed)
    except TargetRefused as refused:
        raise planning.FeedInvalid(f"{feed.name}: {refused.detail}") from None
    except (OSError, http.client.HTTPException) as away:
        raise planning.FeedInvalid(f"{feed.name}: it cannot be fetched ({type(away).__name__})") from None


def _read(target: Target, address: str, feed: planning.Feed) -> bytes:
    """One GET to the very address that was checked."""
    end_s = time.monotonic() + WHOLE_S
    connection = _Pinned(target, address)
    try:
        connection.request("GET", target.path, headers={"Accept": "*/*", "User-Agent": "staircase"})
        answer = connection.getresponse()
        if answer.status != 200:
            raise planning.FeedInvalid(f"{feed.name}: the server answered {answer.status}; redirects are not followed")
        read = bytearray()
        while part := answer.read1(PART_BYTES):
            read += part
            if len(read) > MOST_BYTES:
                raise planning.FeedInvalid(f"{feed.name}: it has more than {MOST_BYTES >> 20} MiB")
            if time.monotonic() > end_s:
                raise planning.FeedInvalid(f"{feed.name}: it took longer than {WHOLE_S:g} s")
        return bytes(read)
    finally:
        connection.close()


class _Pinned(http.client.HTTPConnection):
    """Connects to a given address; the host's own name is what the certificate must say."""

    def __init__(self, target: Target, address: str) -> None:
        super().__init__(address, target.port, timeout=READ_S)
        self._target = target

    def connect(self) -> None:
        super().connect()
        if self._target.tls:
            context = ssl.create_default_context()
            self.sock = context.wrap_socket(self.sock, server_hostname=self._target.host)

    def putrequest(self, method: str, url: str, skip_host: bool = False, skip_accept_encoding: bool = False) -> None:
        super().putrequest(method, url, skip_host=True, skip_accept_encoding=skip_accept_encoding)
        named = f"[{self._target.host}]" if ":" in self._target.host else self._target.host
        usual = 443 if self._target.tls else 80
        self.putheader("Host", named if self._target.port == usual else f"{named}:{self._target.port}")
