"""When a request's time has passed. Rules: `simulator.admission`."""

from simulator.admission import Admission
from simulator.records import DEADLINE, NEVER, NO_REASON, REJECTED, TIMED_OUT
from simulator.reference.requests import Request


def due_ps(admission: Admission, request: Request) -> int | None:
    """The last instant at which the request may still wait (or run, once it was admitted); None without end."""
    ends = []
    if admission.timeout_ps is not None:
        ends.append(request.arrival_ps + admission.timeout_ps)
    if admission.deadlines and request.admitted_ps == NEVER:
        ends.append(request.arrival_ps + request.deadline_ps)
    if request.leaves_ps is not None:
        ends.append(request.leaves_ps)
    return min(ends, default=None)


def expiry(admission: Admission, request: Request, now_ps: int) -> tuple[int, int] | None:
    """(Outcome, reason) of a request whose time has passed: the deadline goes before the timeout."""
    if admission.deadlines and request.admitted_ps == NEVER and now_ps > request.arrival_ps + request.deadline_ps:
        return REJECTED, DEADLINE
    if admission.timeout_ps is not None and now_ps > request.arrival_ps + admission.timeout_ps:
        return TIMED_OUT, NO_REASON
    if request.leaves_ps is not None and now_ps > request.leaves_ps:
        return TIMED_OUT, NO_REASON
    return None
