"""One POST to addresses that were checked: no second lookup, no redirect, no proxy, and an end after ten seconds."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from planner.core.addresses import Resolved, Target

CONNECT_S = 4.0
WHOLE_S = 10.0
MAX_ANSWER_BYTES = 16 << 10
"""What is read of an answer; nothing of it is kept."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an attempt. status: None where there was no answer; error: "" where it arrived."""

    status: int | None
    error: str
    duration_ms: int


class _Pinned(http.client.HTTPConnection):
    """Connects to given addresses; the host's own name goes into the Host header and is what a certificate must say."""

    def __init__(self, target: Target, addresses: Sequence[Resolved], tls: ssl.SSLContext | None) -> None:
        super().__init__(target.host, target.port, timeout=CONNECT_S)
        self.default_port = 443 if tls else 80
        self._addresses, self._tls = addresses, tls

    def connect(self) -> None:
        error: OSError = OSError("no address")
        for family, address in self._addresses:
            connection = socket.socket(family, socket.SOCK_STREAM)
            connection.settimeout(CONNECT_S)
            try:
                connection.connect(address)
            except OSError as refused:
                connection.close()
                error = refused
                continue
            self.sock = connection
            if self._tls is not None:
                self.sock = self._tls.wrap_socket(connection, server_hostname=self.host, do_handshake_on_connect=False)
                self.sock.do_handshake()
            return
        raise error

    def abort(self) -> None:
        """Ends whatever it is doing, from another thread: a receiver that sends a byte now and then has no end."""
        with suppress(OSError, AttributeError):
            self.sock.shutdown(socket.SHUT_RDWR)


def post(
    target: Target,
    addresses: Sequence[Resolved],
    headers: Mapping[str, str],
    body: bytes,
    *,
    whole_s: float = WHOLE_S,
    tls: ssl.SSLContext | None = None,
) -> Outcome:
    """One attempt; never raises for what a receiver does. tls: other trusted certificates than the system's."""
    context = (tls or ssl.create_default_context()) if target.tls else None
    connection = _Pinned(target, addresses, context)
    began_s = time.monotonic()
    end = threading.Timer(whole_s, connection.abort)
    end.daemon = True
    end.start()
    status, error = None, ""
    try:
        connection.request("POST", target.path, body=body, headers=dict(headers))
        answer = connection.getresponse()
        status = answer.status
        answer.read(MAX_ANSWER_BYTES)
    except (OSError, http.client.HTTPException, ValueError) as failure:
        error = _in_words(failure) if status is None else ""
    finally:
        end.cancel()
        connection.close()
    duration_ms = round((time.monotonic() - began_s) * 1000)
    if status is not None and not 200 <= status < 300:
        error = "Redirects are not followed." if 300 <= status < 400 else f"The receiver answered {status}."
    elif error and duration_ms >= whole_s * 1000:
        error = f"It took longer than {whole_s:g} s."
    return Outcome(status, error, duration_ms)


def _in_words(failure: Exception) -> str:
    if isinstance(failure, ssl.SSLCertVerificationError):
        return f"The certificate is not valid: {failure.verify_message.rstrip('.')}."[:200]
    if isinstance(failure, ssl.SSLError):
        return "There is no TLS connection to be had."
    if isinstance(failure, TimeoutError):
        return f"It did not answer within {CONNECT_S:g} s."
    if isinstance(failure, OSError):
        return f"It cannot be reached: {failure.strerror or type(failure).__name__}."[:200]
    return "What it answered is not HTTP."
