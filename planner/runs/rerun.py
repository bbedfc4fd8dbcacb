"""Whether a stored run still gives its bytes."""

from planner import planning
from planner.runs.models import Run, State


def newest_repeatable() -> Run | None:
    """The newest finished run by the present engine and catalog; other versions may answer otherwise."""
    done = Run.objects.filter(state=State.DONE, result_version=planning.result_version())
    return done.order_by("-finished_at", "pk").first()


def gives_the_same(run: Run) -> bool:
    """Computes the run anew, here and now, and compares with the stored report, byte by byte."""
    return planning.report_bytes(planning.plan(planning.parse_scenario(run.body))).decode() == run.report
