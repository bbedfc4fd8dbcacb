"""Whether a stored run still gives its bytes."""

from planner import planning
from planner.prices.in_force import book_of, prices_in_force
from planner.runs.models import Run, State


def newest_repeatable() -> Run | None:
    """The newest finished run by the present engine and catalog; other versions may answer otherwise."""
    with prices_in_force():
        present = planning.result_version()
    done = Run.objects.filter(state=State.DONE, result_version=present)
    return done.order_by("-finished_at", "pk").first()


def gives_the_same(run: Run) -> bool:
    """Computes the run anew, here and now, and compares with the stored report, byte by byte."""
    with planning.using_prices(book_of(run.result_version)):
        return planning.report_bytes(planning.plan(planning.parse_scenario(run.body))).decode() == run.report
