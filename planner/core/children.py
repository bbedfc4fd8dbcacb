"""Child processes that `up` starts, watches and ends."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from planner.core import lifeline

RESPAWN_WAIT_S = 1.0


class Child:
    """A Python module running in a process group of its own, its output appended to a log file."""

    def __init__(
        self, name: str, module: str, arguments: Sequence[str], log: Path, keep_fds: Sequence[int] = ()
    ) -> None:
        self.name = name
        self.log = log
        self._command = [sys.executable, "-m", module, *arguments]
        self._keep_fds = tuple(keep_fds)
        self._process: subprocess.Popen[bytes] | None = None
        self._started_s = 0.0

    def start(self) -> None:
        """Starts it; Ctrl-C in the terminal does not reach it, since it is its parent's to handle."""
        environment = os.environ | {lifeline.VARIABLE: str(os.getpid())}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - fixed commands of our own
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                pass_fds=self._keep_fds,
                start_new_session=True,
            )
        self._started_s = time.monotonic()

    def revive(self) -> int | None:
        """Starts it again if it ended, at most once a second; returns the exit code it ended with."""
        code = self._process.poll() if self._process else None
        if code is None or time.monotonic() - self._started_s < RESPAWN_WAIT_S:
            return None
        self._signal_group(signal.SIGKILL)  # what it left behind
        self.start()
        return code

    def ask_to_end(self) -> None:
        """SIGTERM: finish and end."""
        if self._process and self._process.poll() is None:
            self._process.terminate()

    def end(self, within_s: float) -> None:
        """Waits for the end and kills whatever of the group is left after that time."""
        if self._process is None:
            return
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(max(0.0, within_s))
        self._signal_group(signal.SIGKILL)
        self._process.wait()

    def _signal_group(self, number: int) -> None:
        assert self._process is not None
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, number)
