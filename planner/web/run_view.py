"""What the page of a run says while it waits, works and when it has ended."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, Literal

from planner.reports import names
from planner.reports.evidence import CANDIDATE_COLUMNS, candidate_row
from planner.reports.numbers import usd
from planner.reports.parts import Row as TableRow
from planner.reports.parts import Table
from planner.runs.models import FINAL_STATES, Run, State

PATIENCE = timedelta(seconds=5)
LEAST_TO_TELL_RATIO = 0.05
"""Progress from which the rest of the time can be told by the time so far."""
Trouble = Literal["", "worker_down", "worker_silent", "waiting"]
Row = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Line:
    """Where a queued run stands: runs before it, seconds that the team's last runs took (least, most)."""

    before: int
    usual_s: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class RunView:
    """A run, ready to print. `said`: what a listener is told when it changes; `title`: that of the window."""

    final: bool
    trouble: Trouble
    candidates: Table
    done: int
    meeting: int
    best: str
    best_usd_per_month: float | None
    elapsed_s: int
    left_s: int | None
    line: Line
    title: str
    said: str


def run_view(run: Run, *, now: datetime, worker_answers: bool, line: Line) -> RunView:
    """Of a run and what is known around it. worker_answers is looked at only where the run waits."""
    rows: Sequence[Row] = run.partial if isinstance(run.partial, list) else []
    best = min((row for row in rows if row.get("usd_per_month")), key=_mid, default=None)
    ordered = sorted(rows, key=lambda row: (not row["feasible"], _mid(row) if row.get("usd_per_month") else 0.0))
    cheapest = best["id"] if best else None
    elapsed_s = max(0.0, ((run.finished_at or now) - (run.started_at or run.created_at)).total_seconds())
    return RunView(
        final=run.state in FINAL_STATES,
        trouble=_trouble(run, now, worker_answers),
        candidates=Table(
            "Candidates of this run", CANDIDATE_COLUMNS, tuple(_candidate(row, cheapest) for row in ordered)
        ),
        done=len(rows),
        meeting=sum(1 for row in rows if row["feasible"]),
        best=f"{best['gpus']} × {names.gpu_short(best['gpu'])}" if best else "",
        best_usd_per_month=_mid(best) if best else None,
        elapsed_s=int(elapsed_s),
        left_s=_left_s(run, elapsed_s),
        line=line,
        title=_title(run),
        said=_said(run, len(rows), best),
    )


def _candidate(row: Row, cheapest: str | None) -> TableRow:
    """The cheapest so far is marked; what is recommended is not known before the end."""
    shown = candidate_row(row)
    return replace(shown, kind="pick") if row["id"] == cheapest else shown


def _trouble(run: Run, now: datetime, worker_answers: bool) -> Trouble:
    if run.state == State.RUNNING and run.lease_until is not None and run.lease_until < now:
        return "worker_silent"
    if run.state != State.QUEUED or now - run.created_at <= PATIENCE:
        return ""
    return "waiting" if worker_answers else "worker_down"


def _left_s(run: Run, elapsed_s: float) -> int | None:
    """What is left, as if the rest went as fast as what was done; None where that says nothing."""
    ratio = run.progress_ratio
    if run.state != State.RUNNING or ratio < LEAST_TO_TELL_RATIO:
        return None
    return max(1, round(elapsed_s * (1 - ratio) / ratio))


def _title(run: Run) -> str:
    if run.state == State.RUNNING:
        return f"{run.progress_ratio * 100:.0f} %: {run.name}"
    return f"{State(run.state).label}: {run.name}"


def _said(run: Run, done: int, best: Row | None) -> str:
    """Changes with the state and with each candidate that is done, not with the seconds."""
    if run.state == State.DONE:
        return "The run is done. The report is ready."
    if run.state == State.RUNNING and done:
        found = f" The cheapest that meets the targets is at {usd(_mid(best))} a month." if best else ""
        return f"{done} candidates done.{found}"
    return f"The run is {State(run.state).label.lower()}."


def _mid(row: Row) -> float:
    return float(row["usd_per_month"]["mid"])
