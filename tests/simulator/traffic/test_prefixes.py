"""What prompts share."""

import numpy as np
import pytest

from simulator import BlockHashes, EngineConfig, SimulatorError, Workload, linear_step_time, simulate
from simulator.traffic import (
    PrefixLayer,
    as_block_hashes,
    layered_prefix,
    merge_workloads,
    shared_prefix,
    with_front_token,
    zipf_shares,
)


def rng() -> np.random.Generator:
    return np.random.default_rng(5)


def cached(workload: Workload, block_size: int = 16) -> list[int]:
    """Tokens of each request found in the cache of an engine that serves them one after another."""
    config = EngineConfig(
        max_num_seqs=4,
        max_num_batched_tokens=8192,
        num_blocks=4000,
        max_model_len=8192,
        block_size=block_size,
        enable_prefix_caching=True,
    )
    log = simulate(config, linear_step_time(config, step_ps=1000), workload, engine="reference")
    return log.cached_tokens.tolist()


def spaced(prompt_tokens: list[int], **columns: object) -> Workload:
    count = len(prompt_tokens)
    return Workload(np.arange(count) * 10**9, np.array(prompt_tokens), np.full(count, 3), **columns)  # type: ignore[arg-type]


def test_zipf_shares_by_hand() -> None:
    assert zipf_shares(3, 1.0).tolist() == pytest.approx([6 / 11, 3 / 11, 2 / 11])
    assert zipf_shares(4, 0.0).tolist() == [0.25] * 4


def test_popular_groups_come_more_often() -> None:
    group, _ = shared_prefix(100_000, 3, 64, rng(), exponent=1.0)
    assert np.bincount(group) / 100_000 == pytest.approx([6 / 11, 3 / 11, 2 / 11], abs=0.01)


def test_layers_by_hand() -> None:
    """40 tokens alike, then 24 in two versions, in blocks of 16: blocks 0 and 1 are common, 2 and 3 the version's."""
    prompts = np.full(200, 80)
    hashes = layered_prefix(prompts, [PrefixLayer(40), PrefixLayer(24, choices=2)], rng())
    rows = {tuple(row) for row in hashes.ids.reshape(200, 4).tolist()}
    assert len(rows) == 2
    (first, second) = rows
    assert first[:2] == second[:2]
    assert not set(first[2:]) & set(second[2:])


def test_versions_of_a_later_layer_belong_to_those_of_the_earlier() -> None:
    hashes = layered_prefix(np.full(2000, 64), [PrefixLayer(16, 3), PrefixLayer(16, 4)], rng())
    rows = {tuple(row) for row in hashes.ids.reshape(2000, 2).tolist()}
    assert len(rows) == 12
    assert len({row[0] for row in rows}) == 3
    assert len({row[1] for row in rows}) == 12
    assert not {row[0] for row in rows} & {row[1] for row in rows}


def test_the_engine_finds_the_layers() -> None:
    hashes = layered_prefix(np.full(3, 80), [PrefixLayer(40), PrefixLayer(24)], rng())
    assert cached(spaced([80, 80, 80], block_hashes=hashes)) == [0, 64, 64]


def test_a_token_in_front_kills_every_hit() -> None:
    group, tokens = shared_prefix(3, 1, 64, rng())
    workload = spaced([80, 80, 80], prefix_group=group, prefix_tokens=tokens)
    assert cached(workload) == [0, 64, 64]
    assert cached(with_front_token(workload)) == [0, 0, 0]
    assert with_front_token(workload).prompt_tokens.tolist() == [81, 81, 81]


@pytest.mark.parametrize("size", [8, 16])
def test_groups_as_hashes_are_found_alike(size: int) -> None:
    group, tokens = np.array([0, 1, -1, 0, 1]), np.array([64, 33, 0, 40, 33])
    workload = spaced([80, 80, 80, 80, 80], prefix_group=group, prefix_tokens=tokens)
    assert cached(as_block_hashes(workload, size), size) == cached(workload, size)


def test_recorded_blocks_in_parts_are_found_alike() -> None:
    hashes = BlockHashes(np.array([0, 3, 5, 8]), np.array([0, 1, 2, 0, 1, 0, 1, 9]), 64)
    workload = spaced([150, 100, 170], block_hashes=hashes)
    assert cached(workload) == [0, 96, 128]
    assert cached(as_block_hashes(workload, 32)) == [0, 96, 128]


def test_groups_and_hashes_merge_once_they_speak_alike() -> None:
    group, tokens = shared_prefix(2, 1, 64, rng())
    grouped = spaced([80, 80], prefix_group=group, prefix_tokens=tokens)
    layered = spaced([80, 80], block_hashes=layered_prefix(np.full(2, 80), [PrefixLayer(48)], rng()))
    assert cached(merge_workloads(as_block_hashes(grouped, 16), layered)) == [0, 0, 64, 48]


@pytest.mark.parametrize(
    ("layers", "prompt", "code"),
    [
        ([], 80, "empty"),
        ([PrefixLayer(81)], 80, "prefix_too_long"),
        ([PrefixLayer(0)], 80, "too_small"),
        ([PrefixLayer(16, choices=0)], 80, "too_small"),
        ([PrefixLayer(16, exponent=-1.0)], 80, "too_small"),
    ],
)
def test_bad_layers_are_refused(layers: list[PrefixLayer], prompt: int, code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        layered_prefix(np.full(2, prompt), layers, rng())
    assert caught.value.code == code


def test_parts_must_divide_recorded_blocks() -> None:
    workload = spaced([80], block_hashes=BlockHashes(np.array([0, 1]), np.array([4]), 64))
    with pytest.raises(SimulatorError) as caught:
        as_block_hashes(workload, 48)
    assert caught.value.code == "incompatible"
