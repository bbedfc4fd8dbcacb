"""Targets that nothing can show are refused or named, never read as missed."""

from dataclasses import replace

import numpy as np
import pytest

from planner.planning import plan
from planner.planning.schema import parse_scenario
from planner.planning.search.capacity import backlog_rps, run_at
from planner.planning.search.feasibility import lone_request_reason
from planner.planning.search.replica import LONE_GAP_PS, lone_stream
from planner.planning.search.targets import slo_targets
from planner.planning.traffic.load import scenario_load
from tests.planning.scenarios import changed, errors_of
from tests.planning.test_capacity import server


def traced(rows, slo=None):
    document = changed("traffic", {"trace": {"rows": rows}})
    return document if slo is None else {**document, "slo": slo}


def evenly(count, prompt=1000, output=200):
    return [[float(i), prompt, output] for i in range(count)]


def faults(document):
    return {(e.code, e.pointer) for e in errors_of(document)}


@pytest.mark.parametrize(
    ("count", "slo", "pointers"),
    [
        (10, {"ttft_p95_ms": 1000, "ttft_p90_ms": 900}, {"/slo/ttft_p95_ms"}),
        (99, {"e2e_p99_ms": 1000, "ttft_p95_ms": 1000}, {"/slo/e2e_p99_ms"}),
        (100, {"e2e_p99_ms": 1000}, set()),
        (10, {"itl_p95_ms": 50}, set()),
    ],
)
def test_a_percentile_needs_enough_requests_of_the_trace(count, slo, pointers):
    assert faults(traced(evenly(count), slo)) == {("too_few_samples", pointer) for pointer in pointers}


@pytest.mark.parametrize(
    "lengths",
    [
        {"kind": "fixed", "tokens": 1},
        {"kind": "empirical", "values": [1, 1]},
        {"kind": "empirical", "quantiles": [[0, 1], [1, 1.4]]},
    ],
)
def test_single_tokens_have_no_time_between_them(lengths):
    document = changed("traffic.output_tokens", lengths)
    assert faults(document) == {("no_second_token", "/slo/tpot_p95_ms")}
    assert faults({**document, "slo": {"ttft_p95_ms": 1000}}) == set()


def test_outputs_cut_to_one_token_and_traces_of_single_tokens_are_seen_too():
    assert faults(changed("engine.max_tokens", 1)) == {("no_second_token", "/slo/tpot_p95_ms")}
    assert faults(traced(evenly(200, output=1))) == {("no_second_token", "/slo/tpot_p95_ms")}


def test_served_requests_at_one_time_have_no_rate():
    rows = [[0.0, 100, 10]] * 30 + [[100.0, 100, 0]]
    assert faults(traced(rows)) == {("trace_no_span", "/traffic/trace/rows")}


def test_a_target_that_too_few_requests_can_show_is_named_as_such():
    values = [1] * 20_000 + [2]
    document = changed("traffic.output_tokens", {"kind": "empirical", "values": values})
    scenario = parse_scenario({**document, "slo": {"tpot_p99_ms": 50}})
    load = scenario_load(scenario, 16_384)
    reason = lone_request_reason(server(), load, slo_targets(scenario.slo))
    assert reason.code == "too_few_samples"


def test_the_last_arrivals_of_a_trace_are_no_backlog():
    scenario = parse_scenario(traced(evenly(50)))
    load = scenario_load(scenario, 16_384)
    run = run_at(server(step_ms=23), load, slo_targets(scenario.slo), load.peak_rps, 0)
    assert int(run.logs[0].admitted_ps[-1]) > int(run.logs[0].arrival_ps[-1])
    assert backlog_rps(run.logs[0]) == 0.0
    assert run.stable


def test_requests_that_take_an_hour_are_judged_not_failed():
    """100,000 tokens at 2 s a step are 55 hours each; 1,000 of them would outlast the simulator's clock."""
    document = changed("traffic.output_tokens", {"kind": "fixed", "tokens": 100_000})
    document["traffic"]["prompt_tokens"] = {"kind": "fixed", "tokens": 100}
    document["traffic"]["prefix"] = {"kind": "none"}
    document["engine"] = {}
    scenario = parse_scenario({**document, "slo": {"e2e_p95_ms": 3_600_000}})
    slow = server(step_ms=2_000)
    slow = replace(slow, config=replace(slow.config, max_model_len=131_072))
    reason = lone_request_reason(slow, scenario_load(scenario, 131_072), slo_targets(scenario.slo))
    assert reason.code == "e2e_of_single_request"
    assert "never reached" in reason.detail
    assert "target above" not in reason.nearest_change


def test_a_slow_gpu_with_long_requests_has_a_reason():
    document = changed("traffic.output_tokens", {"kind": "fixed", "tokens": 30_000})
    document["traffic"]["prompt_tokens"] = {"kind": "fixed", "tokens": 90_000}
    document["traffic"]["prefix"] = {"kind": "none"}
    document["engine"] = {}
    document["hardware"] = {"gpus": [_slow_gpu()], "tensor_parallel": [1]}
    report = plan(parse_scenario(document))
    assert report["verdict"]["choice"] == "none"
    assert report["candidates"][0]["reason"]["code"] == "ttft_of_single_request"


def _slow_gpu():
    return {
        "id": "slow",
        "memory_gib": 400,
        "memory_bandwidth_gb_per_s": 2_000,
        "bf16_dense_tflops": 2,
        "interconnect_gb_per_s": 10,
        "usd_per_gpu_hour": 1,
    }


def test_lone_requests_never_meet_within_the_clock():
    load = scenario_load(parse_scenario(changed("seed", 1)), 16_384)
    assert set(np.diff(lone_stream(load).arrival_ps)) == {LONE_GAP_PS}
