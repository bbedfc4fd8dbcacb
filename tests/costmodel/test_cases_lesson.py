"""The serving lesson's numbers on memory: paging against reserving the maximum length."""

from costmodel.memory.reservation import contiguous_reservation, paged_reservation

POOL = {"kv_pool_bytes": 40_000_000_000, "bytes_per_token": 131_072, "context_tokens": 600}


def test_reserving_the_maximum_length_leaves_most_memory_empty() -> None:
    held = contiguous_reservation(**POOL, max_model_len=4096)
    assert held.bytes_per_sequence == 536_870_912
    assert held.sequences == 74
    assert held.useful_ratio == 0.146484375


def test_paging_wastes_at_most_one_block() -> None:
    held = paged_reservation(**POOL, block_size=16)
    assert (held.blocks_per_sequence, held.tokens_held) == (38, 608)
    assert held.bytes_per_sequence == 79_691_776
    assert held.sequences == 501
    assert held.useful_ratio == 0.9868421052631579
    assert held.wasted_tokens_per_sequence == 8


def test_a_pool_of_4000_blocks_holds_15_slabs() -> None:
    assert (
        contiguous_reservation(
            kv_pool_bytes=4000 * 16, bytes_per_token=1, context_tokens=1, max_model_len=4096
        ).sequences
        == 15
    )
