"""`fields=a,b`: which columns an answer has, in the order asked for."""

from collections.abc import Sequence

from planner.api.problems import INVALID_PARAMETER, ApiProblem
from planner.api.wire import Fault
from planner.planning.errors import show


def chosen_fields(text: str | None, known: Sequence[str], *, pointer: str = "?fields") -> tuple[str, ...]:
    """The names in `text`, separated by commas; all of `known` without it.

    ApiProblem 400 with each name that is unknown, empty or given twice.
    """
    if text is None:
        return tuple(known)
    names = [name.strip() for name in text.split(",")]
    faults = [_fault(name, known, pointer) for name in dict.fromkeys(names) if name not in known]
    faults += [
        Fault(code="repeated_field", pointer=pointer, given=show(name), allowed="once", detail="It is given twice.")
        for name in dict.fromkeys(names)
        if names.count(name) > 1 and name in known
    ]
    if faults:
        raise ApiProblem(INVALID_PARAMETER, "The selection of fields is not accepted.", errors=faults)
    return tuple(names)


def _fault(name: str, known: Sequence[str], pointer: str) -> Fault:
    return Fault(
        code="unknown_choice",
        pointer=pointer,
        given=show(name),
        allowed=", ".join(known),
        detail="This answer has no such field.",
    )
