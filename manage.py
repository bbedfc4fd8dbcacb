#!/usr/bin/env python3
"""Entry point of Staircase's commands.

On a fresh machine it first makes `.venv` from the hashed requirements (PLANNER_MANAGED_ENV=0: use the Python it was
started with). Until then only the standard library is there, and possibly an old one: keep the syntax plain.
"""

import contextlib
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = os.path.dirname(os.path.abspath(__file__))
ENV = os.path.join(ROOT, ".venv")
UNFINISHED = os.path.join(ENV, ".unfinished")
PYTHON = os.path.join(ENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(ENV, "bin", "python")
OLDEST, NEWEST = (3, 11), (3, 13)
DATA_DIR_COMMANDS = ("up", "secondfactor", "signout", "token", "backup", "restore")
IN_PARALLEL = ["-n", "2", "--dist", "loadfile", "--no-loadscope-reorder"]  # fixtures of a file are made once
ELSEWHERE = ("PIP_USER", "PIP_TARGET", "PIP_PREFIX", "PIP_ROOT")  # a shell may send pip's installs elsewhere


def end(message: str) -> NoReturn:
    """Ends with one line."""
    sys.exit("staircase: " + message)


def check_python() -> None:
    """Only Pythons that every dependency supports."""
    if not OLDEST <= tuple(sys.version_info[:2]) <= NEWEST:
        end(f"needs Python 3.11, 3.12 or 3.13; this is {sys.version_info[0]}.{sys.version_info[1]}")


def digest_of(requirements: str) -> str:
    with open(os.path.join(ROOT, requirements), "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def is_installed(requirements: str) -> bool:
    """True when exactly this list was installed to its end."""
    try:
        with open(os.path.join(ENV, "." + requirements + ".sha256")) as file:
            return file.read() == digest_of(requirements) and not os.path.exists(UNFINISHED)
    except OSError:
        return False


@contextlib.contextmanager
def only_one() -> "Iterator[None]":
    """Two starts at once: the second waits, then finds the work done."""
    with open(os.path.join(ROOT, ".venv.lock"), "w") as lock:
        if os.name != "nt":
            import fcntl

            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                sys.stderr.write("staircase: another start is preparing the environment; waiting for it\n")
                fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(requirements: str) -> None:
    """Makes the environment if need be and installs the list; what was interrupted is made from nothing again."""
    for module in ("venv", "ensurepip"):
        if importlib.util.find_spec(module) is None:
            package = f"python{sys.version_info[0]}.{sys.version_info[1]}-venv"
            end(f"this Python cannot make environments; install the package {package} (or python3-venv)")
    import venv

    if os.path.exists(UNFINISHED):
        shutil.rmtree(ENV)
    sys.stderr.write(f"staircase: preparing the environment from {requirements} (once)\n")
    os.makedirs(ENV, exist_ok=True)
    with open(UNFINISHED, "w"):
        pass
    if not os.path.exists(os.path.join(ENV, "pyvenv.cfg")) or not has_pip():
        venv.EnvBuilder(with_pip=True, symlinks=os.name != "nt").create(ENV)
    pip = [PYTHON, "-I", "-m", "pip", "--quiet", "--disable-pip-version-check", "--no-input"]
    environment = {name: value for name, value in os.environ.items() if name not in ELSEWHERE}
    command = [*pip, "install", "--require-hashes", "-r", os.path.join(ROOT, requirements)]
    if subprocess.call(command, env=environment) != 0:
        end(f"pip could not install {requirements} (its message is above); run the same command again to retry")
    with open(os.path.join(ENV, "." + requirements + ".sha256"), "w") as file:
        file.write(digest_of(requirements))
    os.remove(UNFINISHED)


def has_pip() -> bool:
    ask = [PYTHON, "-I", "-c", "import pip"]
    return os.path.exists(PYTHON) and subprocess.call(ask, stderr=subprocess.DEVNULL) == 0


def ensure_environment(requirements: str) -> None:
    """`.venv` holds what the list names; nothing is written when it already does."""
    if is_installed(requirements):
        return
    try:
        with only_one():
            if not is_installed(requirements):
                install(requirements)
    except (OSError, subprocess.CalledProcessError) as error:
        end(f"cannot make the environment in {ENV}: {getattr(error, 'strerror', None) or error}")


def become(python: str, arguments: "list[str]") -> NoReturn:
    """Goes on as this Python with these arguments, so that signals reach it directly."""
    if os.name == "nt":
        sys.exit(subprocess.call([python, *arguments]))
    sys.stdout.flush()
    os.execv(python, [python, *arguments])


def test_arguments(given: "list[str]") -> "list[str]":
    """pytest's arguments for `test [ROOM] [pytest arguments]`; a room with `tests/` before it is the same room."""
    if given and not given[0].startswith("-"):
        room = os.path.join(ROOT, "tests", given[0].removeprefix("tests/"))
        if not os.path.exists(room):
            rooms = sorted(e.name for e in os.scandir(os.path.join(ROOT, "tests")) if e.is_dir() and e.name[0] != "_")
            end(f"no such room: {given[0]}; there are {', '.join(rooms)}")
        return [room, *given[1:]]
    return [*IN_PARALLEL, *given]


def take_data_dir(arguments: "list[str]") -> "list[str]":
    """`--data-dir DIR` must be known before the settings are read, so it becomes PLANNER_DATA_DIR here."""
    rest = []
    words = iter(arguments)
    for word in words:
        if word == "--data-dir" or word.startswith("--data-dir="):
            folder = word.partition("=")[2] or next(words, "")
            if not folder:
                end("--data-dir needs a folder")
            os.environ["PLANNER_DATA_DIR"] = os.path.abspath(folder)
        else:
            rest.append(word)
    return rest


def check_data_dir() -> None:
    """One line instead of a traceback when the data cannot be kept where it was asked for."""
    folder = os.environ.get("PLANNER_DATA_DIR") or os.path.join(ROOT, "var")
    probe = os.path.join(folder, f".writable-{os.getpid()}")
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)  # it holds sessions and password hashes
        with open(probe, "w"):
            os.remove(probe)
    except OSError as error:
        end(f"cannot write in {folder}: {error.strerror}; choose another folder with --data-dir")


def main() -> None:
    check_python()
    command = sys.argv[1] if len(sys.argv) > 1 else ""
    managed = os.environ.get("PLANNER_MANAGED_ENV") != "0"
    if managed:
        ensure_environment("requirements.txt")
    if command == "test":
        if managed:
            ensure_environment("requirements-dev.txt")
        os.chdir(ROOT)
        become(PYTHON if managed else sys.executable, ["-m", "pytest", *test_arguments(sys.argv[2:])])
    if managed and os.path.realpath(sys.prefix) != os.path.realpath(ENV):
        become(PYTHON, [os.path.join(ROOT, "manage.py"), *sys.argv[1:]])
    arguments = [*sys.argv[:1], command.replace("-", "_"), *sys.argv[2:]] if command[:1].isalpha() else sys.argv
    if command in DATA_DIR_COMMANDS:
        arguments = take_data_dir(arguments)
        check_data_dir()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "planner.settings.base")
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(arguments)
    except DatabaseError as error:
        if "--traceback" in arguments:
            raise
        if command == "token" and ("no such table" in str(error) or "does not exist" in str(error)):
            folder = os.environ.get("PLANNER_DATA_DIR") or os.path.join(ROOT, "var")
            end(f"nothing has been started with data in {folder} yet; start `up`, or name its folder with --data-dir")
        end("the database cannot be used: " + str(error).strip().split("\n")[0])


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit(130)
