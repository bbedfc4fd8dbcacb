"""A receiver on this machine."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest


@dataclass
class Receiver:
    """Keeps what it gets; answers `status`, or does `behave` instead."""

    url: str = ""
    status: int = 204
    headers: dict[str, str] = field(default_factory=dict)
    got: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    drip: threading.Event | None = None


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    kept = Receiver()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            kept.got.append((self.path, {k.lower(): v for k, v in self.headers.items()}, body))
            if kept.drip is not None:
                self.wfile.write(b"HTTP/1.1 100 Continue\r\n\r\n")
                kept.drip.wait(20)
                return
            self.send_response(kept.status)
            for name, value in kept.headers.items():
                self.send_header(name, value)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    kept.url = f"http://127.0.0.1:{server.server_port}/hook"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield kept
    if kept.drip is not None:
        kept.drip.set()
    server.shutdown()
    thread.join()
    server.server_close()
