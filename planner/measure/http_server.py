"""A small HTTP/1.1 server on one event loop, for answers that are streamed: bounded in every direction."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import h11

MAX_BODY_BYTES = 16 << 20
MAX_HEAD_BYTES = 32 << 10
MAX_CONNECTIONS = 8_192
MAX_UNSENT_BYTES = 1 << 20
"""A client that reads so slowly is cut off."""
READ_S = 30.0
"""For a request to come in whole."""
IDLE_S = 75.0

Headers = Sequence[tuple[bytes, bytes]]


class Exchange:
    """One request and its answer. received_s: when its first byte came; on_gone: called if the client leaves first."""

    def __init__(self, connection: Connection, request: h11.Request, received_s: float) -> None:
        self.method = request.method.decode("ascii", "replace")
        self.path = request.target.decode("ascii", "replace").partition("?")[0]
        self.received_s = received_s
        self.body = bytearray()
        self.on_gone: Callable[[], None] | None = None
        self._connection = connection
        self._begun = self._over = False

    def reply(self, status: int, body: bytes, content_type: bytes = b"application/json", headers: Headers = ()) -> None:
        """The whole answer."""
        self.begin(status, content_type, [(b"content-length", str(len(body)).encode()), *headers])
        self.send(body)
        self.finish()

    def reply_json(self, status: int, value: Any, headers: Headers = ()) -> None:
        """The whole answer as JSON."""
        self.reply(status, json.dumps(value).encode(), headers=headers)

    def begin(self, status: int, content_type: bytes, headers: Headers = ()) -> None:
        """Status and headers; without a length the body is sent in chunks."""
        if self._over or self._begun:
            return
        self._begun = True
        every = [(b"content-type", content_type), (b"cache-control", b"no-store"), *headers]
        self._connection.send(h11.Response(status_code=status, headers=every, reason=_reason(status)))

    def send(self, data: bytes) -> None:
        """Some of the body."""
        if not self._over and data and self.method != "HEAD":
            self._connection.send(h11.Data(data=data))

    def finish(self) -> None:
        """The answer is whole."""
        if not self._over:
            self._over = True
            self._connection.send(h11.EndOfMessage())
            self._connection.answered()

    def gone(self) -> None:
        """The client has left."""
        if not self._over:
            self._over = True
            if self.on_gone is not None:
                self.on_gone()


Handler = Callable[[Exchange], None]


class Connection(asyncio.Protocol):
    """One client, one request at a time."""

    def __init__(self, server: HttpServer) -> None:
        self._server, self._loop = server, asyncio.get_running_loop()
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=MAX_HEAD_BYTES)
        self._transport: asyncio.Transport | None = None
        self._exchange: Exchange | None = None
        self._received_s: float | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Takes the client in, unless there are too many."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        transport.set_write_buffer_limits(high=MAX_UNSENT_BYTES)
        self._server.connections.add(self)
        if len(self._server.connections) > MAX_CONNECTIONS:
            self.abort()
        self._wait(IDLE_S)

    def connection_lost(self, _: Exception | None) -> None:
        """The client has left."""
        self._server.connections.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        if self._exchange is not None:
            self._exchange.gone()

    def pause_writing(self) -> None:
        """The client does not read what it asked for."""
        self.abort()

    def data_received(self, data: bytes) -> None:
        """Part of a request, or of the next one."""
        if self._received_s is None:
            self._received_s = self._loop.time()
            self._wait(READ_S)
        try:
            self._http.receive_data(data)
            self._read()
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, "the request is not HTTP/1.1, or too large")

    def eof_received(self) -> bool:
        """The client sends no more: it has left, as far as we are concerned."""
        return False

    def send(self, event: h11.Event) -> None:
        """Part of an answer."""
        transport = self._transport
        if transport is None or transport.is_closing():
            return
        try:
            data = self._http.send(event)
        except h11.LocalProtocolError:  # the connection is in no state to send, after a broken request
            self.abort()
            return
        if data:
            transport.write(data)

    def answered(self) -> None:
        """The answer is whole: wait for the next request, or end."""
        self._exchange, self._received_s = None, None
        if self._http.our_state is not h11.DONE or self._http.their_state is not h11.DONE:
            self.close()
            return
        self._http.start_next_cycle()
        self._wait(IDLE_S)
        self._loop.call_soon(self._read_on)

    def close(self) -> None:
        """Ends when all is sent."""
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Ends at once."""
        if self._transport is not None:
            self._transport.abort()

    def _read_on(self) -> None:
        """What had been sent while the answer before was under way."""
        try:
            self._read()
        except h11.RemoteProtocolError as error:
            self._refuse(error.error_status_hint, "the request is not HTTP/1.1, or too large")

    def _read(self) -> None:
        while True:
            event = self._http.next_event()
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    self.send(h11.InformationalResponse(status_code=100, headers=[]))
                return
            if event is h11.PAUSED:
                return
            if isinstance(event, h11.Request):
                now_s = self._loop.time()
                self._exchange = Exchange(self, event, now_s if self._received_s is None else self._received_s)
            elif isinstance(event, h11.Data) and self._exchange is not None:
                self._exchange.body += event.data
                if len(self._exchange.body) > MAX_BODY_BYTES:
                    self._refuse(413, f"the body has more than {MAX_BODY_BYTES >> 20} MiB")
                    return
            elif isinstance(event, h11.EndOfMessage) and self._exchange is not None:
                if self._timer is not None:
                    self._timer.cancel()
                self._server.handle(self._exchange)
                return
            else:
                self.close()
                return

    def _refuse(self, status: int, detail: str) -> None:
        body = json.dumps(
            {"error": {"message": detail, "type": "invalid_request_error", "param": None, "code": status}}
        )
        headers = [(b"content-type", b"application/json"), (b"connection", b"close")]
        headers.append((b"content-length", str(len(body)).encode()))
        if self._http.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            for event in (
                h11.Response(status_code=status, headers=headers, reason=_reason(status)),
                h11.Data(data=body.encode()),
                h11.EndOfMessage(),
            ):
                self.send(event)
        self._exchange = None
        self.close()

    def _wait(self, seconds: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._loop.call_later(seconds, self.abort)


def _reason(status: int) -> bytes:
    return HTTPStatus(status).phrase.encode()


class HttpServer:
    """Connections of all clients, and who answers them."""

    def __init__(self, handle: Handler) -> None:
        self.handle = handle
        self.connections: set[Connection] = set()
        self._listening: asyncio.Server | None = None

    async def listen(self, host: str, port: int) -> tuple[str, int]:
        """Starts to listen; returns address and port. Raises OSError."""
        loop = asyncio.get_running_loop()
        self._listening = await loop.create_server(lambda: Connection(self), host, port, backlog=1024)
        name: tuple[str, int] = self._listening.sockets[0].getsockname()[:2]
        return name

    async def stop(self) -> None:
        """Ends all connections."""
        if self._listening is not None:
            self._listening.close()
        for connection in list(self.connections):
            connection.abort()
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(0)
