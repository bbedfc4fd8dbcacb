"""The closed form against the readable engine, a pencil and the theory of queues."""

import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import parse_scenario
from planner.planning.search.closed_form import (
    capacity_rps,
    closed_form,
    gap_cv2,
    lone_latencies,
    sample_of,
    steady_at,
)
from planner.planning.search.concurrency import fixed_point, poisson_quantile
from planner.planning.search.replica import LONE_GAP_PS, Replica
from planner.planning.search.targets import slo_targets
from planner.planning.traffic.load import replica_stream, scenario_load
from simulator import EngineConfig, StepTime, Workload, simulate, summarise
from simulator.metrics import e2e_ms, tpot_ms, ttft_ms
from tests.planning.scenarios import changed

MS = 10**9


def load_of(prompt, output, *, prefix=0, slo=None, lengths=None, **arrival):
    document = changed("traffic.prompt_tokens", lengths or {"kind": "fixed", "tokens": prompt})
    document["traffic"]["output_tokens"] = {"kind": "fixed", "tokens": output}
    document["traffic"]["prefix"] = {"kind": "shared", "groups": 1, "tokens": prefix} if prefix else {"kind": "none"}
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["arrival"] = {"kind": "poisson", "mean_rps": 1, **arrival}
    document["slo"] = slo or {"ttft_p95_ms": 60_000}
    scenario = parse_scenario(document)
    return scenario_load(scenario, 32_768), slo_targets(scenario.slo)


def server(*, seats=64, budget=2048, per_token_us=100, per_context_ps=2_000, pair_ps=11, caching=False):
    """Every part of a step costs something: 1 ms, so much a token, a seat, a token of context, a pair, a prompt."""
    config = EngineConfig(
        max_num_seqs=seats,
        max_num_batched_tokens=budget,
        num_blocks=100_000,
        max_model_len=32_768,
        enable_prefix_caching=caching,
    )
    tokens = (MS + np.arange(budget + 1) * per_token_us * 10**6).astype(np.int64)
    tokens[0] = 0
    each_seat = (np.arange(seats + 1) * 30 * 10**6).astype(np.int64)
    context = np.full(seats + 1, per_context_ps, np.int64)
    return Replica(config, StepTime(tokens, each_seat, context, pair_ps, 5 * 10**6, 3 * MS), lambda: None)


def pencil(step_ms=20, seats=8):
    """Every step lasts the same."""
    config = EngineConfig(max_num_seqs=seats, max_num_batched_tokens=4096, num_blocks=100_000, max_model_len=16384)
    zeros = np.zeros(seats + 1, np.int64)
    return Replica(config, StepTime(np.full(4097, step_ms * MS, np.int64), zeros, zeros), lambda: None)


@pytest.mark.parametrize(
    ("prompt", "output", "prefix"),
    [(1, 1, 0), (100, 20, 0), (2048, 3, 0), (2049, 7, 0), (8192, 2, 0), (9000, 40, 0), (1000, 5, 603), (5000, 9, 4990)],
)
def test_a_lone_request_takes_exactly_what_the_readable_engine_says(prompt, output, prefix):
    replica = server(caching=bool(prefix))
    load, _ = load_of(prompt, output, prefix=prefix)
    alone = lone_latencies(replica, sample_of(replica, load))
    stream = Workload(
        arrival_ps=np.arange(2, dtype=np.int64) * LONE_GAP_PS,
        prompt_tokens=np.full(2, prompt),
        output_tokens=np.full(2, output),
        prefix_group=np.zeros(2, np.int64) if prefix else None,
        prefix_tokens=np.full(2, prefix) if prefix else None,
    )
    log = simulate(replica.config, replica.step_time, stream, engine="reference")
    assert alone.ttft_ms[0] == pytest.approx(ttft_ms(log)[1], rel=1e-12)
    assert alone.e2e_ms[0] == pytest.approx(e2e_ms(log)[1], rel=1e-12)
    if output > 1:
        assert alone.tpot_ms[0] == pytest.approx(tpot_ms(log)[1], rel=1e-12)
    else:
        assert np.isnan(alone.tpot_ms[0])


def test_the_fixed_point_by_hand():
    """Steps of 20 ms whatever is in them: half a step to wait, one for the prompt, 49 more tokens: 1.01 s."""
    load, _ = load_of(100, 50)
    found = fixed_point(closed_form(pencil(), load), 4.0)
    assert found.e2e_s == pytest.approx(1.01, rel=0.02)
    assert found.concurrency == pytest.approx(4.0 * found.e2e_s, rel=1e-6)
    assert found.iterations[0].concurrency == 0
    assert [turn.e2e_s for turn in found.iterations] == sorted(turn.e2e_s for turn in found.iterations)


@pytest.mark.parametrize(("prompt", "output", "rate"), [(200, 60, 8.0), (1500, 80, 2.0)])
def test_the_fixed_point_is_what_the_readable_engine_measures(prompt, output, rate):
    replica = server()
    load, _ = load_of(prompt, output)
    found = fixed_point(closed_form(replica, load), rate)
    stream = replica_stream(load, rate, 600)
    summary = summarise(simulate(replica.config, replica.step_time, stream, engine="reference"), warmup_ratio=0.1)
    assert found.concurrency == pytest.approx(summary.concurrency_mean, rel=0.15)
    assert found.e2e_s == pytest.approx(summary.littles_law.mean_time_s, rel=0.15)


def test_beyond_saturation_there_is_no_fixed_point_and_no_steady_state():
    load, _ = load_of(1000, 50)
    form = closed_form(server(), load)
    assert fixed_point(form, 1.2 * form.saturation_rps) is None
    assert steady_at(form, form.saturation_rps) is None


def test_capacity_lies_below_saturation_and_meets_the_targets():
    load, targets = load_of(300, 50, slo={"ttft_p95_ms": 500, "tpot_p95_ms": 12})
    form = closed_form(server(), load)
    rate = capacity_rps(form, targets)
    assert 0 < rate < form.saturation_rps
    assert np.nanpercentile(steady_at(form, rate).latencies.tpot_ms, 95) <= 12.1


def test_capacity_is_zero_where_even_a_trickle_misses():
    load, targets = load_of(300, 50, slo={"tpot_p95_ms": 1.05})
    assert capacity_rps(closed_form(server(), load), targets) == 0


@given(limit=st.floats(8, 60), looser=st.floats(1, 3))
def test_a_looser_target_never_costs_capacity(limit, looser):
    slow, _ = load_of(300, 50)
    form = closed_form(server(), slow)
    capacities = [capacity_rps(form, load_of(300, 50, slo={"tpot_p95_ms": x})[1]) for x in (limit, limit * looser)]
    assert capacities[0] <= capacities[1] * 1.005


def test_bursts_never_add_capacity():
    slo = {"ttft_p95_ms": 300, "tpot_p95_ms": 15}
    cases = [{"kind": "constant"}, {}, {"kind": "gamma", "cv": 2}, {"kind": "gamma", "cv": 4}]
    loads = [load_of(800, 50, slo=slo, **case) for case in cases]
    assert [gap_cv2(load) for load, _ in loads] == pytest.approx([0, 1, 4, 16])
    rates = [capacity_rps(closed_form(server(), load), targets) for load, targets in loads]
    assert all(later <= earlier * 1.01 for earlier, later in pairwise(rates))


def test_a_mean_of_15_35_has_a_p95_of_22():
    assert poisson_quantile(15.35, 0.95) == 22


@given(mean=st.floats(1e-3, 300), share=st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_a_poisson_quantile_is_the_smallest_that_reaches_the_share(mean, share):
    def at_most(k):
        return math.fsum(math.exp(i * math.log(mean) - mean - math.lgamma(i + 1)) for i in range(k + 1))

    k = poisson_quantile(mean, share)
    assert at_most(k) >= share - 1e-9
    assert k == 0 or at_most(k - 1) < share + 1e-9


@pytest.mark.parametrize(("mean", "share"), [(-1, 0.5), (math.nan, 0.5), (math.inf, 0.5), (1, 1), (1, 0)])
def test_no_quantile_of_nonsense(mean, share):
    with pytest.raises(ValueError):
        poisson_quantile(mean, share)
