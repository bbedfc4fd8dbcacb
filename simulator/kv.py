"""Layer groups: which tokens' KV a sequence keeps in the pool."""

from dataclasses import dataclass

from simulator.checks import check_fields
from simulator.errors import SimulatorError, require_int

MAX_WINDOW_TOKENS = 2**30
MAX_TABLES = 64


@dataclass(frozen=True, slots=True)
class KvGroup:
    """Layers that keep the KV of the same tokens, in blocks of their own out of the one pool.

    window_tokens  a token attends to so many, itself included; None: to all before it
    pool_blocks    blocks of the pool that `block_size` tokens of the group take. Where a model has layers in the ratio
                   5 : 1, as many to a block, five blocks of the pool are one block of the greater group
    """

    window_tokens: int | None = None
    pool_blocks: int = 1

    def __post_init__(self) -> None:
        check_fields(self)
        if self.window_tokens is not None:
            window = require_int("window_tokens", self.window_tokens, 2, MAX_WINDOW_TOKENS)
            object.__setattr__(self, "window_tokens", window)
        object.__setattr__(self, "pool_blocks", require_int("pool_blocks", self.pool_blocks, 1, MAX_TABLES))


def most_blocks(tokens: int, window_tokens: int | None, block_size: int, step_tokens: int) -> int:
    """Most blocks that one table of a sequence of `tokens` tokens holds at a time, in steps of up to `step_tokens`.

    Behind a window blocks are freed before each step: what is held are the window before the step's first token, the
    tokens of the step, and one block more, as a window can begin inside a block.
    """
    blocks = -(-tokens // block_size)
    if window_tokens is None:
        return blocks
    return min(blocks, -(-(window_tokens - 1 + step_tokens) // block_size) + 1)


def check_groups(groups: tuple[KvGroup, ...]) -> None:
    """Raise SimulatorError unless there is at least one group, and few enough to keep tables of."""
    if not groups or not all(isinstance(group, KvGroup) for group in groups):
        raise SimulatorError("empty", "kv_groups", "needs at least one KvGroup")
    if sum(group.pool_blocks for group in groups) > MAX_TABLES:
        raise SimulatorError("too_large", "kv_groups", f"at most {MAX_TABLES} blocks of the pool for block_size tokens")
