"""Services of our own that may be killed, emptied and filled: PostgreSQL, Redis, RabbitMQ, on free ports."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from tests.services import free_port, listens

START_WITHIN_S = 90.0


def postgres_binary(name: str) -> str:
    """Of the newest installed version."""
    places = sorted(Path("/usr/lib/postgresql").glob(f"*/bin/{name}"), key=lambda path: int(path.parts[4]))
    found = str(places[-1]) if places else shutil.which(name)
    if found is None:
        raise SystemExit(f"faults: {name} is not installed")
    return found


class Service:
    """A server process in a group of its own, that can be killed and started again on the same port and folder."""

    def __init__(self, name: str, folder: Path, user: str | None = None) -> None:
        self.name = name
        self.folder = folder
        self.port = free_port()
        self._as_user = ["setpriv", f"--reuid={user}", f"--regid={user}", "--init-groups"] if user else []
        self._process: subprocess.Popen[bytes] | None = None
        folder.mkdir(parents=True, exist_ok=True)
        if user:
            shutil.chown(folder, user, user)

    def command(self) -> Sequence[str]:
        raise NotImplementedError

    def variables(self) -> Mapping[str, str]:
        return {}

    def start(self) -> None:
        with (self.folder.parent / f"{self.name}.log").open("ab") as log:
            self._process = subprocess.Popen(
                [*self._as_user, *self.command()],
                env=os.environ | dict(self.variables()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        deadline_s = time.monotonic() + START_WITHIN_S
        while not self.answers():
            if time.monotonic() > deadline_s:
                raise RuntimeError(f"{self.name} did not start; see its log in {self.folder.parent}")
            if self._process.poll() is not None:
                time.sleep(1)
                self.start()  # its disk may have been full a moment ago
                return
            time.sleep(0.1)

    def answers(self) -> bool:
        return listens(self.port)

    def kill(self, number: signal.Signals = signal.SIGKILL) -> None:
        """The whole group at once."""
        if self._process is not None and self._process.poll() is None:
            os.killpg(self._process.pid, number)
            self._process.wait(60)

    def up(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def empty(self) -> None:
        """Forget all that it kept; only while it is down."""
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()


class Redis(Service):
    """Keeps nothing on disk, so that a restart empties it."""

    def command(self) -> Sequence[str]:
        return [
            "redis-server",
            "--port",
            str(self.port),
            "--bind",
            "127.0.0.1",
            "--save",
            "",
            "--dir",
            str(self.folder),
        ]

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"


class RabbitMQ(Service):
    """A node of its own, with its folder as its home."""

    def __init__(self, name: str, folder: Path) -> None:
        super().__init__(name, folder)
        self._distribution_port = free_port()

    def command(self) -> Sequence[str]:
        return ["/usr/lib/rabbitmq/bin/rabbitmq-server"]

    def variables(self) -> Mapping[str, str]:
        return {
            "HOME": str(self.folder),
            "RABBITMQ_CONF_ENV_FILE": str(self.folder / "no-such-file"),  # the machine's own would set its port
            "RABBITMQ_CONFIG_FILE": str(self.folder / "no-such-file"),
            "RABBITMQ_NODENAME": f"faults{self.port}@localhost",
            "RABBITMQ_NODE_IP_ADDRESS": "127.0.0.1",
            "RABBITMQ_NODE_PORT": str(self.port),
            "RABBITMQ_DIST_PORT": str(self._distribution_port),
            "RABBITMQ_MNESIA_BASE": str(self.folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self.folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self.folder / "plugins"),
            "RABBITMQ_SERVER_ADDITIONAL_ERL_ARGS": "+S 1:1 +sbwt none",
        }

    @property
    def url(self) -> str:
        return f"amqp://guest:guest@127.0.0.1:{self.port}//"


class PostgreSQL(Service):
    """A cluster of its own; `preload` is a library that its processes load first, for the clock that jumps."""

    def __init__(self, name: str, folder: Path, preload: Mapping[str, str]) -> None:
        super().__init__(name, folder, "postgres" if os.geteuid() == 0 else None)
        self._preload = preload
        words = [postgres_binary("initdb"), "--auth", "trust", "--username", "postgres", "-D", str(folder)]
        subprocess.run([*self._as_user, *words], check=True, stdout=subprocess.DEVNULL)

    def command(self) -> Sequence[str]:
        settings = [
            "listen_addresses=127.0.0.1",
            "unix_socket_directories=",
            "max_wal_size=64MB",
            "shared_buffers=32MB",
        ]
        words = [postgres_binary("postgres"), "-D", str(self.folder), "-p", str(self.port)]
        return [*words, *(word for setting in settings for word in ("-c", setting))]

    def variables(self) -> Mapping[str, str]:
        return self._preload

    def answers(self) -> bool:
        words = [postgres_binary("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(self.port), "-U", "postgres"]
        return subprocess.run(words, check=False).returncode == 0

    @property
    def url(self) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/postgres"


def within(seconds: float, look: Callable[[], bool]) -> float | None:
    """Seconds until it was so; None: not within the time."""
    start_s = time.monotonic()
    while time.monotonic() - start_s < seconds:
        if look():
            return time.monotonic() - start_s
        time.sleep(0.2)
    return None
