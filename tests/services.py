"""Real services for tests: each test session gets a Redis, a RabbitMQ vhost and a PostgreSQL database of its own."""

import contextlib
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

import psycopg
import pytest

POSTGRES_URL = os.environ.get("PLANNER_TEST_POSTGRES_URL", "postgresql://postgres@127.0.0.1:5432/postgres")
RABBITMQ_PORT = 5672


def missing(reason: str) -> NoReturn:
    """Skips with the reason; where CI=true nothing may be missing, so there it fails."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason} (CI=true, so nothing may be missing)", pytrace=False)
    pytest.skip(reason)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def listens(port: int) -> bool:
    with socket.socket() as probe:
        probe.settimeout(1)
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextlib.contextmanager
def redis_server(folder: Path) -> Iterator[str]:
    """A Redis of our own on a free port; yields its URL."""
    binary = shutil.which("redis-server")
    if binary is None:
        missing("redis-server is not installed")
    port = free_port()
    command = [binary, "--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(folder)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    try:
        deadline_s = time.monotonic() + 20
        while not listens(port):
            assert time.monotonic() < deadline_s, "Redis did not start"
            time.sleep(0.05)
        yield f"redis://127.0.0.1:{port}/0"
    finally:
        server.terminate()
        server.wait(20)


@contextlib.contextmanager
def rabbitmq_vhost() -> Iterator[str]:
    """A virtual host of our own on the local RabbitMQ; yields its URL."""
    control = shutil.which("rabbitmqctl")
    if control is None or not listens(RABBITMQ_PORT):
        missing(f"no RabbitMQ on port {RABBITMQ_PORT}, or no rabbitmqctl")
    name = f"staircase-test-{secrets.token_hex(4)}"

    def run(*words: str) -> None:
        done = subprocess.run([control, *words], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode != 0:
            missing(f"rabbitmqctl {words[0]} failed: {done.stderr.strip() or done.stdout.strip()}")

    run("add_vhost", name)
    try:
        run("set_permissions", "-p", name, "guest", ".*", ".*", ".*")
        yield f"amqp://guest:guest@127.0.0.1:{RABBITMQ_PORT}/{name}"
    finally:
        run("delete_vhost", name)


@contextlib.contextmanager
def postgres_database() -> Iterator[str]:
    """An empty database of our own on the local PostgreSQL; yields its URL."""
    name = f"staircase_test_{secrets.token_hex(4)}"
    try:
        server = psycopg.connect(POSTGRES_URL, autocommit=True, connect_timeout=5)
    except psycopg.OperationalError as error:
        missing(f"no PostgreSQL: {error}")
    with server:
        server.execute(f'CREATE DATABASE "{name}"')
        try:
            yield urlsplit(POSTGRES_URL)._replace(scheme="postgres", path=f"/{name}").geturl()
        finally:
            server.execute(f'DROP DATABASE "{name}" WITH (FORCE)')
    server.close()
