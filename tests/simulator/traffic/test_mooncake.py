"""The recorded conversation trace: whole, and content that begins anew where it is repeated."""

import numpy as np
import pytest

from simulator import SimulatorError, shareable_tokens
from simulator.traffic import mooncake_conversation


def test_the_trace_is_whole() -> None:
    workload = mooncake_conversation(12_031)
    hashes = workload.block_hashes
    assert hashes is not None
    assert (len(workload), hashes.ids.size, int(hashes.ids.max()) + 1) == (12_031, 288_500, 182_790)
    assert (workload.prompt_tokens[:2].tolist(), workload.output_tokens[:2].tolist()) == ([6758, 7322], [500, 490])
    assert hashes.ids[:16].tolist() == [*range(14), 0, 14]
    assert workload.arrival_ps[-1] == 3_536_999 * 10**9
    # 36.6 % of the blocks have occurred before (https://arxiv.org/abs/2407.00079 tells of such traces).
    assert (shareable_tokens(workload) // 512).sum() / hashes.ids.size == pytest.approx(0.366, abs=0.0005)


def test_it_begins_anew_with_other_content() -> None:
    once, more = mooncake_conversation(12_031), mooncake_conversation(12_100)
    assert (more.arrival_ps[12_031:] - more.arrival_ps[12_031]).tolist() == once.arrival_ps[:69].tolist()
    assert (np.diff(more.arrival_ps) >= 0).all()
    assert shareable_tokens(more)[12_031:].tolist() == shareable_tokens(once)[:69].tolist()


def test_a_part_is_the_beginning() -> None:
    part, whole = mooncake_conversation(100), mooncake_conversation(12_031)
    assert part.block_hashes is not None
    assert whole.block_hashes is not None
    assert part.prompt_tokens.tolist() == whole.prompt_tokens[:100].tolist()
    assert part.block_hashes.ids.tolist() == whole.block_hashes.part(0, 100).ids.tolist()
    with pytest.raises(SimulatorError):
        mooncake_conversation(0)
