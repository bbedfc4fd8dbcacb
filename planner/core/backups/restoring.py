"""Bringing a backup back: into an empty database, or in place of what is there."""

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import DatabaseError, connection, transaction
from django.db.migrations.exceptions import BadMigrationError, InconsistentMigrationHistory
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader

from planner.core.backups.archive import Archive, BackupRefused, key_mark
from planner.core.backups.rows import (
    ROWS_AT_A_TIME,
    Count,
    Table,
    columns_of,
    last_of,
    migrations_applied,
    parameters,
    rows_of,
    tables_of,
)
from planner.core.ownership import AlreadyRunning, own

HISTORY = "django_migrations"


@dataclass(frozen=True, slots=True)
class Restored:
    rows: int
    tables: int
    key: str
    """What became of the signing key, as a sentence."""


def backup_restore(archive: Archive, *, overwrite: bool) -> Restored:
    """Makes the tables as they were, fills them, reads every row back, then migrates to the present version. It is done
    whole or not at all: PostgreSQL in one transaction, SQLite in a file of its own that takes the other's place.

    BackupRefused: the database is not empty and may not be replaced, the backup is of a newer version, `up` runs here,
    or the engine does not take a row.
    """
    place = _sqlite_file if connection.vendor == "sqlite" else _postgres_transaction
    with place(overwrite=overwrite):
        rows = _load(archive)
    return Restored(rows=rows, tables=len(archive.manifest.tables), key=_bring_key(archive))


def _load(archive: Archive) -> int:
    executor = MigrationExecutor(connection)
    try:
        last = last_of(executor.loader, archive.manifest.migrations)
    except KeyError as unknown:
        raise BackupRefused(f"the backup is of a newer version (it has the migration {unknown})") from None
    executor.migrate(last)
    tables = tables_of(executor.loader.project_state(last).apps)
    if tables.keys() != archive.manifest.tables.keys():
        strange = min(tables.keys() ^ archive.manifest.tables.keys())
        raise BackupRefused(f"the backup and its migrations do not agree on the table {strange}")
    with transaction.atomic():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:  # rows come table by table; migrations set some to be checked at once
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
        for table in tables.values():  # what migrations put there
            table._base_manager.all()._raw_delete(connection.alias)
        brought = {label: _fill(archive, label, table) for label, table in tables.items()}
        connection.check_constraints()
        for label, table in tables.items():
            _read_back(label, table, brought[label])
        with connection.cursor() as cursor:
            for line in connection.ops.sequence_reset_sql(no_style(), list(tables.values())):
                cursor.execute(line)
    call_command("migrate", verbosity=0, interactive=False)
    return sum(count.rows for count in brought.values())


def _fill(archive: Archive, label: str, table: Table) -> Count:
    columns, quote = columns_of(table), connection.ops.quote_name
    names = ", ".join(quote(str(column.column)) for column in columns)
    places = ", ".join(["%s"] * len(columns))
    statement = f"INSERT INTO {quote(table._meta.db_table)} ({names}) VALUES ({places})"  # noqa: S608 - our own names
    count = Count()
    waiting: list[list[Any]] = []
    try:
        with connection.cursor() as cursor:
            for row in archive.rows(label):
                count.add(row)
                waiting.append(parameters(columns, row, connection))
                if len(waiting) == ROWS_AT_A_TIME:
                    cursor.executemany(statement, waiting)
                    waiting.clear()
            if waiting:
                cursor.executemany(statement, waiting)
    except (DatabaseError, ValidationError, ValueError) as error:
        first = str(error).strip().partition("\n")[0]
        raise BackupRefused(f"{label}, within the {ROWS_AT_A_TIME} rows up to {count.rows}: {first}") from None
    return count


def _read_back(label: str, table: Table, brought: Count) -> None:
    there = Count()
    for row in rows_of(table, connection.alias):
        there.add(row)
    if there != brought:
        raise BackupRefused(f"{label}: the database answers with other rows than it was given")


@contextlib.contextmanager
def _postgres_transaction(*, overwrite: bool) -> Iterator[None]:
    with transaction.atomic():
        there = set(connection.introspection.table_names())
        ours = there & {HISTORY, *(table._meta.db_table for table in _tables_there())}
        if ours and not overwrite:
            raise BackupRefused(f"the database has tables already, {min(ours)} among them; --overwrite replaces them")
        with connection.cursor() as cursor:
            if ours:
                names = ", ".join(connection.ops.quote_name(name) for name in sorted(ours))
                cursor.execute(f"DROP TABLE {names} CASCADE")
            yield


def _tables_there() -> list[Table]:
    """The tables of whichever version the database is of, with those that backups leave out."""
    loader = MigrationLoader(connection)
    try:
        state = loader.project_state(last_of(loader, migrations_applied(loader)))
    except (KeyError, BadMigrationError, InconsistentMigrationHistory):
        raise BackupRefused("the database is of a newer version than this code, which leaves it alone") from None
    return list(state.apps.get_models(include_auto_created=True))


@contextlib.contextmanager
def _sqlite_file(*, overwrite: bool) -> Iterator[None]:
    path = Path(connection.settings_dict["NAME"])
    try:
        lock = own(settings.DATA_DIR)
    except AlreadyRunning as taken:
        raise BackupRefused(f"stop it first: it is running on {settings.DATA_DIR} ({taken})") from None
    with lock:
        connection.close()
        if _has_tables(path) and not overwrite:
            raise BackupRefused(f"{path} has tables already; --overwrite replaces them")
        scratch = path.with_name(f"{path.name}.restoring")
        _remove(scratch)
        connection.settings_dict["NAME"] = scratch
        try:
            yield
            connection.close()
            _settle(scratch)
            _settle(path)
            os.replace(scratch, path)
        finally:
            connection.close()
            connection.settings_dict["NAME"] = path
            _remove(scratch)


def _has_tables(path: Path) -> bool:
    if not path.exists() or path.stat().st_size == 0:
        return False
    with contextlib.closing(sqlite3.connect(path)) as file:
        try:
            return bool(file.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])
        except sqlite3.DatabaseError:  # no database, or a damaged one: something that somebody may want
            return True


def _settle(path: Path) -> None:
    """What the write-ahead log holds goes into the file, and the log goes. BackupRefused: someone has the file open,
    and would write on into what takes its place."""
    if not path.exists():
        return
    with contextlib.closing(sqlite3.connect(path, timeout=2)) as file:
        try:
            file.execute("PRAGMA journal_mode = DELETE")  # SQLite grants it to the only connection there is
        except sqlite3.OperationalError:
            raise BackupRefused(f"{path} is in use: stop every process on it first") from None
        except sqlite3.DatabaseError:  # damaged, or never a database: nothing in it can be kept
            _remove(path)


def _remove(path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)


def _bring_key(archive: Archive) -> str:
    """A key that came along takes the place of the one in the data folder, whose signatures end with its database."""
    given = settings.ENV.secret_key is not None
    key = archive.secret_key()
    if key is not None and not given:
        path = settings.DATA_DIR / "secret_key"
        scratch = path.with_suffix(".restoring")
        scratch.touch(mode=0o600)
        scratch.write_text(key)
        scratch.replace(path)
        return "The signing key came along and is in use from the next start."
    if key_mark(settings.SECRET_KEY) == archive.manifest.secret_key_mark:
        return "The signing key is the one that was in use."
    where = "PLANNER_SECRET_KEY" if given else f"{settings.DATA_DIR / 'secret_key'}"
    return (
        f"The signing key ({where}) is another than was in use: webhooks sign with other secrets, and people sign in "
        f"again, until the former one is put there."
    )
