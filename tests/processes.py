"""The product's own commands as processes, as they run on a machine."""

import contextlib
import json
import os
import queue
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

ROOT = Path(__file__).resolve().parents[1]
WORKER = [
    "-m",
    "celery",
    "-A",
    "planner.celery",
    "worker",
    "--concurrency",
    "1",
    "--without-gossip",
    "--without-mingle",
]

T = TypeVar("T")


def environment(**variables: str) -> dict[str, str]:
    """The environment of a fresh shell: none of our own variables but the given ones (the kernel cache is shared)."""
    ours = ("PLANNER_", "DJANGO_", "PYTEST_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    return kept | {"PLANNER_MANAGED_ENV": "0", "PYTHONUNBUFFERED": "1"} | variables


def wait_for(what: str, look: Callable[[], T | None], within_s: float = 60.0) -> T:
    """Looks until there is something to see."""
    deadline_s = time.monotonic() + within_s
    while time.monotonic() < deadline_s:
        seen = look()
        if seen:
            return seen
        time.sleep(0.05)
    raise AssertionError(f"{what}: not within {within_s:.0f} s")


class Process:
    """A Python process in a group of its own whose output is kept."""

    def __init__(self, arguments: Sequence[str], variables: dict[str, str]) -> None:
        self.lines: list[str] = []
        self._new: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._popen = subprocess.Popen(
            [sys.executable, *arguments],
            cwd=ROOT,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.pid = self._popen.pid
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self._popen.stdout is not None
        with self._popen.stdout as output:
            for line in output:
                self.lines.append(line.rstrip("\n"))
                self._new.put(line)
        self._new.put(None)

    def wait_for_line(self, pattern: str, within_s: float = 90.0) -> re.Match[str]:
        """The first line, already printed or still to come, in which the pattern is found."""
        deadline_s = time.monotonic() + within_s
        seen = 0
        while True:
            for line in self.lines[seen:]:
                if match := re.search(pattern, line):
                    return match
            seen = len(self.lines)
            with contextlib.suppress(queue.Empty):
                left_s = deadline_s - time.monotonic()
                if left_s <= 0 or self._new.get(timeout=left_s) is None:
                    break
        raise AssertionError(f"no line like {pattern!r}; printed:\n" + "\n".join(self.lines))

    def ended(self) -> bool:
        return self._popen.poll() is not None

    def send(self, number: int) -> None:
        self._popen.send_signal(number)

    def wait(self, within_s: float = 30.0) -> int:
        code = self._popen.wait(within_s)
        self._reader.join(5)
        return code

    def kill_group(self) -> None:
        """kill -9 of the process and everything it started in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self._popen.wait(20)
        self._reader.join(5)


@contextlib.contextmanager
def started(arguments: Sequence[str], variables: dict[str, str]) -> Iterator[Process]:
    """The process, ended with its group at the end."""
    process = Process(arguments, variables)
    try:
        yield process
    finally:
        process.kill_group()


def manage(variables: dict[str, str], *words: str, code: int = 0) -> str:
    """Runs a command to its end and returns what it printed."""
    command = [sys.executable, "manage.py", *words]
    done = subprocess.run(command, cwd=ROOT, env=variables, capture_output=True, text=True, timeout=180, check=False)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stdout + done.stderr


def descendants(pid: int) -> set[int]:
    """All processes below one, read from /proc."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    below, grown = {pid}, True
    while grown:
        more = {child for child, parent in parents.items() if parent in below} - below
        below |= more
        grown = bool(more)
    return below - {pid}


def alive(pid: int) -> bool:
    """Still running (a zombie is not)."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def command_line(pid: int) -> str:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


def http(
    url: str, *, method: str = "GET", body: Any = None, token: str | None = None, more: Mapping[str, str] | None = None
) -> Answer:
    """One request; errors are answers too. more: further headers."""
    headers = {"Accept": "application/json"} | dict(more or {})
    if body is not None:
        headers["Content-Type"] = "application/json"
    if token is not None:
        headers["Authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, method=method, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=20) as response:
            return Answer(response.status, dict(response.headers), response.read())
    except urllib.error.HTTPError as error:
        with error:
            return Answer(error.code, dict(error.headers), error.read())
