"""A database and a broker with the product's own worker and reaper on them, and a look at the one run in it."""

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg

from tests.processes import WORKER, Process, environment, manage, started

LEASE_S = "2"
SUBMIT = """
from planner.runs.sample import sample_submit
from planner.teams.first_admin import first_admin
user, _ = first_admin(email="admin@localhost", password=None)
print("run", sample_submit(user=user).pk)
"""
CANCEL = """
from planner.runs.models import Run
from planner.runs.services import run_cancel
run_cancel(run=Run.objects.get())
"""


@dataclass(frozen=True)
class Row:
    state: str
    attempts: int
    progress_ratio: float
    failure: Any
    report: str


@dataclass(frozen=True)
class World:
    variables: dict[str, str]
    sqlite: Path
    postgres_url: str | None

    def submit(self) -> None:
        """Submits the sample, as `up` does."""
        manage(self.variables, "shell", "--verbosity", "0", "-c", SUBMIT)

    def cancel(self) -> None:
        manage(self.variables, "shell", "--verbosity", "0", "-c", CANCEL)

    def worker(self) -> contextlib.AbstractContextManager[Process]:
        return started(WORKER, self.variables)

    def reaper(self) -> contextlib.AbstractContextManager[Process]:
        return started(["manage.py", "reaper"], self.variables)

    def row(self) -> Row:
        """The run as the database has it, read past the product."""
        query = "SELECT state, attempts, progress_ratio, failure, report FROM runs_run"
        if self.postgres_url is not None:
            with psycopg.connect(self.postgres_url.replace("postgres://", "postgresql://")) as database:
                found: Any = database.execute(query).fetchone()
        else:
            with contextlib.closing(sqlite3.connect(self.sqlite, timeout=20)) as file:
                found = file.execute(query).fetchone()
        state, attempts, progress_ratio, failure, report = found
        failure = json.loads(failure) if isinstance(failure, str) else failure
        return Row(state, attempts, progress_ratio, failure, report)

    def is_running(self) -> bool:
        row = self.row()
        return row.state == "running" and row.progress_ratio > 0

    def is_over(self) -> bool:
        return self.row().state in ("done", "failed", "cancelled")


@contextlib.contextmanager
def world(folder: Path, *, broker_url: str | None = None, postgres_url: str | None = None) -> Iterator[World]:
    """Migrated and empty; short leases, so that a lost run comes back within seconds."""
    variables = environment(PLANNER_DATA_DIR=str(folder), PLANNER_LEASE_S=LEASE_S)
    if broker_url is not None:
        variables["PLANNER_BROKER_URL"] = broker_url
    if postgres_url is not None:
        variables["PLANNER_DATABASE_URL"] = postgres_url
    manage(variables, "migrate", "--verbosity", "0")
    yield World(variables, folder / "staircase.sqlite3", postgres_url)
