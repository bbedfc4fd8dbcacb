"""Replicas of several engines: attention-DP ranks in lock step, lanes of a pipeline; by hand and in effect."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, Fleet, Pool, SimulatorError, StepTime
from simulator.records import TOO_LONG_FOR_POOL
from tests.simulator.fleets import pool_of, run_fleet, workload_of


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def ranks(count: int, **changes: Any) -> Fleet:
    return Fleet((pool_of(1, attention_dp_ranks=count, **changes),))


def lanes(stages: int, **changes: Any) -> Fleet:
    return Fleet((pool_of(1, pipeline_stages=stages, **changes),))


def test_a_step_of_all_ranks_lasts_as_long_as_the_slowest(engine: str) -> None:
    # Steps of 100 + 1 per token. Rank 0 has a prompt of 40, rank 1 one of 2: both have their first token at 140.
    # Then two of 101 each; alone, the second would have been done at 102 + 101 + 101.
    log = run_fleet(engine, ranks(2, token_ps=1), workload_of([(0, 40, 3), (0, 2, 3)]))
    assert log.replica.tolist() == [0, 1]
    assert log.first_token_ps.tolist() == [140, 140]
    assert log.finish_ps.tolist() == [342, 342]
    apart = run_fleet(engine, Fleet((pool_of(2, token_ps=1),)), workload_of([(0, 40, 3), (0, 2, 3)]))
    assert apart.finish_ps.tolist() == [342, 304]


def test_one_rank_s_long_prompts_lengthen_the_gaps_of_all(engine: str) -> None:
    # A prompt of 48 in chunks of 8 on rank 0 while rank 1 decodes: its gaps are 100 + 8, not 100 + 1.
    workload = workload_of([(0, 1, 8), (1, 48, 1)])
    log = run_fleet(engine, ranks(2, token_ps=1, max_num_batched_tokens=8), workload)
    assert log.replica.tolist() == [0, 1]
    assert log.finish_ps.tolist() == [101 + 6 * 108 + 101, 101 + 6 * 108]


def test_a_request_waits_for_the_step_of_the_other_ranks(engine: str) -> None:
    log = run_fleet(engine, ranks(2, token_ps=1), workload_of([(0, 40, 1), (5, 2, 1)]))
    assert log.admitted_ps.tolist() == [0, 140]
    assert log.finish_ps.tolist() == [140, 242]


def test_a_rank_without_work_takes_part_with_a_dummy_step_of_one_token(engine: str) -> None:
    # One decoding token is slow on this hardware: the prompt's step lasts as long as the other rank's dummy.
    config = EngineConfig(
        max_num_seqs=2, max_num_batched_tokens=8, num_blocks=50, max_model_len=64, attention_dp_ranks=2
    )
    times = StepTime(np.full(9, 100), np.array([0, 400, 400]), np.zeros(3, np.int64))
    log = run_fleet(engine, Fleet((Pool(config, times),)), workload_of([(0, 4, 1)]))
    assert log.finish_ps.tolist() == [500]
    assert [totals.steps for totals in log.replicas] == [1, 0]
    assert [totals.busy_ps for totals in log.replicas] == [500, 0]


def test_requests_go_to_the_rank_with_the_lowest_score(engine: str) -> None:
    # Two seats a rank. Waiting count four times: at 0 they alternate; at 50 each runs 2 and one waits at 0 (2 + 4).
    workload = workload_of([(0, 2, 9)] * 4 + [(50, 2, 9)] * 2 + [(60, 2, 1)])
    log = run_fleet(engine, ranks(2, max_num_seqs=2), workload)
    assert log.replica.tolist() == [0, 1, 0, 1, 0, 1, 0]


def test_one_that_waits_outweighs_three_that_run(engine: str) -> None:
    # Seven blocks a rank. Rank 0 runs one of 20 tokens (five blocks), and one of 12 waits for room: 1 + 4. Rank 1 gets
    # three (1, then 2 against 5, then 3 against 5), a fourth (4), and a fifth (5) is a tie: the lowest number.
    rows = [(0, 20, 9), (10, 1, 9), (110, 12, 1), (120, 1, 9), (230, 1, 9), (340, 1, 9), (450, 1, 9), (560, 1, 9)]
    log = run_fleet(engine, ranks(2, num_blocks=7, max_num_seqs=6), workload_of(rows))
    assert log.replica.tolist() == [0, 1, 0, 1, 1, 1, 1, 0]


def test_every_rank_has_seats_and_blocks_of_its_own(engine: str) -> None:
    # Two seats and five blocks a rank: four requests of two blocks run at once.
    log = run_fleet(engine, ranks(2, max_num_seqs=2, num_blocks=5), workload_of([(0, 8, 2)] * 5))
    assert log.admitted_ps.tolist() == [0, 0, 0, 0, 200]
    assert [(totals.num_blocks, totals.max_num_seqs) for totals in log.replicas] == [(5, 2), (5, 2)]
    assert log.num_blocks == 10


def test_equal_ranks_are_equal_replicas(engine: str) -> None:
    workload = workload_of([(0, 8, 5)] * 2 + [(50, 3, 7)] * 2)
    together = run_fleet(engine, ranks(2, token_ps=1), workload)
    apart = run_fleet(engine, Fleet((pool_of(2, token_ps=1),)), workload)
    assert set(together.differences(apart)) == set()


def test_the_router_sees_gangs_and_the_gang_its_ranks(engine: str) -> None:
    fleet = Fleet((pool_of(2, attention_dp_ranks=2), pool_of(1)), "least_requests")
    log = run_fleet(engine, fleet, workload_of([(0, 2, 9)] * 6))
    # Gangs 0, 1, 2 in turn (the third is one engine, number 4); within a gang the next rank.
    assert log.replica.tolist() == [0, 2, 4, 1, 3, 4]


def test_unbalanced_ranks_cost_throughput(engine: str) -> None:
    # Random prompts, everything at once: a gang of four ends later than its ranks would on their own.
    prompts = np.random.default_rng(5).integers(1, 60, 200)
    workload = workload_of([(0, int(prompt), 4) for prompt in prompts])
    gang = run_fleet(engine, ranks(4, token_ps=10), workload)
    apart = run_fleet(engine, Fleet((pool_of(4, token_ps=10),)), workload)
    assert gang.end_ps > 1.1 * apart.end_ps
    assert gang.busy_ps > apart.busy_ps


def test_a_lone_request_sees_the_whole_pass_at_every_token(engine: str) -> None:
    log = run_fleet(engine, lanes(4), workload_of([(7, 5, 3)]))
    assert log.first_token_ps.tolist() == [107]
    assert log.finish_ps.tolist() == [307]


def test_micro_batches_follow_each_other_through_the_stages(engine: str) -> None:
    # Two stages of 50. The second enters at 50 and ends at 150; the first is back at 100, and so on in turn.
    log = run_fleet(engine, lanes(2), workload_of([(0, 2, 3), (0, 2, 2)]))
    assert log.admitted_ps.tolist() == [0, 50]
    assert log.first_token_ps.tolist() == [100, 150]
    assert log.finish_ps.tolist() == [300, 250]


def test_stage_times_sum_to_the_pass(engine: str) -> None:
    # 101 in three stages: 34, 34, 33.
    log = run_fleet(engine, lanes(3, base_ps=101), workload_of([(0, 2, 2), (0, 2, 1), (0, 2, 1)]))
    assert log.admitted_ps.tolist() == [0, 34, 68]
    # Each follows 34 behind the one before in the first two stages, and in the last too.
    assert log.first_token_ps.tolist() == [101, 135, 169]
    # The first is back at 101, when the first stage has not been free since 102.
    assert log.finish_ps[0] == 102 + 101


def test_a_short_micro_batch_waits_behind_a_long_one_in_every_stage(engine: str) -> None:
    # Steps of one per token. 60 tokens: stages 30, 30; 10 tokens: 5, 5. The second enters at 30, reaches stage two at
    # 35 and waits for it until 60.
    log = run_fleet(engine, lanes(2, base_ps=0, token_ps=1), workload_of([(0, 60, 1), (0, 10, 1)]))
    assert log.finish_ps.tolist() == [60, 65]
    # The other way round the long one is the bottleneck itself: in at 5, 35 out of stage one, 65 out of stage two.
    log = run_fleet(engine, lanes(2, base_ps=0, token_ps=1), workload_of([(0, 10, 1), (0, 60, 1)]))
    assert log.finish_ps.tolist() == [10, 65]


def test_a_request_in_flight_is_not_scheduled_again(engine: str) -> None:
    # One request, the stages free: a token per pass of 100, not per stage of 25.
    log = run_fleet(engine, lanes(4), workload_of([(0, 2, 5)]))
    assert log.steps == 5
    assert log.end_ps == 500


@pytest.mark.parametrize(("requests", "per_pass"), [(1, 1), (2, 2), (4, 4), (8, 4)])
def test_throughput_grows_to_one_step_per_stage_time(engine: str, requests: int, per_pass: int) -> None:
    # Four stages of 25, one seat a lane: with fewer requests than stages the pipeline has bubbles.
    fleet = lanes(4, max_num_seqs=4, num_blocks=400)
    log = run_fleet(engine, fleet, workload_of([(0, 1, 50)] * requests))
    steps_per_pass = log.steps / (log.end_ps / 100)
    assert steps_per_pass == pytest.approx(per_pass, rel=0.02)


def test_seats_and_blocks_are_shared_out_among_the_lanes(engine: str) -> None:
    log = run_fleet(engine, lanes(2, max_num_seqs=5, num_blocks=21), workload_of([(0, 36, 4), (0, 36, 6)]))
    assert [(totals.num_blocks, totals.max_num_seqs) for totals in log.replicas] == [(10, 2), (10, 2)]
    assert log.reason.tolist() == [0, TOO_LONG_FOR_POOL]  # 39 and 41 tokens: ten blocks and eleven


def test_lanes_that_are_ready_at_once_take_turns(engine: str) -> None:
    # Steps of 1 ps, the least there is: it goes to the first stage, so the lanes enter at 0, 1, 2, ... in turn.
    log = run_fleet(engine, lanes(2, base_ps=0), workload_of([(0, 1, 3), (0, 1, 3)]))
    assert log.steps == 6
    assert log.admitted_ps.tolist() == [0, 1]
    assert log.end_ps == 6


def test_lanes_that_wait_for_the_first_stage_take_turns(engine: str) -> None:
    # Three stages, one per token. The 60 tokens hold the first stage from 2 to 22; lane 0 waits for it since 6, lane 2
    # since 10, but behind lane 1 it is lane 2's turn. Lane 0's one token (stages 1, 0, 0) follows at 24.
    workload = workload_of([(0, 6, 2), (0, 60, 1), (10, 6, 1)])
    log = run_fleet(engine, lanes(3, base_ps=0, token_ps=1), workload)
    assert log.admitted_ps.tolist() == [0, 2, 22]
    assert log.first_token_ps.tolist() == [6, 62, 64]
    assert log.finish_ps.tolist() == [64, 62, 64]


def test_a_pipeline_stopped_early_ends_with_its_last_step_or_at_the_time_it_was_told(engine: str) -> None:
    # Stages of 50: at 0 and 50 micro-batches enter, to end at 100 and 150; at 100 (two more) none may begin.
    workload = workload_of([(0, 2, 3), (0, 2, 2)])
    assert run_fleet(engine, lanes(2), workload, until_ps=100).end_ps == 150
    # Told 40: the second has not entered; the first ends at 100.
    log = run_fleet(engine, lanes(2), workload, until_ps=40)
    assert log.admitted_ps.tolist() == [0, -1]
    assert log.end_ps == 100


def _balance(log: EventLog) -> None:
    assert log.seat_ps + log.waiting_ps == int((log.finish_ps - log.arrival_ps).sum())


def test_time_in_the_gang_is_booked_once(engine: str) -> None:
    rng = np.random.default_rng(2)
    workload = workload_of(
        [(int(at), int(prompt), int(output)) for at, prompt, output in np.sort(rng.integers(1, 30, (40, 3)), axis=0)]
    )
    for fleet in (ranks(3, token_ps=7), lanes(3, token_ps=7)):
        _balance(run_fleet(engine, fleet, workload))


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"attention_dp_ranks": 0}, "too_small"),
        ({"attention_dp_ranks": 257}, "too_large"),
        ({"pipeline_stages": 1.5}, "not_an_integer"),
        ({"attention_dp_ranks": 2, "pipeline_stages": 2}, "incompatible"),
        ({"pipeline_stages": 5}, "incompatible"),  # five lanes, four seats
        ({"pipeline_stages": 4, "num_blocks": 3}, "incompatible"),
    ],
)
def test_bad_gangs(change: dict[str, Any], code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        pool_of(1, **change)
    assert caught.value.code == code


def test_a_member_is_an_engine_of_its_own() -> None:
    config = pool_of(1, pipeline_stages=3, max_num_seqs=8, num_blocks=31).config
    assert config.member == replace(config, pipeline_stages=1, max_num_seqs=2, num_blocks=10)
    config = pool_of(1, attention_dp_ranks=3).config
    assert config.member == replace(config, attention_dp_ranks=1)


def _sglang_lanes(engine: str, seed: int, *, long_prompts: int) -> EventLog:
    """A pipeline under SGLang that keeps nothing for outputs until it retracts, and a replica for long prompts."""
    rng = np.random.default_rng(seed)
    settings = {"schedule_conservativeness": 0.0, "max_num_seqs": 8, "max_num_batched_tokens": 32, "num_blocks": 32}
    first = pool_of(
        scheduler="sglang", pipeline_stages=2, token_ps=1, pool={"max_prompt_tokens": 20}, max_model_len=48, **settings
    )
    fleet = Fleet((first, pool_of(base_ps=7, pool={"min_prompt_tokens": 21})))
    arrivals, prompts, outputs = rng.integers(0, 1500, 40), rng.integers(1, 16, 40), rng.integers(8, 30, 40)
    rows = list(zip(np.cumsum(arrivals).tolist(), prompts.tolist(), outputs.tolist(), strict=True))
    others = rng.integers(0, int(arrivals.sum()), long_prompts).tolist()
    return run_fleet(engine, fleet, workload_of(sorted(rows + [(at, 30, 2) for at in others])))


@pytest.mark.parametrize("seed", [5, 31])
def test_other_replicas_do_not_tell_a_lane_when_to_rest(seed: int) -> None:
    # SGLang's estimate starts over when an engine is idle, not when somebody happens to look at it.
    alone, beside = (_sglang_lanes("reference", seed, long_prompts=count) for count in (0, 400))
    mine = beside.prompt_tokens <= 20
    assert alone.preemptions.any()
    assert beside.finish_ps[mine].tolist() == alone.finish_ps.tolist()
    assert _sglang_lanes("fast", seed, long_prompts=400).differences(beside) == []
