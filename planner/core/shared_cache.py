"""A cache that the web processes of one machine share: one SQLite file of its own, apart from the database.

Counts are exact across processes, which Django's file and database caches do not promise, and a write costs some tens
of microseconds. Nothing in it is precious: the file is not synced to the disk, and what is lost is computed again. So a
file that is locked, full or broken is no failure either: then nothing is kept, and nothing is found.
"""

import logging
import os
import sqlite3
import threading
import time
from pathlib import Path
from typing import Any

from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

BUSY_S = 0.5
"""Longest wait for another's write; an answer waits for several of them, and a write takes microseconds."""
CULL_EVERY = 200
_SCHEMA = "create table if not exists kept (key text primary key, value, ends_s real) without rowid"

logger = logging.getLogger(__name__)


class SharedFile:
    """One SQLite file, made with its table when it is first used, that threads and processes write to at once."""

    def __init__(self, path: Path, schema: str) -> None:
        self.path = path
        self._schema = schema
        self._here = threading.local()

    def rows(self, statement: str, values: tuple[Any, ...] = ()) -> list[Any]:
        """What the statement returns; nothing where the file cannot be used. A value that it cannot hold raises."""
        try:
            return self._connection().execute(statement, values).fetchall()
        except (sqlite3.ProgrammingError, sqlite3.InterfaceError):
            raise
        except (sqlite3.Error, OSError) as error:
            logger.warning("the cache %s was not used: %s", self.path.name, error)
            return []

    def _connection(self) -> sqlite3.Connection:
        """A connection for each thread and process: SQLite's do not survive a fork."""
        known: tuple[int, sqlite3.Connection] | None = getattr(self._here, "file", None)
        if known is not None and known[0] == os.getpid():
            return known[1]
        self.path.parent.mkdir(parents=True, exist_ok=True)
        file = sqlite3.connect(self.path, timeout=BUSY_S, isolation_level=None)
        for line in ("pragma journal_mode = wal", "pragma synchronous = off", self._schema):
            file.execute(line)
        self._here.file = (os.getpid(), file)
        return file


class SharedCache(BaseCache):
    """Values are whole numbers or bytes. LOCATION: the file; MAX_ENTRIES: above it those that end first go."""

    def __init__(self, location: str | Path, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._file = SharedFile(Path(location), _SCHEMA)
        self._writes = 0

    def add(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        now_s = time.time()
        statement = (
            "insert into kept values (?, ?, ?) on conflict (key) do update set value = excluded.value, "
            "ends_s = excluded.ends_s where ends_s <= ? returning 1"
        )
        return bool(self._write(statement, (self._key(key, version), value, self._ends_s(timeout), now_s)))

    def get(self, key: Any, default: Any = None, version: int | None = None) -> Any:
        question = "select value from kept where key = ? and ends_s > ?"
        found = self._file.rows(question, (self._key(key, version), time.time()))
        return found[0][0] if found else default

    def set(self, key: Any, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        statement = "insert or replace into kept values (?, ?, ?)"
        self._write(statement, (self._key(key, version), value, self._ends_s(timeout)))

    def touch(self, key: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> bool:
        statement = "update kept set ends_s = ? where key = ? and ends_s > ? returning 1"
        return bool(self._write(statement, (self._ends_s(timeout), self._key(key, version), time.time())))

    def incr(self, key: Any, delta: int = 1, version: int | None = None) -> int:
        statement = "update kept set value = value + ? where key = ? and ends_s > ? returning value"
        found = self._write(statement, (delta, self._key(key, version), time.time()))
        if not found:
            raise ValueError(f"{key} is not kept")
        return int(found[0][0])

    def delete(self, key: Any, version: int | None = None) -> bool:
        return bool(self._write("delete from kept where key = ? returning 1", (self._key(key, version),)))

    def clear(self) -> None:
        self._write("delete from kept", ())

    def _key(self, key: Any, version: int | None) -> str:
        return str(self.make_and_validate_key(key, version=version))

    def _ends_s(self, timeout: Any) -> float:
        ends_s = self.get_backend_timeout(timeout)
        return float("inf") if ends_s is None else float(ends_s)

    def _write(self, statement: str, values: tuple[Any, ...]) -> list[Any]:
        rows = self._file.rows(statement, values)
        self._writes += 1
        if self._writes % CULL_EVERY == 1:
            self._cull()
        return rows

    def _cull(self) -> None:
        """Now and then: what has ended goes, and where too many are left, those that end first."""
        self._file.rows("delete from kept where ends_s <= ?", (time.time(),))
        count = sum(number for (number,) in self._file.rows("select count(*) from kept"))
        if count > self._max_entries:
            too_many = count - self._max_entries * 3 // 4
            order = "select key from kept order by ends_s limit ?"
            self._file.rows(f"delete from kept where key in ({order})", (too_many,))  # noqa: S608 - a constant
