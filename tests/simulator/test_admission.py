"""What is turned away, held, or dropped: hand-worked runs, and what each limit does to those that stay."""

from typing import Any

import numpy as np
import pytest

from simulator import Admission, EventLog, Fleet, GoodputSlo, SimulatorError, Workload, summarise
from simulator.records import DEADLINE, FINISHED, KV_FULL, QUEUE_FULL, REJECTED, TENANT_CAP, TIMED_OUT, UNFINISHED
from tests.simulator.fleets import pool_of, run_fleet, workload_of


@pytest.fixture(params=["fast", "reference"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(engine: str, workload: Workload, admission: Admission, replicas: int = 1, **config: Any) -> EventLog:
    return run_fleet(engine, Fleet((pool_of(replicas, **config),), admission=admission), workload)


def test_a_full_line_turns_arrivals_away(engine: str) -> None:
    workload = workload_of([(0, 4, 3), (10, 4, 1), (20, 4, 1), (30, 4, 1), (310, 4, 1)])
    log = run(engine, workload, Admission(max_waiting=2), max_num_seqs=1)
    assert log.outcome.tolist() == [FINISHED, FINISHED, FINISHED, REJECTED, FINISHED]
    assert (log.reason[3], log.finish_ps[3], log.replica[3]) == (QUEUE_FULL, 30, -1)
    assert log.reason_of(3) == "the replica's waiting line was full"
    assert log.finish_ps[4] == 600


def test_a_bounded_line_bounds_the_wait_under_overload(engine: str) -> None:
    count = 300
    workload = workload_of([(50 * number, 4, 4) for number in range(count)])
    log = run(engine, workload, Admission(max_waiting=5), max_num_seqs=2)
    done = log.outcome == FINISHED
    # Two requests take 400; at most five wait and one joins in the step under way.
    assert (log.admitted_ps - log.arrival_ps)[done].max() <= 3 * 400
    assert 0.2 < done.mean() < 0.3  # offered: 8 in 400, served: 2
    assert run(engine, workload, Admission(), max_num_seqs=2).admitted_ps[-1] > 20_000


def test_a_replica_with_too_little_kv_left_turns_arrivals_away(engine: str) -> None:
    # Ten blocks of 4: a request of 8 tokens holds two, then three from its ninth on.
    workload = workload_of([(0, 8, 9), (50, 8, 2), (150, 8, 2), (350, 8, 2)])
    log = run(engine, workload, Admission(max_kv_ratio=0.41), num_blocks=10)
    # At 50 two blocks are held, at 150 three and two, at 350 three.
    assert log.outcome.tolist() == [FINISHED, FINISHED, REJECTED, FINISHED]
    assert log.reason[2] == KV_FULL


def test_a_request_not_admitted_by_its_deadline_is_dropped_at_the_next_boundary(engine: str) -> None:
    workload = workload_of([(0, 4, 3), (10, 4, 1), (20, 4, 1)], deadline_ps=[0, 100, 300])
    log = run(engine, workload, Admission(deadlines=True), max_num_seqs=1)
    assert log.outcome.tolist() == [FINISHED, REJECTED, FINISHED]
    assert (log.reason[1], log.finish_ps[1], log.replica[1]) == (DEADLINE, 200, 0)
    assert log.admitted_ps[2] == 300  # its deadline was 320
    ignored = run(engine, workload, Admission(), max_num_seqs=1)
    assert (ignored.outcome == FINISHED).all()


def test_deadlines_keep_those_that_are_served_within_them_under_overload(engine: str) -> None:
    count = 300
    workload = workload_of([(50 * number, 4, 4) for number in range(count)], deadline_ps=[1000] * count)
    log = run(engine, workload, Admission(deadlines=True), max_num_seqs=2)
    admitted = log.admitted_ps >= 0
    assert (log.admitted_ps - log.arrival_ps)[admitted].max() <= 1000
    assert (log.finish_ps - log.arrival_ps)[~admitted].min() > 1000
    assert 0.2 < admitted.mean() < 0.3


def test_a_client_that_gives_up_ends_its_request_also_while_it_runs(engine: str) -> None:
    workload = workload_of([(0, 4, 9), (10, 4, 3), (20, 4, 2)])
    log = run(engine, workload, Admission(timeout_ps=350), max_num_seqs=1)
    assert log.outcome.tolist() == [TIMED_OUT, TIMED_OUT, TIMED_OUT]
    assert log.generated_tokens.tolist() == [4, 0, 0]
    assert log.finish_ps.tolist() == [400, 400, 400]


def test_the_last_token_must_come_before_the_client_gives_up(engine: str) -> None:
    workload = workload_of([(0, 4, 5), (10, 4, 1)])
    log = run(engine, workload, Admission(timeout_ps=500), max_num_seqs=1)
    assert log.outcome.tolist() == [FINISHED, TIMED_OUT]
    assert log.finish_ps.tolist() == [500, 600]
    assert log.generated_tokens.tolist() == [5, 1]


def test_what_a_timed_out_request_held_is_free_for_others(engine: str) -> None:
    # The first holds 3 of 4 blocks and would until 400; the second needs 2.
    workload = workload_of([(0, 9, 4), (110, 5, 1)])
    held = run(engine, workload, Admission(), num_blocks=4)
    log = run(engine, workload, Admission(timeout_ps=199), num_blocks=4)
    assert held.admitted_ps[1] == 400
    assert log.outcome.tolist() == [TIMED_OUT, FINISHED]
    assert log.admitted_ps[1] == 200


def test_members_of_a_static_batch_that_give_up_before_they_entered_leave_it(engine: str) -> None:
    # All three are members; with 8 tokens a step the second and third have not entered at 100, when the third gives up.
    workload = workload_of([(0, 8, 3), (0, 8, 3), (0, 8, 3), (90, 8, 1)], deadline_ps=[500, 500, 50, 500])
    log = run(
        engine, workload, Admission(deadlines=True), scheduler="static", max_num_batched_tokens=8, max_model_len=16
    )
    assert log.outcome.tolist() == [FINISHED, FINISHED, REJECTED, FINISHED]
    # The first decodes at 100 and leaves 7 tokens to the second, the rest is computed at 200; then the batch goes on
    # alone: the last one, who came later, is no member.
    assert log.admitted_ps.tolist() == [0, 100, -1, 500]


def test_nobody_is_dropped_at_or_after_the_end_of_a_run_that_is_stopped(engine: str) -> None:
    workload = workload_of([(0, 4, 3), (10, 4, 1)], deadline_ps=[0, 50])
    fleet = Fleet((pool_of(max_num_seqs=1),), admission=Admission(deadlines=True))
    stopped = run_fleet(engine, fleet, workload, until_ps=100)
    assert stopped.outcome.tolist() == [UNFINISHED, UNFINISHED]
    later = run_fleet(engine, fleet, workload, until_ps=101)
    assert (later.outcome[1], later.finish_ps[1]) == (REJECTED, 100)


def test_timeouts_are_reported_and_do_not_raise_throughput(engine: str) -> None:
    """More clients than KV holds, in a closed loop, each with a timeout: the shortened run counts no lost tokens."""
    rows = [(0, 16, 32)] * 200
    settings = {"max_num_seqs": 32, "num_blocks": 48}
    base = workload_of(rows)
    loops = [Workload(base.arrival_ps, base.prompt_tokens, base.output_tokens, concurrency=c) for c in (4, 16)]
    few, many = (summarise(run(engine, loop, Admission(timeout_ps=6_000), **settings)) for loop in loops)
    assert few.timed_out == 0
    assert many.timed_out > 50
    assert many.finished + many.timed_out == 200
    assert many.output_tokens_per_s == pytest.approx(many.served_rps * 32)
    assert many.output_tokens_per_s <= 1.1 * few.output_tokens_per_s


def test_beyond_its_cap_a_tenant_is_rejected_or_held(engine: str) -> None:
    workload = workload_of([(0, 4, 3), (10, 4, 2), (20, 4, 2), (30, 4, 2)], tenant=[0, 0, 1, 0])
    rejected = run(engine, workload, Admission(tenant_cap=1))
    assert rejected.outcome.tolist() == [FINISHED, REJECTED, FINISHED, REJECTED]
    assert rejected.reason[1] == TENANT_CAP
    held = run(engine, workload, Admission(tenant_cap=1, over_cap="hold"))
    assert held.admitted_ps.tolist() == [0, 300, 100, 500]
    generous = run(engine, workload, Admission(tenant_cap=1, tenant_caps=(2,)))
    assert generous.outcome.tolist() == [FINISHED, FINISHED, FINISHED, REJECTED]


def test_held_requests_count_as_waiting_and_are_dropped_at_their_turn(engine: str) -> None:
    workload = workload_of([(0, 4, 4), (0, 4, 2)], deadline_ps=[1000, 100])
    hold = Admission(tenant_cap=1, over_cap="hold", deadlines=True)
    log = run(engine, workload, hold)
    assert (log.outcome[1], log.reason[1], log.finish_ps[1], log.replica[1]) == (REJECTED, DEADLINE, 400, -1)
    assert log.waiting_ps == 400


def test_a_tenant_never_has_more_inside_than_its_cap(engine: str) -> None:
    rng = np.random.default_rng(5)
    count = 200
    workload = Workload(
        np.sort(rng.integers(0, 20_000, count)), rng.integers(1, 20, count), rng.integers(1, 10, count),
        tenant=rng.integers(0, 3, count),
    )  # fmt: skip
    log = run(engine, workload, Admission(tenant_caps=(1, 2, 3), over_cap="hold"), replicas=2)
    assert (log.outcome == FINISHED).all()
    for number, cap in enumerate((1, 2, 3)):
        mine = workload.tenant == number
        starts, ends = log.admitted_ps[mine], log.finish_ps[mine]
        assert max(int(((starts <= at) & (ends > at)).sum()) for at in starts) <= cap


def test_a_rejection_lets_a_closed_loop_send_the_next(engine: str) -> None:
    base = workload_of([(0, 4, 3), (0, 4, 1), (0, 4, 1), (0, 4, 1)])
    loop = Workload(base.arrival_ps, base.prompt_tokens, base.output_tokens, concurrency=3)
    log = run(engine, loop, Admission(max_waiting=2), max_num_seqs=1)
    # All arrive at 0: two may wait, the third is rejected and so the fourth is sent, and rejected too.
    assert log.outcome.tolist() == [FINISHED, FINISHED, REJECTED, REJECTED]
    assert log.arrival_ps.tolist() == [0, 0, 0, 0]


def test_rejected_requests_are_counted_by_reason_and_miss_goodput(engine: str) -> None:
    workload = workload_of([(0, 4, 3), (10, 4, 1), (20, 4, 1), (30, 4, 1)], deadline_ps=[500, 100, 500, 500])
    log = run(engine, workload, Admission(max_waiting=2, deadlines=True), max_num_seqs=1)
    summary = summarise(log, slo=[GoodputSlo(ttft_ms=1.0)])
    assert (summary.finished, summary.rejected, summary.timed_out) == (2, 2, 0)
    assert summary.rejected_by_reason == {"queue_full": 1, "deadline": 1}
    assert summary.goodput[0].ratio == 0.5
    assert summary.e2e.samples == 2


def test_limits_that_make_no_sense_are_refused() -> None:
    for changes, code in (
        ({"max_waiting": 0}, "too_small"),
        ({"max_kv_ratio": 0.0}, "too_small"),
        ({"max_kv_ratio": 1.5}, "too_large"),
        ({"tenant_cap": 0}, "too_small"),
        ({"tenant_caps": (1, 0)}, "too_small"),
        ({"timeout_ps": 1.5}, "not_an_integer"),
        ({"over_cap": "queue"}, "unknown_policy"),
    ):
        with pytest.raises(SimulatorError) as caught:
            Admission(**changes)  # type: ignore[arg-type]
        assert caught.value.code == code
