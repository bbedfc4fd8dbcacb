"""What a worker does with a run it claimed: plan, keep the lease meanwhile, write the one result."""

import contextlib
import logging
import threading
import uuid
from collections.abc import Iterator, Sequence
from time import monotonic
from types import TracebackType
from typing import Any

from billiard.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db import Error, connection, transaction

from planner import planning
from planner.core.context import run_id, team_id
from planner.prices.in_force import book_of
from planner.runs import leases
from planner.runs.leases import Lease
from planner.runs.models import RequestPart, Run

PROGRESS_INTERVAL_S = 0.25
ENDED_FOR_MEMORY = 71
"""Exit code of a process that found too little memory."""

logger = logging.getLogger(__name__)


class Renewal:
    """Renews a lease from a thread of its own while the engine computes, which may not call back for seconds.

    `kept` turns False for good when the run was cancelled, taken over or deleted.
    """

    def __init__(self, lease: Lease) -> None:
        self.kept = True
        self._lease = lease
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"renew-{lease.run_id}", daemon=True)

    def __enter__(self) -> "Renewal":
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        self._done.set()
        self._thread.join()

    def _run(self) -> None:
        try:
            while self.kept and not self._done.wait(settings.RUN_LEASE_S / 4):
                try:
                    self.kept = leases.renew(self._lease)
                except Error as error:  # try again: the lease outlives three missed renewals
                    logger.warning("run %s: lease not renewed (%s)", self._lease.run_id, type(error).__name__)
        finally:
            connection.close()  # connections belong to threads


class ProgressWriter:
    """The engine's callback: stores progress at most four times a second and says whether to go on."""

    def __init__(self, lease: Lease, renewal: Renewal) -> None:
        self._lease = lease
        self._renewal = renewal
        self._next_s = 0.0

    def __call__(self, progress: Any) -> bool:
        now_s = monotonic()
        if self._renewal.kept and now_s >= self._next_s:
            self._next_s = now_s + PROGRESS_INTERVAL_S
            self._renewal.kept = leases.report_progress(
                self._lease,
                progress_ratio=progress.fraction_ratio,
                stage=progress.stage,
                partial=list(progress.candidates),
            )
        return self._renewal.kept


def execute(lease: Lease) -> None:
    """Computes the run's report and writes it, or the reason why there is none. The prices are those that it was asked
    of, whatever was approved since."""
    body, team, version = Run.objects.values_list("body", "team_id", "result_version").get(pk=lease.run_id)
    logs: list[planning.RequestLog] = []
    with _named_in_logs(lease, team), _failures_recorded(lease), Renewal(lease) as renewal:
        progress = ProgressWriter(lease, renewal)
        with planning.using_prices(book_of(version)):
            report = planning.plan(planning.parse_scenario(body), on_progress=progress, on_requests=logs.append)
        if not _finish(lease, planning.report_bytes(report).decode(), logs):
            logger.warning("run %s: finished, but no longer ours", lease.run_id)


@transaction.atomic
def _finish(lease: Lease, report: str, logs: Sequence[planning.RequestLog]) -> bool:
    """Report and requests together, or neither."""
    if not leases.finish(lease, report):
        return False
    for log in logs:
        for number, (requests, data) in enumerate(log.parts()):
            RequestPart.objects.create(run_id=lease.run_id, number=number, requests=requests, data=data)
    return True


@contextlib.contextmanager
def _named_in_logs(lease: Lease, team: uuid.UUID) -> Iterator[None]:
    run, acts_for = run_id.set(str(lease.run_id)), team_id.set(str(team))
    try:
        yield
    finally:
        run_id.reset(run)
        team_id.reset(acts_for)


@contextlib.contextmanager
def _failures_recorded(lease: Lease) -> Iterator[None]:
    """Readers get a code and a sentence; the traceback goes to the log only."""
    try:
        yield
    except planning.PlanCancelled:
        leases.stop(lease)
    except planning.ScenarioInvalid as error:
        leases.fail(lease, code="scenario_invalid", detail=str(error))
    except SoftTimeLimitExceeded:
        minutes = settings.CELERY_TASK_SOFT_TIME_LIMIT // 60
        leases.fail(lease, code="time_limit", detail=f"The run took longer than {minutes} minutes and was stopped.")
    except MemoryError:
        # This process may not get well again, and another may have room: it ends, and the lease brings the run back.
        logger.critical("run %s: out of memory; this process ends", lease.run_id)
        leases.end_short_of_memory(lease)
        raise SystemExit(ENDED_FOR_MEMORY) from None
    except Error:
        raise  # nothing can be recorded now: the lease runs out and the run is tried again
    except Exception:
        logger.exception("run %s failed", lease.run_id)
        detail = f"Something went wrong inside the planner; the log has it under run {lease.run_id}."
        leases.fail(lease, code="internal_error", detail=detail)
