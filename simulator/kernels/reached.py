"""The list of replicas that may begin a step at this instant."""

from simulator.kernels.compile import kernel
from simulator.kernels.plain import rare
from simulator.kernels.state import GANG, LEADER, LISTED, NUMBER, REACHED, REACHED_COUNT
from simulator.steptime import IntArray


@kernel
def list_reached(m: IntArray, rep: int) -> None:
    """The replica may begin a step at this instant; gangs are told by their first engine."""
    if rare(m, rep + GANG) != 0:
        rep = m[rare(m, rep + GANG) + LEADER]
    if m[rep + LISTED] == 0:
        m[rep + LISTED] = 1
        m[m[REACHED] + m[REACHED_COUNT]] = rep
        m[REACHED_COUNT] += 1


@kernel
def order_reached(m: IntArray) -> None:
    """Put them in order, where one that begins takes a link before the next does: most stand so already."""
    first = m[REACHED]
    for place in range(first + 1, first + m[REACHED_COUNT]):
        rep, before = m[place], place - 1
        while before >= first and m[m[before] + NUMBER] > m[rep + NUMBER]:
            m[before + 1] = m[before]
            before -= 1
        m[before + 1] = rep
