"""What a sequence holds in a KV pool: its maximum length in one piece, or blocks on demand."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Reservation:
    """One sequence's share of a pool. `useful_ratio` is the part of what it holds that carries tokens."""

    blocks_per_sequence: int
    tokens_held: int
    bytes_per_sequence: int
    sequences: int
    useful_ratio: float
    wasted_tokens_per_sequence: int


def paged_reservation(*, kv_pool_bytes: int, bytes_per_token: int, context_tokens: int, block_size: int) -> Reservation:
    """Blocks on demand: ceil(context / block) blocks each, so at most one partly filled block is wasted."""
    blocks = -(-context_tokens // block_size)
    return _reservation(kv_pool_bytes, bytes_per_token, context_tokens, blocks * block_size, blocks)


def contiguous_reservation(
    *, kv_pool_bytes: int, bytes_per_token: int, context_tokens: int, max_model_len: int
) -> Reservation:
    """The maximum length reserved for each sequence: what most of them never fill."""
    return _reservation(kv_pool_bytes, bytes_per_token, context_tokens, max_model_len, 1)


def _reservation(pool: int, per_token: int, context: int, held: int, blocks: int) -> Reservation:
    if min(pool, per_token, context, held) < 1 or context > held:
        raise ValueError("sizes must be at least 1, and a context must fit into what is reserved for it")
    return Reservation(
        blocks_per_sequence=blocks,
        tokens_held=held,
        bytes_per_sequence=held * per_token,
        sequences=pool // (held * per_token),
        useful_ratio=context / held,
        wasted_tokens_per_sequence=held - context,
    )
