"""The closed form of a replica, the lone requests of an idle one, and the rate of a drawn stream."""

from dataclasses import replace

import numpy as np
import pytest

from costmodel import Parallelism
from planner.planning import parse_scenario, plan
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.capacity import run_at
from planner.planning.search.feasibility import lone_request_reason
from planner.planning.search.replica import Replica, estimate, lone_stream
from planner.planning.search.targets import slo_targets
from planner.planning.traffic.load import replica_stream, scenario_load
from simulator import EngineConfig, StepTime
from tests.planning.scenarios import changed, setup_of

MS = 10**9


def load_of(prompt, output, *, prefix=0, groups=1, slo=None, **arrival):
    document = changed("traffic.prompt_tokens", {"kind": "fixed", "tokens": prompt})
    document["traffic"]["output_tokens"] = {"kind": "fixed", "tokens": output}
    shared = {"kind": "shared", "groups": groups, "tokens": prefix}
    document["traffic"]["prefix"] = shared if prefix else {"kind": "none"}
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["arrival"] = {"kind": "poisson", "mean_rps": 1, **arrival}
    document["slo"] = slo or {"ttft_p95_ms": 60_000}
    scenario = parse_scenario(document)
    return scenario_load(scenario, 32_768), slo_targets(scenario.slo)


def server(*, budget=2048, blocks=100_000, per_token_us=100, caching=False):
    """A step takes 1 ms and 0.1 ms a token."""
    config = EngineConfig(
        max_num_seqs=64,
        max_num_batched_tokens=budget,
        num_blocks=blocks,
        max_model_len=32_768,
        enable_prefix_caching=caching,
    )
    tokens = (MS + np.arange(budget + 1) * per_token_us * 10**6).astype(np.int64)
    tokens[0] = 0
    zeros = np.zeros(65, np.int64)
    return Replica(config, StepTime(tokens, zeros, zeros), lambda: None)


@pytest.mark.parametrize("kind", [{}, {"kind": "gamma", "cv": 4}, {"kind": "constant"}])
@pytest.mark.parametrize("replicas", [1, 7])
def test_a_drawn_stream_has_exactly_the_rate_asked_for(kind, replicas):
    load, _ = load_of(100, 50, **kind)
    stream = replica_stream(load, 14.0, 6_000, replicas=replicas)
    assert 6_000 / (stream.arrival_ps[-1] / 1e12) == pytest.approx(14.0 / replicas, rel=1e-9)


def test_a_prompt_beyond_the_budget_takes_its_steps_in_the_closed_form_too():
    """16,000 tokens in steps of 2,048: 16,000 × 0.1 ms and 7.8 steps of 1 ms for each request, 0.62 a second."""
    load, _ = load_of(16_000, 1)
    assert estimate(server(), load.mix, None).saturation_rps == pytest.approx(1 / 1.608, rel=0.01)


@pytest.mark.parametrize(("prefix", "groups", "blocks"), [(0, 1, 9_000), (3_600, 1, 9_000), (3_600, 8, 4_000)])
def test_no_stable_rate_lies_beyond_saturation(prefix, groups, blocks):
    """A shared prefix is neither computed again nor held again for each request."""
    load, targets = load_of(4_000, 100, prefix=prefix, groups=groups)
    replica = server(blocks=blocks, caching=True)
    saturation = estimate(replica, load.mix, None).saturation_rps
    assert not run_at(replica, load, targets, 1.1 * saturation, 4_000).stable
    assert run_at(replica, load, targets, 0.8 * saturation, 4_000).stable


def test_a_cached_prefix_counts_for_an_idle_replica():
    """Of 4,000 tokens 3,600 are cached: 41 ms to the first token, not 402; so a target of 100 ms is in reach."""
    load, targets = load_of(4_000, 10, prefix=3_600, slo={"ttft_p95_ms": 100})
    assert lone_request_reason(server(caching=True), load, targets) is None
    assert lone_request_reason(server(caching=False), load, targets) is not None
    assert lone_stream(load).prefix_tokens is not None


def test_a_preempted_request_finds_its_own_blocks_again():
    """Ten prompts of 16,000 tokens fill the pool. Recomputed whole, each preemption would cost 1.6 s of prefill and the
    queue would grow at half the load that the replica carries; vLLM's prefix cache, on by default, spares that. So it
    goes where a prompt is let in with room for its first chunk, before 0.19."""
    document = changed("hardware", {"gpus": ["H200-SXM-141GB"], "tensor_parallel": [1]})
    document["traffic"]["prefix"] = {"kind": "none"}
    document["traffic"]["shape"] = {"kind": "constant"}
    document["traffic"]["arrival"]["mean_rps"] = 0.2
    document["traffic"]["prompt_tokens"] = {"kind": "lognormal", "mean": 16_000, "p95": 24_000}
    document["traffic"]["output_tokens"] = {"kind": "lognormal", "mean": 300, "p95": 700}
    document["model"]["kv_dtype"] = "bf16"
    document["engine"] |= {"version": "0.15.1", "max_model_len": 65_536}
    document["slo"] = {"ttft_p95_ms": 60_000}
    job = make_job(parse_scenario(document), lambda: None)
    replica = evaluate(job, setup_of(job, Parallelism(tp=1))).replica
    assert replica.config.enable_prefix_caching
    assert run_at(replica, job.load, job.targets, 0.2, 2_000).ok
    without = replace(replica, config=replace(replica.config, enable_prefix_caching=False))
    assert not run_at(without, job.load, job.targets, 0.2, 2_000).ok


def test_a_run_too_short_to_show_its_queue_is_still_unstable_beyond_saturation():
    """5 % beyond what the replica can do, and too few requests for the queue to be told from chance."""
    load, targets = load_of(100, 50, slo={"e2e_p95_ms": 600_000})
    replica = server()
    saturation = estimate(replica, load.mix, None).saturation_rps
    run = run_at(replica, load, targets, 1.05 * saturation, 50)
    assert not run.stable
    assert run.growth_rps >= 0.04 * saturation


def test_a_trickle_is_simulated_at_its_own_rate():
    """One request in 20 minutes: 1,666 of them fill the longest run; fewer are drawn, none are hurried."""
    load, _ = load_of(100, 50, mean_rps=1 / 1_200)
    stream = replica_stream(load, load.peak_rps, 8_000)
    assert len(stream.arrival_ps) == 1_666
    assert 1_666 / (stream.arrival_ps[-1] / 1e12) == pytest.approx(1 / 1_200, rel=1e-9)


def test_counts_per_second_of_a_trickle_are_those_of_the_load():
    document = changed("traffic.arrival.mean_rps", 0.0002)
    document["hardware"]["tensor_parallel"] = [2]
    load = plan(parse_scenario(document))["load"]
    assert load["served_rps"] == pytest.approx(load["offered_rps"], rel=0.1)
    assert load["littles_law"]["arrival_rps"] == pytest.approx(load["offered_rps"], rel=0.01)
    assert load["concurrency_mean"] == pytest.approx(load["littles_law"]["measured"], rel=0.01)
