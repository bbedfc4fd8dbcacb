"""kill -9 of a worker in mid-run costs seconds, not the run: on every broker and database."""

import contextlib
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from planner import planning
from planner.core.pool_guard import WORKER_UNUSABLE
from tests.jobs.world import World, world
from tests.processes import wait_for
from tests.services import postgres_database, rabbitmq_vhost, redis_server


@contextlib.contextmanager
def on_files(folder: Path) -> Iterator[World]:
    with world(folder) as made:
        yield made


@contextlib.contextmanager
def on_redis(folder: Path) -> Iterator[World]:
    with redis_server(folder) as broker_url, world(folder, broker_url=broker_url) as made:
        yield made


@contextlib.contextmanager
def on_rabbitmq_and_postgres(folder: Path) -> Iterator[World]:
    with (
        rabbitmq_vhost() as broker_url,
        postgres_database() as postgres_url,
        world(folder, broker_url=broker_url, postgres_url=postgres_url) as made,
    ):
        yield made


def children_of(pid: int) -> list[int]:
    """Process ids whose parent is `pid`, from the fourth field of /proc's stat."""
    stats = [path.read_text().rpartition(")") for path in Path("/proc").glob("[0-9]*/stat") if path.exists()]
    return [int(head.split()[0]) for head, _, tail in stats if int(tail.split()[1]) == pid]


@pytest.fixture(scope="module")
def sample_report() -> str:
    """The sample's report, computed here without any job."""
    return planning.report_bytes(planning.plan(planning.parse_scenario(planning.sample_scenario()))).decode()


@pytest.mark.parametrize(
    "services",
    [
        pytest.param(on_files, id="files-sqlite"),
        pytest.param(on_redis, id="redis-sqlite", marks=pytest.mark.redis),
        pytest.param(
            on_rabbitmq_and_postgres, id="rabbitmq-postgres", marks=[pytest.mark.rabbitmq, pytest.mark.postgres]
        ),
    ],
)
def test_a_killed_worker_loses_nothing(
    services: Callable[[Path], AbstractContextManager[World]], tmp_path: Path, sample_report: str
) -> None:
    with services(tmp_path) as made, made.reaper():
        made.submit()
        with made.worker() as first:
            wait_for("the run is under way", made.is_running, 120)
            first.kill_group()
        assert made.row().state == "running"
        with made.worker():
            wait_for("the run is over", made.is_over, 120)
        row = made.row()
        assert (row.state, row.attempts, row.failure) == ("done", 2, None)
        assert row.report == sample_report


def test_a_process_killed_while_it_waits_for_work_does_not_block_the_others(tmp_path: Path) -> None:
    """It held the lock of the queue that they share: the worker ends itself, and the next one works."""
    with world(tmp_path) as made:
        with made.worker() as worker:
            worker.wait_for_line(r"ready\.$", 120)
            for pid in children_of(worker.pid):
                os.kill(pid, signal.SIGKILL)
            assert worker.wait() == WORKER_UNUSABLE
        made.submit()
        with made.worker():
            wait_for("the run is over", made.is_over, 120)
        assert made.row().state == "done"


def test_a_run_cancelled_while_its_worker_was_dead_ends_cancelled(tmp_path: Path) -> None:
    with world(tmp_path) as made:
        made.submit()
        with made.worker() as worker:
            wait_for("the run is under way", made.is_running, 120)
            worker.kill_group()
        made.cancel()
        with made.reaper():
            wait_for("the run is over", made.is_over, 30)
        row = made.row()
        assert (row.state, row.attempts, row.report) == ("cancelled", 1, "")
