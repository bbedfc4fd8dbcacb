"""The file: `manifest.json`, `tables/LABEL.jsonl` with one row a line, and `secret_key` where it was asked for."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from django.utils.crypto import salted_hmac
from pydantic import BaseModel, ConfigDict, NonNegativeInt, ValidationError

MANIFEST = "manifest.json"
SECRET_KEY = "secret_key"  # noqa: S105 - a file's name
READ_BYTES = 1 << 20


class BackupRefused(Exception):  # noqa: N818 - the name says what happened
    """Nothing was written; the message says why, for whoever typed the command."""


class Part(BaseModel):
    """One file of the archive."""

    model_config = ConfigDict(extra="forbid")
    sha256: str
    rows: NonNegativeInt | None = None


class Manifest(BaseModel):
    """What the archive holds and what made it."""

    model_config = ConfigDict(extra="forbid")
    format: Literal["staircase-backup"] = "staircase-backup"
    format_version: Literal[1] = 1
    made_at: datetime
    database: str
    """The engine that it came from."""
    result_version: str
    """Engine and catalog that were in use."""
    django: str
    migrations: dict[str, list[str]]
    secret_key_mark: str
    """Tells whether a key is the one that was in use, without telling the key."""
    tables: dict[str, Part]
    files: dict[str, Part]


def key_mark(secret_key: str) -> str:
    return salted_hmac("planner.core.backups", "mark", secret=secret_key, algorithm="sha256").hexdigest()[:16]


def member_of(label: str) -> str:
    return f"tables/{label}.jsonl"


class Archive:
    """An archive whose every byte was checked against its manifest."""

    def __init__(self, file: zipfile.ZipFile, manifest: Manifest) -> None:
        self.manifest = manifest
        self._file = file

    def rows(self, label: str) -> Iterator[list[Any]]:
        with self._file.open(member_of(label)) as lines:
            for line in lines:
                yield json.loads(line)

    def secret_key(self) -> str | None:
        return self._file.read(SECRET_KEY).decode() if SECRET_KEY in self.manifest.files else None


@contextmanager
def archive_open(path: Path) -> Iterator[Archive]:
    """Opens and checks. BackupRefused: no archive of ours, or not as it was written."""
    try:
        file = zipfile.ZipFile(path)
    except OSError as error:
        raise BackupRefused(f"{path} cannot be read: {error.strerror}") from None
    except zipfile.BadZipFile:
        raise BackupRefused(f"{path} is no backup, or was cut off") from None
    with file:
        try:
            manifest = Manifest.model_validate_json(file.read(MANIFEST))
        except KeyError:
            raise BackupRefused(f"{path} is no backup: it has no {MANIFEST}") from None
        except (ValidationError, zipfile.BadZipFile) as error:
            raise BackupRefused(f"{path}: its {MANIFEST} is not one that this version writes: {error}") from None
        _check(file, path, manifest)
        yield Archive(file, manifest)


def _check(file: zipfile.ZipFile, path: Path, manifest: Manifest) -> None:
    parts = {member_of(label): part for label, part in manifest.tables.items()} | manifest.files
    strange = set(file.namelist()) ^ {MANIFEST, *parts}
    if strange:
        raise BackupRefused(f"{path}: {min(strange)} is not in both archive and manifest")
    for name, part in parts.items():
        try:
            with file.open(name) as member:
                digest = hashlib.sha256()
                while block := member.read(READ_BYTES):
                    digest.update(block)
        except Exception as error:  # whatever zlib and zipfile say of damaged bytes
            raise BackupRefused(f"{path}: {name} is damaged ({error})") from None
        if digest.hexdigest() != part.sha256:
            raise BackupRefused(f"{path}: {name} is not as it was written")
