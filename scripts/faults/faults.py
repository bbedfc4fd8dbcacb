"""One function a fault: it does the harm, says what the product told meanwhile, and ends the harm.

Each returns None, or what was wrong while it lasted.
"""

import contextlib
import gzip
import os
import random
import resource
import signal
import socket
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import psycopg

from scripts.faults.services import Redis, within
from scripts.faults.world import LEASE_S, WORKERS, World

Fault = Callable[[World, random.Random], str | None]
TOLD_WITHIN_S = 20.0
LASTS_S = 4.0
HOUR_S = 3600
PART_BYTES = 1 << 20


def worker_killed(world: World, dice: random.Random) -> str | None:
    """kill -9 of a worker with its processes."""
    name = dice.choice(WORKERS)
    world.kill(name)
    time.sleep(dice.uniform(0.2, 2.0))
    world.start(name)
    return None


def all_workers_killed(world: World, dice: random.Random) -> str | None:
    """kill -9 of all of them; /readyz must name the worker, and the page of a waiting run must say it."""
    for name in WORKERS:
        world.kill(name)
    wrong = _told(world, "worker")
    wrong = wrong or _page_says(world, "No worker answers")
    for name in WORKERS:
        world.start(name)
    return wrong


def worker_told_to_end(world: World, dice: random.Random) -> str | None:
    """SIGTERM: it finishes its run and ends, and the supervisor starts it again."""
    world.processes[dice.choice(WORKERS)].send(signal.SIGTERM)
    return None


def process_killed(world: World, dice: random.Random) -> str | None:
    """SIGKILL of one computing process, as the kernel does when memory is short."""
    for pid in world.pool_processes(dice.choice(WORKERS))[:1]:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    return None


def out_of_memory(world: World, dice: random.Random) -> str | None:
    """One computing process may take no more memory than it has: the next larger piece fails inside Python."""
    for pid in world.pool_processes(dice.choice(WORKERS))[:1]:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError, IndexError):
            pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
            limit = pages * resource.getpagesize()
            resource.prlimit(pid, resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
    time.sleep(LASTS_S)
    return None


def worker_frozen(world: World, dice: random.Random) -> str | None:
    """SIGSTOP of a worker and its processes until its lease has long ended, then SIGCONT."""
    pid = world.processes[dice.choice(WORKERS)].pid
    os.killpg(pid, signal.SIGSTOP)
    time.sleep(2.5 * LEASE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(pid, signal.SIGCONT)
    return None


def broker_restarted(world: World, dice: random.Random) -> str | None:
    """The broker is killed for a while and keeps what it keeps; with files: its folder is away for a while."""
    if world.broker is None:
        broker = world.data_dir / "broker"
        broker.rename(broker.with_name("broker.away"))
        time.sleep(LASTS_S)
        with contextlib.suppress(OSError):  # it was made again meanwhile: what was in it is lost, as if emptied
            broker.with_name("broker.away").rename(broker)
        return None
    world.broker.kill()
    wrong = _told(world, "broker")
    world.broker.start()
    return wrong


def broker_emptied(world: World, dice: random.Random) -> str | None:
    """All messages are gone, with the broker's memory of queues and bindings where it has one."""
    if world.broker is None:
        for path in sorted((world.data_dir / "broker").rglob("*"), reverse=True):
            with contextlib.suppress(OSError):
                path.rmdir() if path.is_dir() else path.unlink()
        return None
    world.broker.kill()
    world.broker.empty()
    time.sleep(1)
    world.broker.start()
    return None


def database_restarted(world: World, dice: random.Random) -> str | None:
    """kill -9 of the server in mid-work; with SQLite: another process holds the write lock for a while."""
    if world.database is None:
        _sqlite_locked(world, LASTS_S)
        return None
    world.database.kill()
    wrong = _told(world, "database")
    wrong = wrong or _page_says(world, "The database does not answer")
    world.database.start()
    return wrong


def connections_cut(world: World, dice: random.Random) -> str | None:
    """Every connection to the database ends at once, again and again for a second."""
    if world.database is None:
        _sqlite_locked(world, 1.0)
        return None
    cut = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND usename IS NOT NULL"
    for _ in range(5):
        with psycopg.connect(world.database.url.replace("postgres://", "postgresql://", 1), autocommit=True) as server:
            server.execute(cut)
        time.sleep(0.2)
    return None


def web_killed(world: World, dice: random.Random) -> str | None:
    """kill -9 of the web server while it takes the second part of a file; the upload goes on where it stood."""
    begun = world.ask("/api/v1/traces/uploads", method="POST", body={"name": f"upload {dice.random()}"})
    if begun is None or begun.status != 201:
        return None  # another fault's last breath; the next time will do
    link, trace = begun.json["link"], _trace(dice)
    half = len(trace) // 2
    _send_part(world, link, 1, trace[:half])
    _send_part(world, link, 2, trace[half:], kill_midway=True)
    time.sleep(0.5)
    world.start("web")
    if within(90, lambda: world.ready() != {}) is None:
        return "the web server did not come back"
    stands = world.ask(link)
    if stands is None or stands.status != 200 or stands.json["parts"] != 1:
        return f"after the kill the upload is {stands and stands.body[:200]!r}, not at part 1"
    _send_part(world, link, 2, trace[half:])
    kept = world.ask(f"{link}/confirm", method="POST", body={})
    if kept is None or kept.status not in (200, 201) or kept.json["requests"] != ROWS:
        return f"the file was not kept whole: {kept and kept.body[:300]!r}"
    return None


def disk_full(world: World, dice: random.Random) -> str | None:
    """The disk of database, broker files and logs is filled to the last byte for a while."""
    if world.disk is None:
        return "not tried: this user may not mount a small disk"
    filler = world.disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(1 << 20))
    with contextlib.suppress(OSError), (world.disk / "filler.rest").open("wb", buffering=0) as file:
        while True:
            file.write(bytes(512))
    time.sleep(2 * LASTS_S)
    filler.unlink()
    (world.disk / "filler.rest").unlink(missing_ok=True)
    if world.database is not None and not world.database.up():
        world.database.start()
    return None


def clock_an_hour_ahead(world: World, dice: random.Random) -> str | None:
    """The clock of all processes and of the database jumps forward an hour, and back after a while."""
    if world.clock is None:
        return "not tried: there is no C compiler"
    world.set_clock(HOUR_S)
    time.sleep(2 * LASTS_S)
    world.set_clock(0)
    return None


def clock_an_hour_back(world: World, dice: random.Random) -> str | None:
    """It jumps back an hour, so that what a worker holds seems to be held for an hour; then that worker dies."""
    if world.clock is None:
        return "not tried: there is no C compiler"
    world.set_clock(-HOUR_S)
    for name in WORKERS:
        world.kill(name)
    for name in WORKERS:
        world.start(name)
    time.sleep(2 * LASTS_S)
    world.set_clock(0)
    return None


FAULTS: Mapping[str, Fault] = {
    "worker SIGKILL": worker_killed,
    "all workers SIGKILL": all_workers_killed,
    "worker SIGTERM": worker_told_to_end,
    "process SIGKILL": process_killed,
    "out of memory": out_of_memory,
    "worker SIGSTOP past its lease": worker_frozen,
    "broker restarted": broker_restarted,
    "broker emptied": broker_emptied,
    "database restarted": database_restarted,
    "connections cut": connections_cut,
    "web killed in mid-upload": web_killed,
    "disk full": disk_full,
    "clock +1 h": clock_an_hour_ahead,
    "clock -1 h": clock_an_hour_back,
}


def _told(world: World, part: str) -> str | None:
    """/readyz must say within a while that this part is down."""
    if within(TOLD_WITHIN_S, lambda: world.ready().get(part) == "down") is None:
        return f"/readyz did not say within {TOLD_WITHIN_S:.0f} s that the {part} is down: {world.ready()}"
    return None


def _page_says(world: World, words: str) -> str | None:
    """The page of a run that waits must say so; None too where nothing waits."""
    rows = world.ask("/api/v1/runs?state=queued")
    waiting = rows.json["items"] if rows is not None and rows.status == 200 else []
    path = f"/runs/{waiting[-1]['id']}/" if waiting else "/scenarios/"
    if not waiting and "worker" in words:
        return None
    if within(TOLD_WITHIN_S, lambda: words in world.page(path)) is None:
        return f"the page did not say {words!r}: {world.page(path)[:200]!r}"
    return None


def _sqlite_locked(world: World, seconds: float) -> None:
    import sqlite3

    with contextlib.closing(sqlite3.connect(world.data_dir / "staircase.sqlite3", timeout=20)) as file:
        file.execute("BEGIN IMMEDIATE")
        time.sleep(seconds)
        file.rollback()


ROWS = 2000


def _trace(dice: random.Random) -> bytes:
    rows = (f"{number * 0.5:.3f},{dice.randint(10, 900)},{dice.randint(1, 300)}" for number in range(ROWS))
    return gzip.compress("\n".join(["timestamp_s,prompt_tokens,output_tokens", *rows, ""]).encode(), mtime=0)


def _send_part(world: World, link: str, number: int, data: bytes, *, kill_midway: bool = False) -> None:
    head = (
        f"POST {link}/parts?number={number} HTTP/1.1\r\nHost: 127.0.0.1:{world.port}\r\nConnection: close\r\n"
        f"Authorization: Bearer {world.tokens[0]}\r\nContent-Type: application/octet-stream\r\n"
        f"Content-Length: {len(data)}\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", world.port), timeout=30) as connection:
        connection.sendall(head.encode() + data[: len(data) // 2])
        if kill_midway:
            time.sleep(0.3)
            world.kill("web")
            return
        connection.sendall(data[len(data) // 2 :])
        with contextlib.suppress(OSError):
            while connection.recv(65536):
                pass


def broker_messages(world: World) -> int:
    """Messages that still wait for workers."""
    if world.broker is None:
        folder = world.data_dir / "broker" / "queues" / "celery"
        return len(list(folder.iterdir())) if folder.is_dir() else 0
    if isinstance(world.broker, Redis):
        import redis

        client = redis.Redis(port=world.broker.port)
        return int(client.llen("celery")) + int(client.hlen("unacked"))
    from kombu import Connection

    with Connection(world.broker.url) as connection:
        channel: Any = connection.channel()
        return int(channel.queue_declare("celery", passive=True).message_count)
