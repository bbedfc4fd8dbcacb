"""One `up` per data folder: a locked file that says who runs there."""

import fcntl
import os
from pathlib import Path
from typing import TextIO


class AlreadyRunning(Exception):  # noqa: N818 - the name says what is the case
    """Another `up` owns the folder; the message says which and where."""


def own(data_dir: Path) -> TextIO:
    """Takes the folder until the returned file is closed or the process ends, however it ends."""
    data_dir.mkdir(parents=True, exist_ok=True)
    file = (data_dir / "up.lock").open("a+")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.seek(0)
        who = file.read().strip() or "its process is just starting"
        file.close()
        raise AlreadyRunning(who) from None
    return file


def announce(file: TextIO, address: str) -> None:
    """Leaves word for whoever finds the folder taken."""
    file.seek(0)
    file.truncate()
    file.write(f"process {os.getpid()}, {address}")
    file.flush()
