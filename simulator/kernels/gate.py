"""Caps on tenants at the fleet's gate, as `simulator.reference.gate`.

m[TENANTS] is a table of one record per tenant, by the number in the column TENANT. The tree HELD_TREE tells which
tenant with room has held the request with the lowest number.
"""

from typing import Final

from simulator.kernels.compile import kernel
from simulator.kernels.runs import Int32Array
from simulator.kernels.state import FAR_PS, HELD_TREE, HOLDS, NONE, TENANT, TENANTS
from simulator.kernels.tree import tree_key, tree_set, tree_top
from simulator.kernels.waiting import FIRST, pop_front, push_back
from simulator.kernels.waiting import LENGTH as LINE_LENGTH
from simulator.steptime import IntArray

INSIDE: Final = 0  # requests let in that have not ended
CAP: Final = 1
HELD_LINE: Final = 2  # line of those held: three words
TENANT_SIZE: Final = 5


@kernel
def _record(m: IntArray, tenant: int) -> int:
    return int(m[TENANTS] + TENANT_SIZE * tenant)


@kernel
def _show_held(m: IntArray, tenant: int) -> None:
    """The tenant's place in the tree, when its line or its room has changed."""
    record, first = _record(m, tenant), FAR_PS
    if m[record + HELD_LINE + LINE_LENGTH] > 0 and m[record + INSIDE] < m[record + CAP]:
        first = m[record + HELD_LINE + FIRST]
    tree_set(m, m[HELD_TREE], tenant, first)


@kernel
def lets_in(m: IntArray, counts: Int32Array, request: int) -> bool:
    """Let the request in, if its tenant has room: then nobody of it is held."""
    record = _record(m, int(counts[TENANT, request]))
    if m[record + INSIDE] >= m[record + CAP]:
        return False
    m[record + INSIDE] += 1
    return True


@kernel
def hold_at_gate(m: IntArray, counts: Int32Array, request: int) -> None:
    """Keep a request whose tenant has no room."""
    push_back(m, counts, _record(m, int(counts[TENANT, request])) + HELD_LINE, request)


@kernel
def next_held(m: IntArray, counts: Int32Array) -> int:
    """Let in the first held request, by number, whose tenant has room again; NONE: there is none."""
    tenant = tree_top(m, m[HELD_TREE])
    if tree_key(m, m[HELD_TREE], tenant) == FAR_PS:
        return NONE
    request = pop_front(m, counts, _record(m, tenant) + HELD_LINE)
    m[_record(m, tenant) + INSIDE] += 1
    _show_held(m, tenant)
    return request


@kernel
def leave_gate(m: IntArray, counts: Int32Array, request: int) -> None:
    """A request that was let in has ended."""
    if m[TENANTS] == 0:
        return
    tenant = int(counts[TENANT, request])
    m[_record(m, tenant) + INSIDE] -= 1
    if m[HOLDS] > 0:
        _show_held(m, tenant)
