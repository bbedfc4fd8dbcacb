"""HTTP/1.1 connections of the load generator, to addresses that were checked: kept open and used again."""

from __future__ import annotations

import asyncio
import errno
import socket
import ssl
from collections.abc import Sequence
from typing import Protocol

import h11

from planner.core.addresses import Resolved, Target

CONNECT_S = 10.0
MAX_HEAD_BYTES = 64 << 10
LINGER_S = 2.0
"""So long the end of an answer may follow its last event."""


class Reader(Protocol):
    """Who takes an answer as it comes."""

    def head(self, status: int, headers: Sequence[tuple[bytes, bytes]]) -> None:
        """Status and headers."""

    def body(self, data: bytes, at_s: float) -> None:
        """Some of the body, and when it came."""

    def over(self, broken: str) -> None:
        """The answer is over; broken: why it is not whole, "" if it is."""


class Connection(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._loop = pool, asyncio.get_running_loop()
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._reader: Reader | None = None
        self.used = False
        self._linger: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is open."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    @property
    def open(self) -> bool:
        """Whether it can be written to."""
        return self._transport is not None and not self._transport.is_closing()

    def ask(self, request: h11.Request, body: bytes, reader: Reader) -> None:
        """Sends a request, whose answer goes to `reader`."""
        assert self._transport is not None
        self._reader = reader
        parts = [self._http.send(request), self._http.send(h11.Data(data=body)), self._http.send(h11.EndOfMessage())]
        self._transport.write(b"".join(part for part in parts if part))

    def data_received(self, data: bytes) -> None:
        """Part of an answer."""
        at_s = self._loop.time()
        try:
            self._http.receive_data(data)
            self._read(at_s)
        except h11.RemoteProtocolError:
            self._break("what it answered is not HTTP")

    def eof_received(self) -> bool:
        """Some answers end so."""
        try:
            self._http.receive_data(b"")
            self._read(self._loop.time())
        except h11.RemoteProtocolError:
            self._break("it closed the connection in the middle of an answer")
        return False

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed."""
        self._pool.forget(self)
        if self._linger is not None:
            self._linger.cancel()
        words = getattr(error, "strerror", None) or "it closed the connection before its answer was whole"
        self._break(str(words)[:120])

    def detach(self, reader: Reader) -> None:
        """This reader has all it wants: the end of its answer may follow soon, then the connection is free."""
        if self._reader is reader:
            self._reader = None
            self._linger = self._loop.call_later(LINGER_S, self.close)

    def drop(self, reader: Reader) -> None:
        """This reader wants no more: the connection ends, unless it reads another answer by now."""
        if self._reader is reader:
            self._reader = None
            self.close()

    def close(self) -> None:
        """Ends at once."""
        if self._transport is not None:
            self._transport.abort()

    def _break(self, why: str) -> None:
        reader, self._reader = self._reader, None
        if reader is not None:
            reader.over(why)
        self.close()

    def _read(self, at_s: float) -> None:
        while True:
            event = self._http.next_event()
            if event in (h11.NEED_DATA, h11.PAUSED):
                return
            if isinstance(event, h11.Response) and self._reader is not None:
                self._reader.head(event.status_code, list(event.headers))
            elif isinstance(event, h11.Data) and self._reader is not None:
                self._reader.body(bytes(event.data), at_s)
            elif isinstance(event, h11.EndOfMessage):
                self._ended()
                return
            elif isinstance(event, h11.ConnectionClosed):
                self.close()
                return

    def _ended(self) -> None:
        if self._linger is not None:
            self._linger.cancel()
            self._linger = None
        reader, self._reader = self._reader, None
        if self._http.our_state is h11.DONE and self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            self.used = True
            self._pool.give_back(self)
        else:
            self.close()
        if reader is not None:
            reader.over("")


class Pool:
    """Connections to one server. addresses: those that were checked, the first that answers is taken."""

    def __init__(self, target: Target, addresses: Sequence[Resolved], tls: ssl.SSLContext | None = None) -> None:
        self.target, self._addresses = target, addresses
        self._tls = (tls or ssl.create_default_context()) if target.tls else None
        self._idle: list[Connection] = []
        self._all: set[Connection] = set()

    async def take(self) -> Connection:
        """A free connection, or a new one. Raises OSError."""
        while self._idle:
            connection = self._idle.pop()
            if connection.open:
                return connection
        return await self.connect()

    async def connect(self) -> Connection:
        """A new connection. Raises OSError."""
        error: OSError = OSError("no address")
        for family, address in self._addresses:
            try:
                return await asyncio.wait_for(self._connect(family, address), CONNECT_S)
            except TimeoutError:
                error = OSError(errno.ETIMEDOUT, f"no connection within {CONNECT_S:g} s")
            except OSError as refused:
                error = refused
        raise error

    async def _connect(self, family: socket.AddressFamily, address: tuple[object, ...]) -> Connection:
        loop = asyncio.get_running_loop()
        plain = socket.socket(family, socket.SOCK_STREAM)
        try:
            plain.setblocking(False)
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            await loop.sock_connect(plain, address)
            _, connection = await loop.create_connection(
                lambda: Connection(self),
                sock=plain,
                ssl=self._tls,
                server_hostname=self.target.host if self._tls else None,
            )
        except BaseException:
            plain.close()
            raise
        self._all.add(connection)
        return connection

    def give_back(self, connection: Connection) -> None:
        """It is free again."""
        if connection.open:
            self._idle.append(connection)

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        self._all.discard(connection)

    def close(self) -> None:
        """Ends all."""
        for connection in list(self._all):
            connection.close()
