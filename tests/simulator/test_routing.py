"""Which replica gets a request: small cases by hand for every router, on both engines."""

from typing import Any

import numpy as np
import pytest

from simulator import BlockHashes, Fleet, SimulatorError, Workload, simulate_fleet
from simulator.fleet import Router
from simulator.records import NO_POOL, TOO_LONG_FOR_CONTEXT, TOO_LONG_FOR_POOL, UNSERVABLE
from tests.simulator.fleets import pool_of, run_fleet, workload_of


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def at_once(count: int, output: int = 3) -> Workload:
    return workload_of([(0, 2, output)] * count)


def route(engine: str, fleet: Fleet, workload: Workload) -> list[int]:
    replicas: list[int] = run_fleet(engine, fleet, workload).replica.tolist()
    return replicas


def test_round_robin_takes_turns(engine: str) -> None:
    assert route(engine, Fleet((pool_of(3),)), at_once(7)) == [0, 1, 2, 0, 1, 2, 0]


def test_round_robin_gives_each_its_weight_and_spreads_the_turns(engine: str) -> None:
    fleet = Fleet((pool_of(1, pool={"weight": 3}), pool_of(2)))
    assert route(engine, fleet, at_once(10)) == [0, 1, 0, 2, 0, 0, 1, 0, 2, 0]


def test_round_robin_takes_turns_within_each_pool(engine: str) -> None:
    fleet = Fleet((pool_of(2, pool={"max_prompt_tokens": 9}), pool_of(2, pool={"min_prompt_tokens": 10})))
    workload = workload_of([(0, prompt, 1) for prompt in (5, 20, 5, 20, 5, 20)])
    assert route(engine, fleet, workload) == [0, 2, 1, 3, 0, 2]


def test_random_follows_the_weights(engine: str) -> None:
    fleet = Fleet((pool_of(1, pool={"weight": 3}), pool_of(2)), "random")
    share = np.bincount(route(engine, fleet, workload_of([(i * 1000, 1, 1) for i in range(4000)]))) / 4000
    # Three standard deviations of a share of 0.6 and 0.2 in 4,000 draws.
    assert np.allclose(share, [0.6, 0.2, 0.2], atol=0.024)


def test_power_of_two_among_two_is_the_less_loaded_one(engine: str) -> None:
    chosen = route(engine, Fleet((pool_of(2),), "power_of_two"), at_once(8))
    assert np.bincount(chosen).tolist() == [4, 4]
    assert all({one, two} == {0, 1} for one, two in zip(chosen[::2], chosen[1::2], strict=True))


def test_power_of_two_compares_two_different_ones(engine: str) -> None:
    chosen = route(engine, Fleet((pool_of(8),), "power_of_two"), at_once(64, output=30))
    counts = np.bincount(chosen, minlength=8)
    assert counts.min() >= 4  # a fair draw alone leaves someone with 3 or fewer in two of three runs
    assert counts.max() <= 10


def test_least_requests_counts_what_has_not_ended(engine: str) -> None:
    # Steps of 100: the first ends at 100, the second (three tokens) at 300. At 100 the end is seen before the arrival.
    workload = workload_of([(0, 2, 1), (0, 2, 3), (100, 2, 9), (150, 2, 1), (300, 2, 1)])
    assert route(engine, Fleet((pool_of(2),), "least_requests"), workload) == [0, 1, 0, 0, 1]


def test_least_requests_divides_by_the_weight(engine: str) -> None:
    fleet = Fleet((pool_of(1, pool={"weight": 2}), pool_of(1)), "least_requests")
    # Loads before each: 0/2 0, 1/2 0, 1/2 1, 2/2 1 (a tie), 3/2 1, 3/2 2.
    assert route(engine, fleet, at_once(6)) == [0, 1, 0, 0, 1, 0]


def test_least_tokens_counts_prompt_tokens_of_outstanding_requests(engine: str) -> None:
    workload = workload_of([(0, 10, 9), (0, 2, 9), (0, 7, 9), (0, 1, 9), (0, 3, 9), (5000, 1, 1)])
    # 10 | 0 -> 2 | 10, 2 -> 9 | 10, 9 -> 10 | 10, 10 a tie; all have ended by 5000.
    assert route(engine, Fleet((pool_of(2),), "least_tokens"), workload) == [0, 1, 1, 1, 0, 0]


def test_least_tokens_divides_by_the_weight(engine: str) -> None:
    fleet = Fleet((pool_of(1, pool={"weight": 3}), pool_of(1)), "least_tokens")
    workload = workload_of([(0, 6, 9), (0, 1, 9), (0, 1, 9), (0, 1, 9), (0, 1, 9)])
    # 6/3 0 -> 6/3 1 -> 6/3 2 a tie -> 7/3 2 -> 7/3 3.
    assert route(engine, fleet, workload) == [0, 1, 1, 0, 1]


def test_a_session_stays_where_it_is(engine: str) -> None:
    rng = np.random.default_rng(3)
    sessions = rng.integers(0, 40, 400)
    workload = workload_of([(i * 10, 2, 5) for i in range(400)], session=sessions)
    chosen = np.array(route(engine, Fleet((pool_of(4),), "session_affine"), workload))
    homes = {session: set(chosen[sessions == session].tolist()) for session in set(sessions.tolist())}
    assert all(len(replicas) == 1 for replicas in homes.values())
    assert len({next(iter(replicas)) for replicas in homes.values()}) == 4


def test_another_replica_takes_sessions_but_moves_none_among_the_others(engine: str) -> None:
    workload = workload_of([(i * 1000, 2, 1) for i in range(300)], session=np.arange(300))
    three, four = (np.array(route(engine, Fleet((pool_of(count),), "session_affine"), workload)) for count in (3, 4))
    moved = three != four
    assert (four[moved] == 3).all()
    assert 50 < moved.sum() < 100  # a quarter of 300, four standard deviations either way


def test_requests_without_a_session_go_to_the_least_loaded(engine: str) -> None:
    fleet = Fleet((pool_of(3),), "session_affine")
    assert route(engine, fleet, at_once(6)) == [0, 1, 2, 0, 1, 2]
    workload = workload_of([(0, 2, 9)] * 4, session=[-1, -1, -1, -1])
    assert route(engine, fleet, workload) == [0, 1, 2, 0]


def affine(**changes: int) -> Fleet:
    return Fleet((pool_of(3, max_model_len=200, max_num_batched_tokens=256),), "prefix_affine", **changes)


def test_prefix_affine_returns_to_where_the_beginning_was_sent(engine: str) -> None:
    # Groups 0, 1, 0, 1, none, 0: the beginnings go where they were, the others where there is least to do.
    workload = workload_of([(0, 100, 9)] * 6, prefix_group=[0, 1, 0, 1, -1, 0], prefix_tokens=[60, 60, 60, 60, 0, 60])
    assert route(engine, affine(), workload) == [0, 1, 0, 1, 2, 0]


@pytest.mark.parametrize(("percent", "expected"), [(59, [0, 0]), (60, [0, 1])])
def test_prefix_affine_wants_more_than_the_threshold(engine: str, percent: int, expected: list[int]) -> None:
    workload = workload_of([(0, 100, 9)] * 2, prefix_group=[0, 0], prefix_tokens=[60, 60])
    assert route(engine, affine(match_percent=percent), workload) == expected


def test_prefix_affine_remembers_the_longest_beginning_and_breaks_ties_by_load(engine: str) -> None:
    workload = workload_of([(0, 100, 9)] * 5, prefix_group=[0, 0, 0, 0, 0], prefix_tokens=[20, 40, 40, 20, 20])
    # 40: 20 of 100 tokens known at 0 are too few; 1 is free, and then has all 40. 20: both know them, 0 has less to do.
    assert route(engine, affine(match_percent=19), workload) == [0, 0, 0, 0, 0]
    assert route(engine, affine(match_percent=20), workload) == [0, 1, 1, 2, 0]


def test_prefix_affine_levels_a_fleet_that_is_uneven(engine: str) -> None:
    workload = workload_of([(0, 100, 9)] * 7, prefix_group=[0] * 7, prefix_tokens=[90] * 7)
    # Uneven when the most exceed the fewest by more than 2: at three on one replica and none elsewhere. Then replica 1
    # knows the beginning too, and is the less loaded of the two; at 3, 3, 0 the third gets one.
    chosen = route(engine, affine(imbalance_requests=2), workload)
    assert chosen == [0, 0, 0, 1, 2, 1, 2]


def test_prefix_affine_reads_recorded_blocks_up_to_the_first_that_differs(engine: str) -> None:
    ids = [1, 2, 3, 1, 2, 9, 8, 2, 3]
    hashes = BlockHashes(np.array([0, 3, 6, 9]), np.array(ids), 32)
    rows = [(0, 90, 9)] * 3
    base = workload_of(rows)
    workload = Workload(base.arrival_ps, base.prompt_tokens, base.output_tokens, block_hashes=hashes)
    # 64 of 90 tokens are known at 0; then the third begins with a block that nobody has.
    assert route(engine, affine(match_percent=70), workload) == [0, 0, 1]
    assert route(engine, affine(match_percent=71), workload) == [0, 0, 1]
    assert route(engine, affine(match_percent=72), workload) == [0, 1, 2]


def caching(replicas: int = 2, **config: Any) -> Any:
    return pool_of(replicas, enable_prefix_caching=True, max_model_len=200, max_num_batched_tokens=256, **config)


def test_kv_aware_goes_where_the_prefix_is_cached(engine: str) -> None:
    # The first leaves 40 cached tokens at 0; long after, the group returns there and another prompt finds no
    # difference; its own blocks are then held while it runs, so the next one goes to the other engine.
    workload = workload_of(
        [(0, 60, 1), (1000, 60, 9), (1050, 60, 9), (1060, 60, 9)],
        prefix_group=[0, 0, 1, 2], prefix_tokens=[40, 40, 40, 40],
    )  # fmt: skip
    assert route(engine, Fleet((caching(),), "kv_aware"), workload) == [0, 0, 1, 0]


def test_kv_aware_weighs_prefill_against_blocks_held(engine: str) -> None:
    # At 250 engine 0 holds the group's 40 tokens and runs a request of 60 + 3 tokens: 16 blocks of 4 (20 + 64 in all).
    # Engine 1 has nothing: 60 tokens to compute. Twice the weight of prefill turns 84 < 60 round: 40 + 64 < 120.
    workload = workload_of([(0, 60, 9), (250, 60, 1)], prefix_group=[0, 0], prefix_tokens=[40, 40])
    assert route(engine, Fleet((caching(),), "kv_aware"), workload) == [0, 1]
    assert route(engine, Fleet((caching(),), "kv_aware", overlap_percent=200), workload) == [0, 0]
    assert route(engine, Fleet((caching(),), "kv_aware", overlap_percent=159), workload) == [0, 1]
    assert route(engine, Fleet((caching(),), "kv_aware", overlap_percent=161), workload) == [0, 0]


def test_kv_aware_counts_prompts_sent_that_have_no_token_yet(engine: str) -> None:
    # At one instant: nobody holds blocks yet, but 30 tokens are on their way to 0, then 20 and 5 to 1.
    workload = workload_of([(0, 30, 2), (0, 20, 2), (0, 5, 2), (0, 6, 2)])
    assert route(engine, Fleet((pool_of(2),), "kv_aware"), workload) == [0, 1, 1, 1]


def test_kv_aware_asks_the_cache_as_it_is_now(engine: str) -> None:
    # The group's 40 tokens at 0; then a prompt of its own, 14 blocks in the end; meanwhile 20 of the group's at 1.
    rows = [(0, 44, 1), (1000, 44, 13), (1050, 44, 1), (5000, 44, 1)]
    workload = workload_of(rows, prefix_group=[0, -1, 0, 0], prefix_tokens=[40, 0, 20, 40])
    tight = run_fleet(engine, Fleet((caching(num_blocks=14),), "kv_aware"), workload)
    assert tight.replica.tolist() == [0, 0, 1, 1]
    assert tight.cached_tokens.tolist() == [0, 0, 0, 20]
    roomy = run_fleet(engine, Fleet((caching(num_blocks=50),), "kv_aware"), workload)
    assert roomy.replica.tolist() == [0, 0, 1, 0]
    assert roomy.cached_tokens.tolist() == [0, 0, 0, 40]


def test_long_prompts_go_to_a_pool_of_their_own(engine: str) -> None:
    fleet = Fleet(
        (pool_of(1, pool={"max_prompt_tokens": 15}), pool_of(2, pool={"min_prompt_tokens": 16})), "least_requests"
    )
    workload = workload_of([(0, prompt, 2) for prompt in (15, 16, 1, 40, 15, 17)])
    assert route(engine, fleet, workload) == [0, 1, 0, 2, 0, 1]


def test_a_request_that_no_pool_serves_says_why(engine: str) -> None:
    short = pool_of(1, pool={"max_prompt_tokens": 15})
    small = pool_of(1, num_blocks=5, pool={"min_prompt_tokens": 20, "max_prompt_tokens": 50})
    workload = workload_of([(0, 10, 2), (0, 17, 2), (0, 30, 2), (0, 10, 60), (7, 19, 2)])
    log = run_fleet(engine, Fleet((short, small)), workload)
    assert log.replica.tolist() == [0, -1, -1, -1, -1]
    assert log.reason.tolist() == [0, NO_POOL, TOO_LONG_FOR_POOL, TOO_LONG_FOR_CONTEXT, NO_POOL]
    assert (log.outcome[1:] == UNSERVABLE).all()
    assert log.finish_ps[4] == 7


def test_a_request_goes_past_pools_that_are_too_small_for_it(engine: str) -> None:
    fleet = Fleet((pool_of(1, num_blocks=5), pool_of(1)))
    assert route(engine, fleet, workload_of([(0, 30, 2), (0, 5, 2), (0, 30, 2)])) == [1, 0, 1]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: pool_of(0), "too_small"),
        (lambda: pool_of(1, pool={"weight": 0}), "too_small"),
        (lambda: pool_of(1, pool={"min_prompt_tokens": 9, "max_prompt_tokens": 8}), "incompatible"),
        (lambda: pool_of(1, pool={"min_prompt_tokens": 0}), "too_small"),
        (lambda: Fleet(()), "empty"),
        (lambda: Fleet((pool_of(),), "fastest"), "unknown_router"),  # type: ignore[arg-type]
        (lambda: Fleet((pool_of(4096), pool_of(1))), "too_large"),
        (lambda: Fleet((pool_of(1024, attention_dp_ranks=5),)), "too_large"),
        (lambda: Fleet((pool_of(),), match_percent=101), "too_large"),
        (lambda: Fleet((pool_of(),), overlap_percent=-1), "too_small"),
        (lambda: Fleet((pool_of(1, pool={"weight": 2}), pool_of()), "kv_aware"), "incompatible"),
    ],
)
def test_bad_fleets(make: Any, code: str) -> None:
    with pytest.raises(SimulatorError) as caught:
        make()
    assert caught.value.code == code


@pytest.mark.parametrize("router", ["random", "power_of_two"])
def test_routers_that_draw_need_a_generator(router: Router) -> None:
    with pytest.raises(SimulatorError) as caught:
        simulate_fleet(Fleet((pool_of(2),), router), at_once(2))
    assert caught.value.code == "missing"
