"""The pool of KV blocks and the content that it keeps, as the reference engine uses them."""

from collections import OrderedDict, defaultdict
from collections.abc import Iterable

Key = tuple[int, int]
NOWHERE = -1


class BlockPool:
    """Blocks with reference counts; free ones stand in a queue, the next to be taken first.

    A free block keeps its content, and can be hit, until it is taken for something else. Blocks are freed to the end of
    the queue, a request's last block before its first: least recently used first, a chain's tail before its head.
    NOWHERE stands in lists of blocks for one that is not held. Blocks that were never taken stand before all others, by
    number: only how many of them are left is kept, so that a pool takes the memory of what has been used of it.
    """

    def __init__(self, num_blocks: int) -> None:
        self.num_blocks = num_blocks
        self.shared = 0
        self._first_untaken = 0
        self._freed: OrderedDict[int, None] = OrderedDict()
        self._references: defaultdict[int, int] = defaultdict(int)
        self._key_of: dict[int, Key] = {}
        self._block_of: dict[Key, int] = {}
        self._begun: dict[Key, tuple[int, int]] = {}
        self._beginning_of: dict[int, Key] = {}

    @property
    def free(self) -> int:
        """Blocks that nobody holds (cached ones included: they can be taken)."""
        return self.num_blocks - self._first_untaken + len(self._freed)

    @property
    def used(self) -> int:
        return self._first_untaken - len(self._freed)

    def find(self, key: Key) -> int:
        """The block that holds this content, NOWHERE if none does."""
        return self._block_of.get(key, NOWHERE)

    def unreferenced(self, blocks: Iterable[int]) -> int:
        """How many of these blocks stand in the free queue, so that holding them takes from it."""
        return sum(block != NOWHERE and self._references[block] == 0 for block in blocks)

    def hold(self, blocks: Iterable[int]) -> None:
        """One more reference for each block."""
        for block in blocks:
            if block == NOWHERE:
                continue
            if self._references[block] == 0:
                del self._freed[block]
            else:
                self.shared += 1
            self._references[block] += 1

    def take(self, count: int) -> list[int]:
        """`count` blocks from the head of the free queue; their old content is lost. The caller has checked `free`."""
        fresh = min(count, self.num_blocks - self._first_untaken)
        taken = [*range(self._first_untaken, self._first_untaken + fresh)]
        self._first_untaken += fresh
        taken += [self._freed.popitem(last=False)[0] for _ in range(count - fresh)]
        for block in taken:
            self._forget(block)
            self._forget_beginning(block)
            self._references[block] = 1
        return taken

    def release(self, blocks: list[int]) -> None:
        """Give up one reference of each of a request's blocks (in chain order), the tail first."""
        for block in reversed(blocks):
            if block == NOWHERE:
                continue
            self._references[block] -= 1
            if self._references[block] == 0:
                self._freed[block] = None
            else:
                self.shared -= 1

    def publish(self, block: int, key: Key) -> None:
        """From now on a lookup of `key` finds `block`, full and computed: the newest copy of a content counts."""
        older = self._block_of.get(key)
        if older is not None:
            self._forget(older)
        self._forget(block)
        self._block_of[key] = block
        self._key_of[block] = key

    def beginning(self, key: Key, block_size: int) -> int:
        """How many tokens of this content some block begins with: all, if it is published whole."""
        return block_size if key in self._block_of else self._begun.get(key, (NOWHERE, 0))[1]

    def begin(self, block: int, key: Key, tokens: int) -> None:
        """`block` begins with `tokens` tokens of this content: kept is the block with most, the newest of equals."""
        older, most = self._begun.get(key, (NOWHERE, 0))
        if most > tokens:
            return
        self._forget_beginning(older)
        self._forget_beginning(block)
        self._begun[key] = (block, tokens)
        self._beginning_of[block] = key

    def _forget_beginning(self, block: int) -> None:
        key = self._beginning_of.pop(block, None)
        if key is not None:
            del self._begun[key]

    def _forget(self, block: int) -> None:
        key = self._key_of.pop(block, None)
        if key is not None:
            del self._block_of[key]
