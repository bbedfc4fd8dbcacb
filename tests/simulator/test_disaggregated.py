"""Prefill and decode pools: small runs worked out by hand, and what disaggregation changes, on both engines."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import (
    Admission,
    Autoscaling,
    Fleet,
    Pool,
    SimulatorError,
    Summary,
    Transfer,
    Workload,
    fixed_tokens,
    kv_token_ps,
    poisson_arrivals_ps,
    summarise,
)
from simulator.records import FINISHED, TIMED_OUT, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL, UNFINISHED
from tests.simulator.fleets import pool_of, run_fleet, workload_of
from tests.simulator.logs import MS


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def prefill(replicas: int = 1, **config: Any) -> Pool:
    return pool_of(replicas, pool={"role": "prefill"}, **config)


def decode(replicas: int = 1, **config: Any) -> Pool:
    return pool_of(replicas, pool={"role": "decode"}, **config)


def fleet(*pools: Pool, **transfer: Any) -> Fleet:
    """Steps take 100 ps; a token's KV takes 10 ps and comes 7 ps later."""
    return Fleet(pools or (prefill(), decode()), transfer=Transfer(**({"token_ps": 10, "latency_ps": 7} | transfer)))


def test_kv_of_160_kib_a_token_takes_3_microseconds_at_50_gb_per_s() -> None:
    assert kv_token_ps(bytes_per_token=160 * 1024, bytes_per_s=50e9) == 3_276_800


def test_kv_follows_the_prompt_and_decoding_follows_the_kv(engine: str) -> None:
    log = run_fleet(engine, fleet(), workload_of([(0, 10, 4)]))
    # Prompt to 100; 10 tokens x 10 ps + 7 ps; three steps of 100 on the decode replica.
    assert log.first_token_ps.tolist() == [100]
    assert log.transfer_ps.tolist() == [107]
    assert log.finish_ps.tolist() == [100 + 107 + 300]
    assert (log.prefill_replica.tolist(), log.replica.tolist()) == ([0], [1])
    assert [totals.prefill_tokens for totals in log.replicas] == [10, 0]
    # The gap to the second token holds the transfer; the others are steps.
    assert dict(zip(log.itl_upper_ps.tolist(), log.itl_count.tolist(), strict=True)) == {207: 1, 100: 2}


def test_the_decode_replica_may_emit_the_first_token(engine: str) -> None:
    log = run_fleet(engine, fleet(first_output="decode"), workload_of([(0, 10, 3), (1000, 10, 1)]))
    # It computes the prompt's last token again, so that the first token comes a step after the KV.
    assert log.first_token_ps.tolist() == [100 + 107 + 100, 1000 + 307]
    assert log.finish_ps.tolist() == [100 + 107 + 300, 1307]
    assert log.itl_count.sum() == 2
    assert [totals.prefill_tokens for totals in log.replicas] == [20, 0]


def test_two_transfers_on_one_link_follow_each_other(engine: str) -> None:
    rows = [(0, 10, 3), (0, 20, 3)]
    pools = (prefill(), decode(2))
    shared = run_fleet(engine, fleet(*pools), workload_of(rows))
    # 100 ps, then 200 ps on the link; each is there 7 ps after it was sent.
    assert shared.transfer_ps.tolist() == [107, 307]
    apart = run_fleet(engine, fleet(*pools, link="decode"), workload_of(rows))
    assert apart.transfer_ps.tolist() == [107, 207]
    one_source = run_fleet(engine, fleet(*pools, link="prefill"), workload_of(rows))
    assert one_source.transfer_ps.tolist() == [107, 307]
    two_sources = run_fleet(engine, fleet(prefill(2), decode(), link="prefill"), workload_of(rows))
    assert two_sources.transfer_ps.tolist() == [107, 207]


def test_kv_that_comes_during_a_step_waits_for_its_end(engine: str) -> None:
    log = run_fleet(engine, fleet(), workload_of([(0, 10, 3), (0, 12, 3)]))
    # The first decodes from 207 on; the second's KV is there at 100 + 100 + 120 + 7 = 327, its seat begins at 407.
    assert log.transfer_ps.tolist() == [107, 227]
    assert log.finish_ps.tolist() == [407, 607]
    assert log.transfer_wait_ps == 107 + 307


def test_a_request_of_one_token_ends_with_its_prefill(engine: str) -> None:
    log = run_fleet(engine, fleet(), workload_of([(0, 10, 1)]))
    assert (log.finish_ps.tolist(), log.transfer_ps.tolist(), log.replica.tolist()) == ([100], [0], [0])


def test_a_full_decode_replica_holds_back_the_transfer_and_in_the_end_the_prefill(engine: str) -> None:
    # One seat to decode on; room for two prompts of 12 tokens (3 blocks of 4) to be prefilled or sent.
    pools = (prefill(num_blocks=6), decode(max_num_seqs=1))
    log = run_fleet(engine, fleet(*pools), workload_of([(0, 12, 11)] * 3))
    # The first is sent from 100 to 227 and decodes until 1227; only then the second gets the seat, and its KV leaves
    # by 1354. The third waits for the blocks of the first, prefills from 227 to 327, and follows at 2354.
    assert log.admitted_ps.tolist() == [0, 0, 227]
    assert log.first_token_ps.tolist() == [100, 100, 327]
    assert log.transfer_ps.tolist() == [127, 1254, 2481 - 327]
    assert log.finish_ps.tolist() == [1227, 2354, 3481]
    roomy = run_fleet(engine, fleet(prefill(num_blocks=6), decode()), workload_of([(0, 12, 11)] * 3))
    assert roomy.finish_ps.max() < 1800


def test_held_back_prompts_stall_the_prefill_of_others(engine: str) -> None:
    # While one seat decodes 61 tokens, two prompts fill the prefill pool: the fourth is admitted when the first has
    # left, the fifth not before the second has, 6,000 ps later. With four seats nobody waits for blocks for long.
    pools = (prefill(num_blocks=6), decode(max_num_seqs=1, max_model_len=100))
    stalled = run_fleet(engine, fleet(*pools), workload_of([(0, 12, 61)] * 4))
    assert stalled.admitted_ps.tolist() == [0, 0, 227, 227 + 6000 + 127]
    free = run_fleet(engine, fleet(pools[0], decode(max_model_len=100)), workload_of([(0, 12, 61)] * 4))
    assert free.admitted_ps.max() < 500


@pytest.mark.parametrize("latency_ps", [10_000, 30_000])
def test_prompts_that_begin_beside_kv_not_sent_yet_fall_and_begin_until_it_has_left(
    engine: str, latency_ps: int
) -> None:
    """Without room asked for the whole prompt, a first chunk fits beside held blocks and the second does not: a step of
    100 ps for nothing after the other, each a preemption, but no more than the latency has room for."""
    tight = {"num_blocks": 12, "max_num_batched_tokens": 8}
    rows = [(0, 40, 1), (0, 40, 1)]
    ends, steps, falls = [], [], []
    for whole in (True, False):
        pools = prefill(reserve_full_isl=whole, **tight), decode()
        log = run_fleet(
            engine, fleet(*pools, token_ps=0, latency_ps=latency_ps, first_output="decode"), workload_of(rows)
        )
        ends.append(int(log.finish_ps.max()))
        steps.append(log.steps)
        falls.append(int(log.preemptions.sum()))
    assert falls[0] == 0
    assert latency_ps // 100 - 5 <= falls[1] <= latency_ps // 100
    assert steps[1] == steps[0] + falls[1]
    assert 0 <= ends[0] - ends[1] <= 100  # the last one that began was not for nothing


def test_blocks_are_reserved_for_the_prompt_and_one_token(engine: str) -> None:
    # 8 tokens fill two blocks, the first step computes a ninth: of 5 blocks two requests would take 6.
    pools = (prefill(), decode(num_blocks=5))
    log = run_fleet(engine, fleet(*pools), workload_of([(0, 8, 3)] * 2))
    assert log.transfer_ps.tolist() == [87, 387 - 100 + 87]
    assert log.preemptions.sum() == 0
    # 7 tokens and the eighth fit into two blocks.
    both = run_fleet(engine, fleet(*pools), workload_of([(0, 7, 2)] * 2))
    assert both.transfer_ps.tolist() == [77, 147]


def test_who_is_preempted_is_computed_again_where_it_decodes(engine: str) -> None:
    # Two requests of 7 + 12 tokens need 10 blocks at their ends, and have 6: the second falls.
    log = run_fleet(engine, fleet(prefill(), decode(num_blocks=6)), workload_of([(0, 7, 12)] * 2))
    assert log.preemptions.tolist() == [0, 1]
    assert log.replicas[0].prefill_tokens == 14
    assert log.replicas[1].prefill_tokens > 7
    assert log.transfer_ps.tolist() == [77, 147]


def test_short_prompts_are_prefilled_where_they_decode(engine: str) -> None:
    log = run_fleet(engine, fleet(local_prefill_max_tokens=8), workload_of([(0, 8, 3), (0, 9, 3)]))
    assert log.prefill_replica.tolist() == [-1, 0]
    assert log.replica.tolist() == [1, 1]
    assert log.transfer_ps.tolist() == [0, 97]
    assert log.finish_ps.tolist() == [300, 400]
    assert [totals.prefill_tokens for totals in log.replicas] == [9, 8]


def test_a_long_prompt_is_short_where_most_of_it_is_cached(engine: str) -> None:
    pools = (prefill(), decode(enable_prefix_caching=True))
    workload = workload_of([(0, 16, 2), (1000, 16, 2)], prefix_group=[0, 0], prefix_tokens=[12, 12])
    log = run_fleet(engine, fleet(*pools, local_prefill_max_tokens=4), workload)
    assert log.prefill_replica.tolist() == [0, -1]
    assert log.cached_tokens.tolist() == [0, 12]
    assert log.finish_ps.tolist() == [367, 1200]


def test_what_the_decode_replica_has_cached_is_not_sent(engine: str) -> None:
    pools = (prefill(), decode(enable_prefix_caching=True))
    workload = workload_of([(0, 16, 2), (1000, 16, 2)], prefix_group=[0, 0], prefix_tokens=[12, 12])
    log = run_fleet(engine, fleet(*pools), workload)
    assert log.transfer_ps.tolist() == [167, 47]
    assert log.cached_tokens.tolist() == [0, 0]


def test_a_prefix_cached_where_it_is_prefilled_is_sent_all_the_same(engine: str) -> None:
    pools = (prefill(enable_prefix_caching=True), decode())
    workload = workload_of([(0, 16, 2), (1000, 16, 2)], prefix_group=[0, 0], prefix_tokens=[12, 12])
    log = run_fleet(engine, fleet(*pools), workload)
    assert log.cached_tokens.tolist() == [0, 12]
    assert log.transfer_ps.tolist() == [167, 167]
    assert log.prefill_tokens == 16 + 4


def test_a_request_must_fit_both_sides(engine: str) -> None:
    pools = (prefill(num_blocks=5), decode(num_blocks=8, max_model_len=40))
    # 20 tokens fill the prefill pool; 32 the decode pool; 40 are the longest.
    rows = [(0, 20, 5), (0, 21, 2), (0, 10, 23), (0, 10, 24), (0, 10, 31), (0, 20, 1)]
    log = run_fleet(engine, fleet(*pools), workload_of(rows))
    reasons = [0, TOO_LONG_FOR_POOL, 0, TOO_LONG_FOR_POOL, TOO_LONG_FOR_CONTEXT, 0]
    assert log.reason.tolist() == reasons
    assert (log.finish_ps[np.array(reasons) != 0] == 0).all()
    local = run_fleet(engine, fleet(*pools, local_prefill_max_tokens=24), workload_of(rows))
    assert local.reason.tolist() == [0, 0, 0, TOO_LONG_FOR_POOL, TOO_LONG_FOR_CONTEXT, 0]


def test_routers_choose_on_each_side_with_a_memory_of_their_own(engine: str) -> None:
    log = run_fleet(engine, fleet(prefill(2), decode(3)), workload_of([(0, 4, 3)] * 6))
    assert log.prefill_replica.tolist() == [0, 1, 0, 1, 0, 1]
    # Handed over in the order of the engines: the first replica's three, then the second's.
    assert log.replica.tolist() == [2, 2, 3, 3, 4, 4]


def test_a_stopped_run_counts_what_is_on_its_way(engine: str) -> None:
    log = run_fleet(engine, fleet(), workload_of([(0, 10, 4)]), until_ps=150)
    assert log.outcome.tolist() == [UNFINISHED]
    assert (log.end_ps, log.transfer_ps.tolist(), log.generated_tokens.tolist()) == (150, [50], [1])
    assert (log.seat_ps, log.waiting_ps, log.transfer_wait_ps) == (100, 0, 50)


def test_decode_replicas_are_switched_on_for_what_was_prefilled(engine: str) -> None:
    asleep = Pool(
        decode().config, decode().step_time, 1, role="decode",
        autoscaling=Autoscaling(
            metric="queue", target=1, interval_ps=10**9, initial=0, minimum=0, cold_start_ps=(500,)
        ),
    )  # fmt: skip
    log = run_fleet(engine, fleet(prefill(), asleep), workload_of([(0, 10, 4)]))
    assert log.transfer_ps.tolist() == [500 + 107]


def test_sums_over_time_hold_what_is_held_for_others(engine: str) -> None:
    log = run_fleet(engine, fleet(), workload_of([(0, 8, 2), (50, 8, 2)]))
    # Prefill: 0-100 two blocks, 100-200 two for the second and two whose KV leaves at 187. Decode: steps 187-287, and
    # 287-387 with the second, whose three blocks were reserved at 200, during the step: from 287 on.
    assert [totals.kv_block_ps for totals in log.replicas] == [100 * 2 + 100 * 4, 100 * 3 + 100 * 3]
    assert [totals.kv_peak_blocks for totals in log.replicas] == [4, 3]
    assert log.in_system_ps == int((log.finish_ps - log.arrival_ps).sum())


HARDWARE: dict[str, Any] = {
    "base_ps": 5 * MS, "token_ps": MS // 20, "max_num_seqs": 64, "max_num_batched_tokens": 1024,
    "num_blocks": 10_000, "max_model_len": 2048,
}  # fmt: skip


def under_load(engine: str, *pools: Pool) -> Summary:
    """20 requests per second of 1,000 and 100 tokens, their KV 160 KiB a token over 50 GB/s."""
    count = 300
    arrivals = poisson_arrivals_ps(20.0, count, np.random.default_rng(1))
    workload = Workload(arrivals, fixed_tokens(1000, count), fixed_tokens(100, count))
    transfer = None if pools[0].role == "both" else Transfer(token_ps=3_276_800)
    return summarise(run_fleet(engine, Fleet(pools, transfer=transfer), workload), warmup_ratio=0.1)


@pytest.fixture(scope="module", params=["fast", "reference"])
def summaries(request: pytest.FixtureRequest) -> dict[str, Summary]:
    """Four replicas: all for everything, two and two, three and one."""
    engine = str(request.param)
    return {
        "together": under_load(engine, pool_of(4, **HARDWARE)),
        "two": under_load(engine, prefill(2, **HARDWARE), decode(2, **HARDWARE)),
        "three": under_load(engine, prefill(3, **HARDWARE), decode(1, **HARDWARE)),
    }


def value_ms(value: float | None) -> float:
    assert value is not None
    return value


def test_decodes_see_no_prefill(summaries: dict[str, Summary]) -> None:
    # A step of n decoding sequences takes 5 + 0.05 n ms, n being about 10 on each of two; with a prompt 50 ms more.
    together, two = summaries["together"], summaries["two"]
    assert value_ms(two.itl.p50_ms) < value_ms(two.itl.p90_ms) < 5 + 0.05 * 20
    assert 55 <= value_ms(together.itl.p99_ms) <= 60
    assert value_ms(two.itl.p99_ms) < 20  # the gap with the transfer, one in 99
    # Each of four replicas takes 5 prompts a second, of 50 ms each: a quarter of the time goes to others' prompts.
    assert value_ms(together.tpot.mean_ms) / value_ms(two.tpot.mean_ms) == pytest.approx(1.25, abs=0.08)


def test_room_is_reserved_when_a_step_begins(summaries: dict[str, Summary]) -> None:
    # 3.3 ms on the link, after half a step of 5.3 ms on average.
    assert value_ms(summaries["two"].transfer.mean_ms) == pytest.approx(3.3 + 5.3 / 2, abs=0.5)


def test_prompts_wait_longer_where_fewer_replicas_compute_them(summaries: dict[str, Summary]) -> None:
    # 20 prompts of 55 ms a second load two replicas to 0.55 each, three to 0.37. M/D/1 would wait 34 and 16 ms; taking
    # turns makes the arrivals more even.
    together, two, three = (value_ms(summaries[name].ttft.mean_ms) for name in ("together", "two", "three"))
    assert 55 + 16 / 4 < two < 55 + 34
    assert 55 < three < 55 + 16 / 2
    # With all four for prompts, the wait is a step of decoding: with as many GPUs, TTFT is the price of even ITL.
    assert 55 < together < two


@pytest.mark.parametrize(
    ("pools", "transfer", "code"),
    [
        ((prefill(), decode()), None, "missing"),
        ((pool_of(),), Transfer(token_ps=1), "incompatible"),
        ((prefill(),), Transfer(token_ps=1), "incompatible"),
        ((prefill(), decode(), pool_of()), Transfer(token_ps=1), "incompatible"),
        ((prefill(max_model_len=10_000), decode()), Transfer(token_ps=10**12), "too_large"),
    ],
)
def test_fleets_that_make_no_sense_are_refused(pools: tuple[Pool, ...], transfer: Transfer | None, code: str) -> None:
    with pytest.raises(SimulatorError) as error:
        Fleet(pools, transfer=transfer)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"token_ps": -1}, "too_small"),
        ({"link": "own"}, "unknown_policy"),
        ({"first_output": "both"}, "unknown_policy"),
        ({"local_prefill_max_tokens": 0.5}, "not_an_integer"),
    ],
)
def test_transfers_that_make_no_sense_are_refused(changes: dict[str, Any], code: str) -> None:
    with pytest.raises(SimulatorError) as error:
        Transfer(**({"token_ps": 1} | changes))
    assert error.value.code == code


def test_static_batches_are_not_disaggregated() -> None:
    with pytest.raises(SimulatorError) as error:
        prefill(scheduler="static")
    assert error.value.code == "incompatible"


def test_a_timeout_reaches_the_transfer_line_and_the_link(engine: str) -> None:
    # One seat to decode on, taken by the first until 927. Then the second's KV is on its way until 1054; when their
    # time has passed it ends all the same, as does the third in line. That frees the prefill side for the fourth
    # (951 to 1051), whose turn comes with the seat, at 1054: 127 ps for its KV and two steps.
    pools = (prefill(num_blocks=6), decode(max_num_seqs=1))
    limited = replace(fleet(*pools), admission=Admission(timeout_ps=950))
    log = run_fleet(engine, limited, workload_of([(0, 12, 8), (0, 12, 11), (0, 12, 11), (500, 12, 3)]))
    assert log.outcome.tolist() == [FINISHED, TIMED_OUT, TIMED_OUT, FINISHED]
    assert log.finish_ps.tolist() == [927, 951, 951, 1054 + 127 + 200]
    assert log.admitted_ps.tolist() == [0, 0, 227, 951]
    assert log.generated_tokens.tolist() == [8, 1, 1, 3]
    assert log.transfer_ps.tolist() == [127, 851, 951 - 327, 1054 - 1051 + 127]
    assert log.in_system_ps == int((log.finish_ps - log.arrival_ps).sum())


def test_a_timeout_reaches_requests_whose_kv_came_during_a_step(engine: str) -> None:
    # The second's KV is there at 327, in the midst of a step of the first: both are let go between two steps, at 407.
    limited = replace(fleet(), admission=Admission(timeout_ps=400))
    log = run_fleet(engine, limited, workload_of([(0, 10, 9), (0, 12, 9), (450, 10, 2)]))
    assert log.outcome.tolist() == [TIMED_OUT, TIMED_OUT, FINISHED]
    assert log.finish_ps.tolist() == [407, 407, 450 + 100 + 107 + 100]
    assert log.in_system_ps == int((log.finish_ps - log.arrival_ps).sum())


def test_who_was_prefilled_and_finds_no_decode_replica_on_is_let_go_at_its_turn(engine: str) -> None:
    rule = Autoscaling(metric="queue", target=1, interval_ps=10**9, cold_start_ps=(1000,), initial=0, minimum=0)
    asleep = replace(decode(), autoscaling=rule)
    limited = replace(fleet(prefill(num_blocks=3), asleep), admission=Admission(timeout_ps=1050))
    log = run_fleet(engine, limited, workload_of([(0, 12, 4), (200, 12, 2)]))
    # The first is prefilled at 100, the replica ready at 1100. Only then has the second the blocks to be prefilled in.
    assert log.outcome.tolist() == [TIMED_OUT, TIMED_OUT]
    assert log.finish_ps.tolist() == [1100, 1251]
    assert log.admitted_ps.tolist() == [0, 1100]
    assert log.in_system_ps == int((log.finish_ps - log.arrival_ps).sum())
