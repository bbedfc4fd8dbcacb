"""`/healthz`: the process answers. `/readyz`: database, broker and a worker answer too, or those asked for."""

import threading
import time

from django.db import DatabaseError, InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, JsonResponse

from planner.celery import app

WORKER_ANSWERS_WITHIN_S = 1
WORKER_ASKED_EVERY_S = 2.0
DATABASE_AWAY = (OperationalError, InterfaceError)
"""What a query raises while the database is down, starting, locked for long or out of disk."""
ASK_AGAIN_S = 5


def healthz(request: HttpRequest) -> HttpResponse:
    """Alive."""
    return JsonResponse({"status": "ok"})


def readyz(request: HttpRequest) -> HttpResponse:
    """Ready to take runs: 200, or 503 with what is down. Body: `{"status", "database", "broker", "worker"}`.

    `?of=database` asks for that alone: whether pages can be answered, which say themselves when no worker is there.
    """
    parts = {"database": _database_answers()}
    if request.GET.get("of") != "database":
        parts |= _probe.look()
    status = "ok" if all(parts.values()) else "unavailable"
    body = {"status": status} | {name: "ok" if up else "down" for name, up in parts.items()}
    response = JsonResponse(body, status=200 if status == "ok" else 503)
    response["Cache-Control"] = "no-store"
    return response


def _database_answers() -> bool:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError:
        return False
    return True


def ask_workers() -> dict[str, bool]:
    """Asks all workers to answer and returns at the first one that does."""
    try:
        with app.connection_for_write() as broker:
            broker.ensure_connection(max_retries=1, timeout=WORKER_ANSWERS_WITHIN_S)
            answers = app.control.ping(timeout=WORKER_ANSWERS_WITHIN_S, limit=1, connection=broker)
    except Exception:  # refused, unreachable, not allowed: each broker has its own errors
        return {"broker": False, "worker": False}
    return {"broker": True, "worker": bool(answers)}


class _WorkerProbe:
    """Remembers the last answer for two seconds, so that anyone may ask as often as they like."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._seen: dict[str, bool] = {}
        self._until_s = 0.0

    def look(self) -> dict[str, bool]:
        with self._lock:
            if time.monotonic() >= self._until_s:
                self._seen = ask_workers()
                self._until_s = time.monotonic() + WORKER_ASKED_EVERY_S
            return self._seen


_probe = _WorkerProbe()


def worker_answers() -> bool:
    """True when a worker answered within the last two seconds, for pages that explain a wait."""
    return _probe.look()["worker"]
