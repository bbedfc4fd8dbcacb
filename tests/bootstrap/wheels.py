"""Tiny wheels that stand for the real requirements, so that bootstrapping is tested without a network."""

import hashlib
import zipfile
from pathlib import Path

DJANGO = "import sys\ndef execute_from_command_line(argv):\n    print('django in', sys.prefix, argv[1:])\n"
PYTEST = "import sys\nprint('pytest in', sys.prefix, sys.argv[1:])\n"


def wheel(folder: Path, name: str, files: dict[str, str]) -> str:
    """Writes a wheel of version 1.0 and returns its hashed line for a requirements file."""
    info = f"{name}-1.0.dist-info"
    files = files | {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{path},,\n" for path in [*files, f"{info}/RECORD"])
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for inside, text in files.items():
            archive.writestr(inside, text)
    return f"{name}==1.0 --hash=sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}\n"


def standins(folder: Path) -> tuple[str, str]:
    """Wheels of a `django` and a `pytest` that only say where they run; returns the two requirement lines."""
    folder.mkdir()
    empty = dict.fromkeys(("django/__init__.py", "django/core/__init__.py"), "")
    files = empty | {"django/core/management.py": DJANGO, "django/db.py": "class DatabaseError(Exception): ...\n"}
    django = wheel(folder, "django", files)
    return django, wheel(folder, "pytest", {"pytest/__init__.py": "", "pytest/__main__.py": PYTEST})
