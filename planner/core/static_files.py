"""Styles, scripts and fonts made ready to serve: named by their content, so that browsers keep them, and compressed."""

import hashlib
import shutil
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.core.files.storage import Storage
from whitenoise.storage import CompressedManifestStaticFilesStorage

STAMP = "collected-from"


def static_files_collect(folder: Path) -> bool:
    """Fills a folder for PLANNER_STATIC_ROOT from the files as they lie; False where it holds them already.

    OSError: the folder cannot be written. A reference to a missing file raises what the storage says of it.
    """
    found = list(_files())
    stamp = _digest(found)
    if _read(folder / STAMP) == stamp:
        return False
    shutil.rmtree(folder, ignore_errors=True)
    storage = CompressedManifestStaticFilesStorage(location=str(folder), base_url=settings.STATIC_URL)
    for name, source in found:
        with source.open(name) as content:
            storage.save(name, content)
    for _, _, done in storage.post_process({name: (storage, name) for name, _ in found}):
        if isinstance(done, Exception):
            raise done
    (folder / STAMP).write_text(stamp)
    return True


def _files() -> Iterator[tuple[str, Storage]]:
    """Names and where each lies; of one name the first, as when they are served."""
    seen: set[str] = set()
    for finder in get_finders():
        for path, source in finder.list([]):
            name = "/".join((source.prefix, path)) if getattr(source, "prefix", None) else path
            if name not in seen:
                seen.add(name)
                yield name, source


def _digest(found: list[tuple[str, Storage]]) -> str:
    digest = hashlib.sha256()
    for name, source in sorted(found, key=lambda item: item[0]):
        state = Path(source.path(name)).stat()
        digest.update(f"{name} {state.st_size} {state.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""
