"""Clients that ask for runs until each is accepted, a receiver of webhooks, and a look at the rows past the product."""

import hashlib
import http.server
import json
import sqlite3
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

import psycopg

from scripts.faults.world import LEASE_S, World
from tests.processes import http as ask

WHOLE_EVERY = 5
"""Every fifth run simulates four fleets (0.7 s of a core); the others end at the first look (0.02 s)."""
CLIENTS = 4
WAITING_AT_MOST = 60
FINAL = ("done", "failed", "cancelled")
SILENT_FOR_S = LEASE_S + 20


def scenario(number: int) -> Mapping[str, Any]:
    """A small scenario; its number is its seed, so that no two share a result."""
    whole = number % WHOLE_EVERY == 0
    lengths = {"prompt_tokens": {"kind": "fixed", "tokens": 100}, "output_tokens": {"kind": "fixed", "tokens": 20}}
    return {
        "name": f"Fault run {number}",
        "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
        "hardware": {"gpus": ["H100-SXM5-80GB"]},
        "traffic": {"arrival": {"kind": "poisson", "mean_rps": 1.0}, **lengths},
        "slo": {"ttft_p95_ms": 5000 if whole else 6},
        "engine": {"name": "vllm", "max_model_len": 2048},
        "priced_at": "2026-11-30",
        "seed": number + 1,
    }


@dataclass
class Clients:
    """Ask for `wanted` runs, each with a key of its own, again and again until each is accepted."""

    world: World
    wanted: int
    accepted: dict[int, str] = field(default_factory=dict)
    refusals: Counter[str] = field(default_factory=Counter)
    _next: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def run(self, pause: threading.Event, watch: "Watch") -> None:
        """Until all are accepted. `pause` set: nothing new is asked for."""
        threads = [threading.Thread(target=self._ask, args=(pause, watch), daemon=True) for _ in range(CLIENTS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _ask(self, pause: threading.Event, watch: "Watch") -> None:
        while True:
            while pause.is_set() or watch.waiting > WAITING_AT_MOST:
                time.sleep(0.2)
            with self._lock:
                number, self._next = self._next, self._next + 1
            if number >= self.wanted:
                return
            self.accepted[number] = self._until_accepted(number)

    def _until_accepted(self, number: int) -> str:
        while True:
            answer = self._post(number)
            if answer is not None:
                return answer
            time.sleep(0.5)

    def _post(self, number: int) -> str | None:
        token = self.world.tokens[number % len(self.world.tokens)]
        headers = {"Idempotency-Key": f"fault-{number}"}
        try:
            answer = ask(
                f"{self.world.address}/api/v1/runs", method="POST", body=scenario(number), token=token, more=headers
            )
        except (OSError, ValueError, TimeoutError) as error:
            self.refusals[type(error).__name__] += 1
            return None
        except Exception as error:  # what http.client makes of an answer that was cut off
            self.refusals[type(error).__name__] += 1
            return None
        if answer.status != 202:
            self.refusals[str(answer.status)] += 1
            return None
        return str(answer.json["id"])


class Receiver:
    """Notes the deliveries that arrive, by their ids and by the runs they tell of."""

    def __init__(self) -> None:
        told = self.told = {}  # type: dict[str, set[str]]

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                run = body["data"]["run"]["id"]
                told.setdefault(run, set()).add(f"{body['type']} {self.headers['Webhook-Id']}")
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = int(self._server.server_address[1])
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@dataclass(frozen=True)
class Row:
    id: str
    state: str
    attempts: int
    resends: int
    report_sha256: str
    finished_at: str
    failure: Any
    lease_until: str


class Rows:
    """The rows of runs as the database has them."""

    def __init__(self, world: World) -> None:
        self._world = world

    def ask(self, query: str, *values: object) -> Sequence[tuple[Any, ...]]:
        """Read past the product. Raises sqlite3.Error or psycopg.Error while it is away."""
        if self._world.database is None:
            with closing(sqlite3.connect(self._world.data_dir / "staircase.sqlite3", timeout=20)) as file:
                return file.execute(query.replace("%s", "?"), values).fetchall()
        url = self._world.database.url.replace("postgres://", "postgresql://", 1)
        with psycopg.connect(url, connect_timeout=5) as database:
            return database.execute(query, values).fetchall()

    def runs(self) -> Mapping[str, Row]:
        found = self.ask("SELECT id, state, attempts, resends, report, finished_at, failure, lease_until FROM runs_run")
        return {
            plain_id(run): Row(plain_id(run), state, attempts, resends, _sha256(report), str(end), failure, str(lease))
            for run, state, attempts, resends, report, end, failure, lease in found
        }

    def states(self) -> Mapping[str, str]:
        return {plain_id(run): state for run, state in self.ask("SELECT id, state FROM runs_run")}


def plain_id(value: object) -> str:
    return str(value).replace("-", "")


def _sha256(report: str) -> str:
    return hashlib.sha256(report.encode()).hexdigest() if report else ""


@dataclass
class Watch:
    """Looks at all rows twice a second: what ended stays as it is, and what runs is held by someone."""

    rows: Rows
    waiting: int = 0
    ended: dict[str, Row] = field(default_factory=dict)
    changed_after_end: set[str] = field(default_factory=set)
    silent_since_s: dict[tuple[str, str], float] = field(default_factory=dict)
    silent: set[str] = field(default_factory=set)
    away: int = 0

    def run(self, stop: threading.Event) -> None:
        while not stop.wait(0.5):
            try:
                self.look()
            except (sqlite3.Error, psycopg.Error, OSError):
                self.away += 1

    def look(self) -> Mapping[str, Row]:
        runs, now_s = self.rows.runs(), time.monotonic()
        self.waiting = sum(1 for row in runs.values() if row.state not in FINAL)
        for key, row in runs.items():
            if key in self.ended and self.ended[key] != row:
                self.changed_after_end.add(key)
            if row.state in FINAL:
                self.ended.setdefault(key, row)
        held = {(key, row.lease_until) for key, row in runs.items() if row.state == "running"}
        self.silent_since_s = {each: self.silent_since_s.get(each, now_s) for each in held}
        self.silent |= {key for (key, _), since_s in self.silent_since_s.items() if now_s - since_s > SILENT_FOR_S}
        return runs
