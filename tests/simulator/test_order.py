"""Who is let in next: hand-worked runs, and what each order does to latencies and shares."""

from typing import Any

import numpy as np
import pytest

from simulator import EngineConfig, EventLog, Fleet, SimulatorError, Workload
from tests.simulator.fleets import pool_of, run_fleet, workload_of


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(engine: str, workload: Workload, **config: Any) -> EventLog:
    return run_fleet(engine, Fleet((pool_of(**config),)), workload)


def test_the_most_urgent_class_enters_first_and_each_class_in_order_of_arrival(engine: str) -> None:
    workload = workload_of([(0, 4, 3)] + [(1, 4, 1)] * 4, priority=[5, 7, 0, 7, 0])
    log = run(engine, workload, max_num_seqs=1, order="priority")
    assert log.admitted_ps.tolist() == [0, 500, 300, 600, 400]


def test_the_last_of_the_worst_class_falls_though_others_entered_after_it(engine: str) -> None:
    # Five blocks of 4; three prompts of 4 take three. In step 2 all want a second block, two are free: the worst one
    # falls, though it stands second and in the step already, and the third gets its block.
    workload = workload_of([(0, 4, 5), (0, 4, 5), (1, 4, 5)], priority=[1, 2, 0])
    log = run(engine, workload, num_blocks=5, order="priority")
    assert log.preemptions.tolist() == [0, 1, 0]
    fcfs = run(engine, workload, num_blocks=5)
    assert fcfs.preemptions.tolist() == [0, 0, 1]


def test_who_falls_itself_ends_the_step_for_those_behind_it(engine: str) -> None:
    # Four blocks of 4, all held from step 2 on. In step 4 the second wants another and is itself the worst.
    workload = workload_of([(0, 1, 5), (0, 6, 5), (1, 2, 3)], priority=[0, 1, 0])
    log = run(engine, workload, num_blocks=4, order="priority")
    # So the third gets its last token in step 5, not 4; the second enters again when three blocks are free.
    assert log.finish_ps.tolist() == [500, 700, 500]
    assert log.preempted_ps.tolist() == [0, 200, 0]
    assert log.steps == 7


def test_the_longest_cached_prefix_enters_first_while_it_is_cached(engine: str) -> None:
    # Group 1 has computed 12 shared tokens when three others wait; the one of group 1 came last.
    workload = workload_of(
        [(0, 12, 3), (10, 12, 1), (20, 12, 1), (30, 12, 1)], prefix_group=[1, 2, 3, 1], prefix_tokens=[12] * 4
    )
    log = run(engine, workload, max_num_seqs=1, enable_prefix_caching=True, order="longest_prefix")
    assert log.admitted_ps.tolist() == [0, 400, 500, 300]
    assert log.cached_tokens.tolist() == [0, 0, 0, 8]


def test_beyond_128_waiting_requests_prefixes_are_not_matched(engine: str) -> None:
    rows = [(0, 12, 3)] + [(10, 12, 1)] * 129
    groups = [1] + [2 + number for number in range(128)] + [1]
    workload = workload_of(rows, prefix_group=groups, prefix_tokens=[12] * len(rows))
    log = run(engine, workload, max_num_seqs=1, enable_prefix_caching=True, order="longest_prefix", num_blocks=1000)
    # 129 wait at first: first come first served. From 128 on the last one, whose prefix is cached, is first.
    assert log.admitted_ps[[1, 129, 2]].tolist() == [300, 400, 500]


def test_backlogged_tenants_are_served_tokens_as_their_weights(engine: str) -> None:
    count, prompt, output = 600, 8, 8
    workload = workload_of([(0, prompt, output)] * count, tenant=[0, 1] * (count // 2))
    log = run(engine, workload, max_num_seqs=4, order="fair", tenant_weights=(1, 3))
    tenant = workload.column("tenant")
    for until_ps in (log.end_ps // 4, log.end_ps // 2):
        served = [(prompt + output) * int((log.finish_ps[tenant == number] <= until_ps).sum()) for number in (0, 1)]
        # All in flight may belong to one of them.
        assert abs(3 * served[0] - served[1]) <= 3 * 4 * (prompt + output)


def test_long_requests_of_one_tenant_do_not_take_the_share_of_short_ones(engine: str) -> None:
    workload = workload_of([(0, 8, 40)] * 60 + [(0, 8, 4)] * 240, tenant=[0] * 60 + [1] * 240)
    log = run(engine, workload, max_num_seqs=1, order="fair")
    half = log.finish_ps <= log.end_ps // 4
    tokens = [
        int((log.prompt_tokens + log.output_tokens)[half & (workload.column("tenant") == n)].sum()) for n in (0, 1)
    ]
    assert abs(tokens[0] - tokens[1]) <= 48


def test_a_tenant_that_was_away_has_no_credit(engine: str) -> None:
    # Tenant 0 is alone for a long time; when tenant 1 comes with as much work they alternate at once.
    workload = workload_of([(0, 4, 1)] * 40 + [(2000, 4, 1)] * 10, tenant=[0] * 40 + [1] * 10)
    log = run(engine, workload, max_num_seqs=1, order="fair")
    assert log.admitted_ps[40:].tolist() == [2100 + 200 * turn for turn in range(10)]


def test_a_tenant_that_comes_to_an_empty_line_stands_where_the_last_one_left(engine: str) -> None:
    # Tenant 0 was served 40 tokens alone and its line is empty when tenant 1 comes, then both have work.
    workload = workload_of([(0, 36, 4)] + [(300, 4, 1)] * 3 + [(310, 4, 1)] * 3, tenant=[0, 1, 1, 1, 0, 0, 0])
    log = run(engine, workload, max_num_seqs=1, order="fair")
    assert log.admitted_ps.tolist() == [0, 400, 600, 800, 500, 700, 900]


def test_urgent_requests_keep_their_latency_under_overload_and_the_others_starve(engine: str) -> None:
    rng = np.random.default_rng(3)
    arrival = np.sort(rng.integers(0, 100_000, 400))
    workload = Workload(arrival, np.full(400, 8), np.full(400, 10), priority=(rng.random(400) < 0.7).astype(np.int64))
    settings = {"max_num_seqs": 2, "num_blocks": 9}
    urgent = workload.column("priority") == 0
    by_class, fcfs = run(engine, workload, order="priority", **settings), run(engine, workload, **settings)
    e2e = by_class.finish_ps - by_class.arrival_ps
    # 400 requests of 10 steps of 100 on 2 seats need 200,000, the urgent ones 60,000: they come in 100,000.
    assert np.median(e2e[urgent]) < 2_500
    assert np.median((fcfs.finish_ps - fcfs.arrival_ps)[urgent]) > 10 * np.median(e2e[urgent])
    assert np.median(e2e[~urgent]) > 10 * np.median(e2e[urgent])
    assert by_class.preemptions[urgent].sum() <= by_class.preemptions[~urgent].sum()


@pytest.mark.parametrize(("cap", "gap_ps"), [(0, 64 * 10), (16, 17 * 10), (8, 9 * 10)])
def test_a_cap_on_long_prompts_bounds_the_gaps_of_those_that_decode(engine: str, cap: int, gap_ps: int) -> None:
    # One decodes while a prompt of 1000 tokens is computed; a token costs 10 ps.
    workload = workload_of([(0, 4, 120), (100, 1000, 1)])
    log = run(
        engine, workload, base_ps=0, token_ps=10, max_model_len=2000, num_blocks=1000, long_prefill_token_threshold=cap
    )
    assert gap_ps * 0.995 <= log.itl_upper_ps.max() <= gap_ps * 1.005
    assert log.finish_ps[1] > 1000 * 10


def test_capped_prompts_go_on_together_and_share_the_budget(engine: str) -> None:
    # Budget 8, at most 4 of a prompt: two prompts of 10 are computed side by side, the third waits for budget.
    workload = workload_of([(0, 10, 1), (0, 10, 1), (0, 2, 2)])
    log = run(engine, workload, max_num_batched_tokens=8, long_prefill_token_threshold=4)
    # Steps: 4+4, 4+4, 2+2+2, 1.
    assert log.first_token_ps.tolist() == [300, 300, 300]
    assert log.finish_ps.tolist() == [300, 300, 400]


def test_who_decodes_gets_a_token_in_every_step_however_many_long_prompts_there_are(engine: str) -> None:
    # Each long prompt takes no more than when it entered, so what was left for those behind it stays.
    rng = np.random.default_rng(2)
    rows = [(50 * place, int(rng.choice([3, 60])), int(rng.integers(1, 30))) for place in range(200)]
    log = run(
        engine, workload_of(rows), max_num_seqs=8, max_num_batched_tokens=20, max_model_len=100, num_blocks=500,
        long_prefill_token_threshold=6,
    )  # fmt: skip
    assert (log.finish_ps - log.first_token_ps == 100 * (log.output_tokens - 1)).all()


def test_what_makes_no_sense_is_refused() -> None:
    base = {"max_num_seqs": 2, "max_num_batched_tokens": 64, "num_blocks": 10, "max_model_len": 32}
    for changes in (
        {"order": "priority", "scheduler": "static"},
        {"order": "longest_prefix"},
        {"tenant_weights": (1, 2)},
        {"long_prefill_token_threshold": 4, "enable_chunked_prefill": False},
        {"long_prefill_token_threshold": 4, "scheduler": "static"},
    ):
        with pytest.raises(SimulatorError) as caught:
            EngineConfig(**(base | changes))  # type: ignore[arg-type]
        assert caught.value.code == "incompatible"
    for changes, code in (
        ({"order": "lifo"}, "unknown_policy"),
        ({"order": "fair", "tenant_weights": (0,)}, "too_small"),
        ({"order": "fair", "tenant_weights": (1001,)}, "too_large"),
        ({"long_prefill_token_threshold": -1}, "too_small"),
    ):
        with pytest.raises(SimulatorError) as caught:
            EngineConfig(**(base | changes))  # type: ignore[arg-type]
        assert caught.value.code == code
