"""The list of replicas that may begin a step at this instant."""

from simulator.kernels.compile import kernel
from simulator.kernels.state import GANG, LEADER, LISTED, REACHED, REACHED_COUNT
from simulator.steptime import IntArray


@kernel
def list_reached(m: IntArray, rep: int) -> None:
    """The replica may begin a step at this instant; gangs are told by their first engine."""
    if m[rep + GANG] != 0:
        rep = m[m[rep + GANG] + LEADER]
    if m[rep + LISTED] == 0:
        m[rep + LISTED] = 1
        m[m[REACHED] + m[REACHED_COUNT]] = rep
        m[REACHED_COUNT] += 1
