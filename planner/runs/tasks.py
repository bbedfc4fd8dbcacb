"""What workers listen to."""

from celery import shared_task

from planner.runs.execution import execute
from planner.runs.messages import EXECUTE
from planner.runs.turns import take_turn


@shared_task(name=EXECUTE)
def execute_run(run_id: str) -> None:
    """Works on the run whose turn it is, which need not be the one that the message was sent for: there are as many
    messages as runs that wait, or more. A doubled or late one does nothing where nothing waits."""
    lease = take_turn()
    if lease is not None:
        execute(lease)
