"""A tournament over numbered keys: the smallest key, the lowest number on a tie, in a few steps per change.

A tree of L leaves (a power of two) at offset `tree`: m[tree] is L, then 2 L winners (the parent of node i is i >> 1,
leaf n is node L + n, node 1 is the whole), then L keys. Unused leaves have the key FAR_PS.
"""

from simulator.kernels.compile import kernel
from simulator.steptime import IntArray


def tree_words(leaves: int) -> int:
    """Words that a tree of `leaves` numbers takes."""
    return 1 + 3 * (1 << (leaves - 1).bit_length())


@kernel
def tree_key(m: IntArray, tree: int, number: int) -> int:
    return int(m[tree + 1 + 2 * m[tree] + number])


@kernel
def tree_top(m: IntArray, tree: int) -> int:
    """The number that wins."""
    return int(m[tree + 2])


@kernel
def tree_set(m: IntArray, tree: int, number: int, key: int) -> None:
    """Give `number` the key."""
    leaves = m[tree]
    winners, keys = tree + 1, tree + 1 + 2 * leaves
    m[keys + number] = key
    node, best = leaves + number, number
    while node > 1:
        other = m[winners + (node ^ 1)]
        other_key, best_key = m[keys + other], m[keys + best]
        if other_key < best_key or (other_key == best_key and other < best):
            best = other
        node >>= 1
        if m[winners + node] == best and best != number:
            break  # the winner and its key are as they were, here and above
        m[winners + node] = best
