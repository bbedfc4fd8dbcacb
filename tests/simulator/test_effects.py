"""What a setting of the engine or the fleet does to a run, in direction and size."""

from dataclasses import replace

import numpy as np
import pytest

from simulator import EngineConfig, Fleet, PrefixReuse, Transfer, Workload, linear_step_time, prefix_reuse, simulate
from simulator.traffic import mooncake_conversation, with_front_token
from tests.simulator.fleets import pool_of, run_fleet, workload_of


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("size", [2, 8, 32])
def test_a_sequence_wastes_half_a_block_on_average(engine: str, size: int) -> None:
    # With lengths spread over many blocks, the last block of each is full to any degree alike: 0 to size - 1 are free.
    rng = np.random.default_rng(3)
    rows = [(0, int(prompt), int(output)) for prompt, output in rng.integers(1, 200, (120, 2))]
    roomy = {"max_num_seqs": 120, "max_num_batched_tokens": 30_000, "num_blocks": 25_000, "max_model_len": 400}
    log = run_fleet(engine, Fleet((pool_of(block_size=size, **roomy),)), workload_of(rows))
    free_slots = (log.kv_block_ps * size - log.kv_token_ps) / log.seat_ps
    assert free_slots == pytest.approx((size - 1) / 2, rel=0.05)


@pytest.mark.parametrize(("budget", "steps", "step_ps"), [(11, 6, 210), (31, 2, 410)])
def test_a_larger_budget_brings_first_tokens_sooner_and_gaps_longer(
    engine: str, budget: int, steps: int, step_ps: int
) -> None:
    # While one decodes, a prompt of 60 gets the rest of the budget in each step of 100 + 10 a token.
    fleet = Fleet((pool_of(token_ps=10, max_num_batched_tokens=budget, max_model_len=200),))
    log = run_fleet(engine, fleet, workload_of([(0, 1, 30), (110, 60, 2)]))
    assert log.first_token_ps.tolist() == [110, 110 + steps * step_ps]
    assert log.itl_upper_ps.max() == step_ps


@pytest.mark.parametrize(("stranger", "found"), [(24, 4), (28, 0)])
def test_the_cache_forgets_what_was_used_longest_ago_and_a_chain_s_tail_first(
    engine: str, stranger: int, found: int
) -> None:
    # Ten blocks of 4; prompts of 9 tokens, 8 of them shared. The first group is used again before a stranger takes six
    # or seven blocks: four that hold nothing, then the second group's last one, its second, and its first.
    groups = {"prefix_group": [0, 1, 0, -1, 1], "prefix_tokens": [8, 8, 8, 0, 8]}
    rows = [(1000 * number, prompt, 1) for number, prompt in enumerate([9, 9, 9, stranger, 9])]
    fleet = Fleet((pool_of(num_blocks=10, enable_prefix_caching=True),))
    assert run_fleet(engine, fleet, workload_of(rows, **groups)).cached_tokens.tolist() == [0, 0, 8, 0, found]
    first_again = groups | {"prefix_group": [0, 1, 0, -1, 0]}
    assert run_fleet(engine, fleet, workload_of(rows, **first_again)).cached_tokens.tolist() == [0, 0, 8, 0, 8]


def test_unequal_accelerators_need_weights_that_tell_their_speed(engine: str) -> None:
    # A request takes 100 on one and 300 on the other; one every 94 loads both to 0.8 if three of four go to the first.
    rows = [(94 * number, 1, 1) for number in range(200)]

    def waits(weight: int) -> np.ndarray:
        pools = (pool_of(max_num_seqs=1, pool={"weight": weight}), pool_of(max_num_seqs=1, base_ps=300))
        log = run_fleet(engine, Fleet(pools), workload_of(rows))
        assert (log.replica == 0).mean() == weight / (weight + 1)
        return log.admitted_ps - log.arrival_ps

    assert waits(3).max() < 300
    # In turns, the second gets one every 188: each of its hundred requests waits 112 longer than the one before.
    assert waits(1).max() == 99 * (300 - 188)


def test_prefill_and_decode_may_run_on_unequal_accelerators(engine: str) -> None:
    for prefill_ps, decode_ps in [(300, 100), (100, 300)]:
        prompts, outputs = pool_of(base_ps=prefill_ps), pool_of(base_ps=decode_ps)
        pools = (replace(prompts, role="prefill"), replace(outputs, role="decode"))
        log = run_fleet(engine, Fleet(pools, transfer=Transfer(token_ps=10)), workload_of([(0, 10, 4)]))
        assert log.first_token_ps.tolist() == [prefill_ps]
        assert log.finish_ps.tolist() == [prefill_ps + 100 + 3 * decode_ps]


def test_recorded_conversations_are_found_as_far_as_the_pool_reaches() -> None:
    workload = mooncake_conversation(150)

    def run(num_blocks: int, sent: Workload = workload) -> PrefixReuse:
        config = EngineConfig(
            max_num_seqs=64, max_num_batched_tokens=8192, num_blocks=num_blocks, max_model_len=131_072, block_size=512,
            enable_prefix_caching=True,
        )  # fmt: skip
        times = linear_step_time(config, step_ps=10**9, prefill_token_ps=10**6)
        return prefix_reuse(sent, simulate(config, times, sent), 512)

    roomy, short = run(20_000), run(600)
    assert roomy.evicted_tokens == 0
    assert roomy.cached_tokens > 0.9 * roomy.shared_tokens > 0
    assert short.evicted_tokens > 0
    assert short.cached_tokens < 0.8 * roomy.cached_tokens
    apart = run(20_000, with_front_token(workload))
    assert (apart.cached_tokens, apart.front_differs_tokens) == (0, roomy.shared_tokens)
