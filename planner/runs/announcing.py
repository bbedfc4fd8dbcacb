"""Tells webhooks that runs ended. Looked for in the table, so that it does not matter which way a run ended."""

import json
from functools import partial
from typing import Any

from django.db import transaction

from planner.runs.models import FINAL_STATES, Run, State
from planner.webhooks.models import Event
from planner.webhooks.services import event_record

AT_ONCE = 100
_EVENTS = {State.DONE: Event.RUN_DONE, State.FAILED: Event.RUN_FAILED, State.CANCELLED: Event.RUN_CANCELLED}


def announce_ended() -> int:
    """Records an event for each run that ended since the last look; returns how many runs. Each is told once, however
    many reapers look."""
    ended = Run.objects.filter(announced=False, state__in=FINAL_STATES).defer("body", "report", "partial")
    rows = list(ended.order_by("finished_at")[:AT_ONCE])
    for run in rows:
        with transaction.atomic():
            if Run.objects.filter(pk=run.pk, announced=False).update(announced=True):
                event_record(team_id=run.team_id, event=_EVENTS[State(run.state)], data=partial(_told, run))
    return len(rows)


def _told(run: Run) -> dict[str, Any]:
    """Paths, as the API has them; the verdict's sentence of a run that is done."""
    path = f"/api/v1/runs/{run.pk}"
    verdict = json.loads(run.report)["verdict"] if run.state == State.DONE else None
    return {
        "run": {
            "id": str(run.pk),
            "name": run.name,
            "state": run.state,
            "failure": run.failure,
            "verdict": verdict and {"sentence": verdict["sentence"], "choice": verdict["choice"]},
            "finished_at": run.finished_at and run.finished_at.isoformat().replace("+00:00", "Z"),
            "links": {"self": path, "report": f"{path}/report" if verdict else None},
        }
    }
