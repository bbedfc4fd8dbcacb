"""When measurements are set beside their predictions again: asked for, or as what they name has changed."""

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from planner.celery import wake_worker
from planner.datasets.jobs import JobState
from planner.datasets.messages import COMPARE
from planner.datasets.models import CatalogEntry, EntryKind, Measurement
from planner.teams.audit import record
from planner.teams.models import User

_NAMED_BY = {EntryKind.MODEL: "model", EntryKind.ACCELERATOR: "gpu"}
"""The column of a measurement that an entry's name stands in; prices are no part of a measurement."""


@transaction.atomic
def comparison_again(*, measurement: Measurement, actor: User | None) -> Measurement:
    """A worker computes the comparison anew, with the catalog entries and the calibration of today. One that waits
    already waits on."""
    row = Measurement.objects.select_for_update().get(pk=measurement.pk)
    if row.state == JobState.WAITING:
        return row
    _wait(Q(pk=row.pk))
    record(team=row.team, actor=actor, action="measurement.compared_again", thing=row)
    row.refresh_from_db()
    return row


def comparisons_after(entry: CatalogEntry) -> None:
    """Comparisons of what was made on an entry of the team's own, which was saved or deleted just now: again.

    Within the caller's transaction. A worker that computes one with the entry as it was loses its lease.
    """
    column = _NAMED_BY.get(EntryKind(entry.kind))
    if column is not None:
        _wait(Q(team=entry.team_id, **{f"{column}__iexact": entry.name}))


def _wait(which: Q) -> None:
    rows = Measurement.objects.filter(which)
    keys = list(rows.values_list("pk", flat=True))
    rows.update(
        state=JobState.WAITING, attempts=0, due_at=Now(), lease_token="", lease_until=None, failure="",
        comparison=None, outside=None,
    )  # fmt: skip

    def wake() -> None:
        for key in keys:
            if not wake_worker(COMPARE, key):
                return  # the broker is away; the reaper sends it again

    transaction.on_commit(wake)
