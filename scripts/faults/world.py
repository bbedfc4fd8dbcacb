"""The product as it stands on a server: web, two workers and the reaper, each started again whenever it ends."""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from scripts.faults.services import PostgreSQL, RabbitMQ, Redis, Service, within
from tests.processes import ROOT, WORKER, Answer, Process, descendants, environment, http, manage
from tests.services import free_port

Stack = Literal["files", "redis", "rabbitmq"]
LEASE_S = 4
DISK_MIB = 700
SOURCE = Path(__file__).with_name("clock.c")
WORKERS = ("worker-1", "worker-2")
COMPILE = "from planner.planning import warm_up; warm_up()"
SET_UP = """
import json, sys
from django.conf import settings
from django.test import Client
from planner.teams.first_admin import first_admin
from planner.teams.models import Scope
from planner.teams.selectors import current_team
from planner.teams.services import token_create
from planner.webhooks.services import webhook_create
user, _ = first_admin(email="admin@localhost", password=None)
team = current_team(user)
tokens = [token_create(team=team, user=user, scope=Scope.WRITE, name=f"{n}")[1] for n in range(40)]
webhook_create(team=team, user=user, url="http://127.0.0.1:%d/", events=["run.done", "run.failed"])
visitor = Client()
visitor.force_login(user, backend="django.contrib.auth.backends.ModelBackend")
print(json.dumps({"tokens": tokens, "session": visitor.cookies[settings.SESSION_COOKIE_NAME].value}))
"""


@dataclass
class World:
    """Where it runs, its processes by name, and what lets us in."""

    stack: Stack
    folder: Path
    variables: dict[str, str]
    clock: Path | None
    disk: Path | None
    database: PostgreSQL | None
    broker: Redis | RabbitMQ | None
    port: int = field(default_factory=free_port)
    tokens: list[str] = field(default_factory=list)
    session: str = ""
    processes: dict[str, Process] = field(default_factory=dict)
    restarts: int = 0
    _held_down: set[str] = field(default_factory=set)
    _lock: threading.RLock = field(default_factory=threading.RLock)

    @property
    def data_dir(self) -> Path:
        return self.folder / "data"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def commands(self) -> Mapping[str, list[str]]:
        bind = ["--bind", f"127.0.0.1:{self.port}", "--workers", "1", "--threads", "8", "--graceful-timeout", "3"]
        config = ["--no-control-socket", "--config", "python:planner.core.gunicorn_conf"]
        workers = {name: [*WORKER, "--hostname", f"{name}@faults"] for name in WORKERS}
        web = ["-m", "gunicorn", "planner.wsgi", *bind, *config]
        return {"web": web, "reaper": ["manage.py", "reaper"], **workers}

    def start(self, name: str) -> None:
        with self._lock:
            self._held_down.discard(name)
            self.processes[name] = Process(self.commands()[name], self.variables)

    def kill(self, name: str) -> None:
        """kill -9 of the process with its group; it stays down until `start`."""
        with self._lock:
            self._held_down.add(name)
            self.processes[name].kill_group()

    def keep_up(self, stop: threading.Event) -> None:
        """What a supervisor does: whatever ended is started again after a second."""
        while not stop.wait(1.0):
            with self._lock:
                for name, process in list(self.processes.items()):
                    if name not in self._held_down and process.ended():
                        process.kill_group()
                        self.restarts += 1
                        self.start(name)

    def pool_processes(self, worker: str) -> list[int]:
        """The processes of a worker that compute."""
        return sorted(descendants(self.processes[worker].pid))

    def ask(self, path: str, *, method: str = "GET", body: Any = None, token: int = 0) -> Answer | None:
        """One request to the API; None: nobody answered."""
        try:
            return http(self.address + path, method=method, body=body, token=self.tokens[token % len(self.tokens)])
        except OSError:
            return None

    def page(self, path: str) -> str:
        """A page as a signed-in person gets it, status first; empty: nobody answered."""
        request = (
            f"GET {path} HTTP/1.0\r\nHost: 127.0.0.1:{self.port}\r\nCookie: staircase_session={self.session}\r\n\r\n"
        )
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=20) as connection:
                connection.sendall(request.encode())
                parts = iter(lambda: connection.recv(65536), b"")
                return b"".join(parts).decode(errors="replace")
        except OSError:
            return ""

    def ready(self) -> dict[str, str]:
        """What /readyz says of each part; empty: nobody answered."""
        answer = self.ask("/readyz")
        return {} if answer is None or not answer.body.startswith(b"{") else dict(answer.json)

    def set_clock(self, ahead_s: int) -> None:
        """All processes see it at once: they have the file mapped."""
        assert self.clock is not None
        with self.clock.open("r+b", buffering=0) as file:
            file.write(struct.pack("=q", ahead_s))


@contextlib.contextmanager
def small_disk(folder: Path) -> Iterator[Path | None]:
    """A file system of its own that can be filled; None: this user may not mount one."""
    place = folder / "disk"
    place.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m,mode=755", "tmpfs", str(place)]
    mounted = subprocess.run(words, check=False, capture_output=True).returncode == 0
    try:
        yield place if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(place)], check=True)


@contextlib.contextmanager
def world(stack: Stack, folder: Path, receiver_port: int) -> Iterator[World]:
    """Everything started and answering; all of it is ended and gone afterwards."""
    folder.chmod(0o755)
    with small_disk(folder) as disk:
        base = disk or folder
        clock, fake = own_clock(folder)
        database = broker = None
        variables = environment(PLANNER_DATA_DIR=str(base / "data"), PLANNER_LEASE_S=str(LEASE_S), **fake)
        variables |= {"PLANNER_WEBHOOK_PRIVATE_TARGETS": "true", "NUMBA_CACHE_DIR": kernels(folder)}
        made = World(stack, base, variables, clock, disk, None, None)
        services: list[Service] = []
        try:
            if stack != "files":
                made.database = database = PostgreSQL("postgres", base / "postgres", fake)
                made.broker = broker = {"redis": Redis, "rabbitmq": RabbitMQ}[stack](stack, folder / stack)
                services += [database, broker]
                variables |= {"PLANNER_DATABASE_URL": database.url, "PLANNER_BROKER_URL": broker.url}
            for service in services:
                service.start()
            subprocess.run([sys.executable, "-c", COMPILE], cwd=ROOT, env=variables, check=True)
            manage(variables, "migrate", "--verbosity", "0")
            said = manage(variables, "shell", "--verbosity", "0", "-c", SET_UP % receiver_port)
            access = json.loads(said.splitlines()[-1])
            made.tokens, made.session = access["tokens"], access["session"]
            for name in made.commands():
                made.start(name)
            if within(900, lambda: made.ready().get("status") == "ok") is None:
                lines = [f"{name}: {line}" for name, process in made.processes.items() for line in process.lines[-5:]]
                raise RuntimeError("the product did not become ready:\n" + "\n".join(lines))
            yield made
        finally:
            for process in made.processes.values():
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGCONT)
                process.kill_group()
            for service in services:
                service.kill()


def own_clock(folder: Path) -> tuple[Path | None, dict[str, str]]:
    """The file with the seconds that the clock is ahead, and the variables under which processes go by it; None and
    nothing without a C compiler. (libfaketime 0.9.10 breaks Python's time.sleep where it leaves monotonic clocks.)"""
    compiler = shutil.which("cc")
    if compiler is None:
        return None, {}
    clock, library = folder / "clock", folder / "clock.so"
    clock.write_bytes(bytes(8))
    subprocess.run([compiler, "-O2", "-shared", "-fPIC", "-o", library, SOURCE], check=True)
    return clock, {"LD_PRELOAD": str(library), "FAULTS_CLOCK": str(clock)}


def kernels(folder: Path) -> str:
    """The compiled kernels, off the disk that is filled: those of NUMBA_CACHE_DIR where that is set."""
    return os.environ.get("NUMBA_CACHE_DIR") or str(folder / "numba")


def remove(folder: Path) -> None:
    """The scratch folder, whoever owns what is in it."""
    time.sleep(0.5)
    shutil.rmtree(folder, ignore_errors=True)
