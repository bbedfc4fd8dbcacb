"""A message broker made of files, so that one machine needs no other service: kombu transport `filebroker://`.

One message is one file in its queue's folder. It appears by an atomic rename, so no reader sees half of it, and is
claimed by renaming it away, so no two readers get it. A binding is a file of its own, so simultaneous binds lose
nothing. Fan-out exchanges work, and with them Celery's remote control. A message that a killed worker had claimed is
gone: `planner.runs` sends lost runs again. The folder must not be shared between machines.

Transport options: `folder` (required), `polling_interval` in seconds.
"""

import hashlib
import os
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from queue import Empty
from typing import Any, ClassVar
from urllib.parse import quote

from kombu.transport import TRANSPORT_ALIASES, base, virtual
from kombu.utils.json import dumps, loads

FANOUT_LIFE_S = 60.0

Binding = tuple[str, str, str]  # routing key, pattern, queue


def register() -> None:
    """Makes `filebroker://` known to kombu in this process."""
    TRANSPORT_ALIASES["filebroker"] = f"{__name__}:Transport"


def _entries(folder: Path) -> list[str]:
    """Names in a folder in order; none when it is not there (another process may have just removed it)."""
    try:
        return sorted(os.listdir(folder))
    except FileNotFoundError:
        return []


class Channel(virtual.Channel):
    """The file operations below kombu's virtual channel."""

    supports_fanout = True
    deadletter_queue = None  # a reply to someone who stopped listening is dropped

    @property
    def _folder(self) -> Path:
        client: Any = self.connection.client
        return Path(client.transport_options["folder"])

    def _queue_folder(self, queue: str) -> Path:
        return self._folder / "queues" / quote(queue, safe="@")

    def _exchange_folder(self, exchange: str) -> Path:
        return self._folder / "bindings" / quote(exchange, safe="")

    def _write(self, path: Path, content: str) -> None:
        """The file appears whole or not at all."""
        scratch = self._scratch()
        with scratch.open("w") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        path.parent.mkdir(parents=True, exist_ok=True)
        scratch.replace(path)

    def _scratch(self) -> Path:
        folder = self._folder / "scratch"
        folder.mkdir(parents=True, exist_ok=True)
        return folder / uuid.uuid4().hex

    def _put(self, queue: str, message: dict[str, Any], **_: object) -> None:
        self._write(self._queue_folder(queue) / f"{time.time_ns():020d}-{uuid.uuid4().hex}", dumps(message))

    def _get(self, queue: str, timeout: float | None = None) -> Any:
        folder = self._queue_folder(queue)
        if not folder.is_dir():
            self._make_again(queue)
        for name in _entries(folder):
            claimed = self._scratch()
            try:
                (folder / name).rename(claimed)
            except FileNotFoundError:
                continue  # another reader was first
            content = claimed.read_text()
            claimed.unlink()
            return loads(content)
        raise Empty

    def _make_again(self, queue: str) -> None:
        """Someone removed the broker's folder under a running reader: put back the queue and how messages reach it."""
        self._new_queue(queue)
        for exchange, routing_key, arguments in list(self.state.queue_bindings(queue)):
            pattern = self.typeof(exchange).prepare_bind(queue, exchange, routing_key, arguments)[1]
            self._queue_bind(exchange, routing_key, pattern, queue)

    def _size(self, queue: str) -> int:
        return len(_entries(self._queue_folder(queue)))

    def _purge(self, queue: str) -> int:
        return sum(self._remove(path) for path in self._messages(queue))

    def _has_queue(self, queue: str, **_: object) -> bool:
        return self._queue_folder(queue).is_dir()

    def _new_queue(self, queue: str, **_: object) -> None:
        self._queue_folder(queue).mkdir(parents=True, exist_ok=True)

    def _delete(self, queue: str, exchange: str, *meta: object, **_: object) -> None:
        self._purge(queue)
        shutil.rmtree(self._queue_folder(queue), ignore_errors=True)
        folder = self._exchange_folder(exchange)
        for path, binding in self._bindings(folder):
            if binding[2] == queue:
                self._remove(path)

    def queue_bind(
        self, queue: str, exchange: str | None = None, routing_key: str = "", arguments: Any = None, **options: Any
    ) -> None:
        """Binds on disk before kombu notes it in this process: another thread must not publish in between."""
        exchange = exchange or "amq.direct"
        pattern = self.typeof(exchange).prepare_bind(queue, exchange, routing_key, arguments)[1]
        self._queue_bind(exchange, routing_key, pattern, queue)
        super().queue_bind(queue, exchange, routing_key, arguments, **options)

    def _queue_bind(self, exchange: str, routing_key: str | None, pattern: str | None, queue: str) -> None:
        binding = dumps((routing_key or "", pattern or "", queue))
        path = self._exchange_folder(exchange) / hashlib.sha256(binding.encode()).hexdigest()
        if not path.exists():
            self._write(path, binding)

    def get_table(self, exchange: str) -> list[Binding]:
        return [binding for _, binding in self._bindings(self._exchange_folder(exchange))]

    def _put_fanout(self, exchange: str, message: dict[str, Any], routing_key: str, **_: object) -> None:
        """A copy for every bound queue; what nobody fetched for a minute goes, so a dead listener costs nothing."""
        oldest_ns = time.time_ns() - int(FANOUT_LIFE_S * 1e9)
        for queue in {queue for _, _, queue in self.get_table(exchange)}:
            for path in self._messages(queue):
                if int(path.name.partition("-")[0]) < oldest_ns:
                    self._remove(path)
            self._put(queue, message)

    def _messages(self, queue: str) -> list[Path]:
        folder = self._queue_folder(queue)
        return [folder / name for name in _entries(folder)]

    def _bindings(self, folder: Path) -> Iterator[tuple[Path, Binding]]:
        for name in _entries(folder):
            try:
                content = (folder / name).read_text()
            except FileNotFoundError:
                continue
            routing_key, pattern, queue = loads(content)
            yield folder / name, (routing_key, pattern, queue)

    @staticmethod
    def _remove(path: Path) -> bool:
        try:
            path.unlink()
        except FileNotFoundError:
            return False
        return True


class Transport(virtual.Transport):
    """`filebroker://`; its folder comes as a transport option."""

    Channel = Channel
    default_port = 0
    driver_type = "filebroker"
    driver_name = "filebroker"
    global_state: ClassVar[virtual.BrokerState] = virtual.BrokerState()
    implements = base.Transport.implements.extend(
        asynchronous=False, exchange_type=frozenset(["direct", "topic", "fanout"])
    )

    def __init__(self, client: Any, **options: Any) -> None:
        super().__init__(client, **options)
        self.state = self.global_state  # exchange types, known to every connection of the process

    def driver_version(self) -> str:
        return "1"
