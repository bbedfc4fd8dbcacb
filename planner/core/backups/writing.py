"""Making a backup while everything runs."""

import copy
import hashlib
import json
import os
import secrets
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import django
from django.conf import settings
from django.db import connection, connections, transaction
from django.db.migrations.loader import MigrationLoader
from django.utils import timezone

from planner.core.backups.archive import MANIFEST, SECRET_KEY, BackupRefused, Manifest, Part, key_mark, member_of
from planner.core.backups.rows import last_of, migrations_applied, rows_of, tables_of
from planner.planning import result_version

SNAPSHOT = "snapshot"


def backup_write(path: Path, *, with_secret_key: bool, overwrite: bool) -> Manifest:
    """Writes the archive, whole or not at all, readable by its owner alone. All of it is of one moment; nobody waits.

    BackupRefused: the file is there and may not be replaced, or the database is not one that this code made.
    """
    if path.exists() and not overwrite:
        raise BackupRefused(f"{path} is there already; --overwrite replaces it")
    scratch = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with os.fdopen(os.open(scratch, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as archive:
                manifest = _write(archive, with_secret_key=with_secret_key)
            file.flush()
            os.fsync(file.fileno())
        scratch.replace(path)
    except OSError as error:
        raise BackupRefused(f"{path} cannot be written: {error.strerror}") from None
    finally:
        scratch.unlink(missing_ok=True)
    return manifest


def _write(archive: zipfile.ZipFile, *, with_secret_key: bool) -> Manifest:
    with _one_moment() as alias:
        loader = MigrationLoader(connections[alias])
        applied = migrations_applied(loader)
        if not applied:
            raise BackupRefused("the database is empty: there is nothing to back up")
        try:
            last = last_of(loader, applied)
        except KeyError as unknown:
            raise BackupRefused(f"the database is of a newer version (it has the migration {unknown})") from None
        tables = {
            label: _write_table(archive, member_of(label), rows_of(table, alias))
            for label, table in tables_of(loader.project_state(last).apps).items()
        }
    files = {}
    if with_secret_key:
        archive.writestr(SECRET_KEY, settings.SECRET_KEY)
        files[SECRET_KEY] = Part(sha256=hashlib.sha256(settings.SECRET_KEY.encode()).hexdigest())
    manifest = Manifest(
        made_at=timezone.now(),
        database=connection.vendor,
        result_version=result_version(),
        django=django.get_version(),
        migrations=applied,
        secret_key_mark=key_mark(settings.SECRET_KEY),
        tables=tables,
        files=files,
    )
    archive.writestr(MANIFEST, manifest.model_dump_json(indent=1))
    return manifest


def _write_table(archive: zipfile.ZipFile, member: str, rows: Iterator[object]) -> Part:
    digest, count = hashlib.sha256(), 0
    with archive.open(member, "w", force_zip64=True) as file:
        for row in rows:
            line = json.dumps(row, separators=(",", ":")).encode() + b"\n"
            digest.update(line)
            file.write(line)
            count += 1
    return Part(sha256=digest.hexdigest(), rows=count)


@contextmanager
def _one_moment() -> Iterator[str]:
    """A connection of its own whose every question is answered as of one moment, while others write on."""
    own = connection.copy(SNAPSHOT)
    own.settings_dict = copy.deepcopy(own.settings_dict)
    if own.vendor == "sqlite":
        own.settings_dict["OPTIONS"]["transaction_mode"] = "DEFERRED"  # the usual one would stop all writers
    connections[SNAPSHOT] = own
    try:
        with transaction.atomic(using=SNAPSHOT):
            if own.vendor == "postgresql":
                with own.cursor() as cursor:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
            yield SNAPSHOT
    finally:
        own.close()
        del connections[SNAPSHOT]
