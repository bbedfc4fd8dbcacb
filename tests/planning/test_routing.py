"""Routers as part of the plan: what they save, and that dealing in turn stays where they save nothing."""

import pytest

from planner.planning import parse_scenario, plan
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.capacity import logged_lanes
from planner.planning.search.routing import routers_asked
from tests.planning.scenarios import changed, errors_of, layouts_of, setup_of


def document(router, groups=200, tokens=900):
    """Prompts of which half is one of many prefixes: who keeps them apart computes less."""
    scenario = changed("serving", {"router": router})
    scenario["model"] = {"id": "meta-llama/Llama-3.1-8B-Instruct"}
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1]}
    scenario["traffic"]["arrival"]["mean_rps"] = 4.0
    scenario["traffic"]["prompt_tokens"] = {"kind": "lognormal", "mean": 1800, "p95": 3000}
    scenario["traffic"]["prefix"] = {"kind": "shared", "groups": groups, "tokens": tokens}
    scenario["slo"] = {"ttft_p95_ms": 500, "tpot_p95_ms": 60}
    return scenario


def evaluated(router, **more):
    job = make_job(parse_scenario(document(router, **more)), lambda: None)
    return job, evaluate(job, setup_of(job, layouts_of(job)[0]))


@pytest.fixture(scope="module")
def in_turn():
    return evaluated("round_robin")[1]


def test_auto_takes_the_fewest_replicas_of_all_routers(in_turn):
    job, auto = evaluated("auto")
    each = [evaluated(router)[1].fleet.serving for router in routers_asked("auto", job.load)]
    assert auto.fleet.serving <= in_turn.fleet.serving
    assert auto.fleet.serving <= min(each) + 1  # those are not confirmed by other draws yet
    if auto.fleet.serving == in_turn.fleet.serving:
        assert auto.replica.router == "round_robin"
    else:
        assert auto.fleet.in_turn == in_turn.fleet.serving


def test_a_router_that_knows_prefixes_finds_more_of_them(in_turn):
    def hits(candidate):
        log = candidate.fleet.run.logs[0]
        return log.cached_tokens.sum() / log.prompt_tokens.sum()

    job, affine = evaluated("prefix_affine")
    assert hits(affine) > 1.2 * hits(in_turn)
    assert affine.fleet.run.ok
    assert logged_lanes(affine.replica, job.load, affine.fleet.serving) == affine.fleet.serving
    assert len(affine.fleet.run.logs[0].replicas) == affine.fleet.serving


def test_only_shared_prompts_are_looked_at_by_prefix():
    job = make_job(parse_scenario(changed("traffic.prefix", {"kind": "none"}, document("auto"))), lambda: None)
    assert routers_asked("auto", job.load) == ("least_requests",)
    assert routers_asked("round_robin", job.load) == ()


def test_the_report_says_how_requests_are_dealt_and_why():
    report = plan(parse_scenario(document("kv_aware")))
    router = report["recommended"]["router"]
    assert router["key"] == "kv_aware"
    assert f"dealt in turn it takes {router['serving_replicas_in_turn']}" in router["sentence"]
    assert report["confirmation"]["peak_hour"]["router"] == "kv_aware"
    assert report["confirmation"]["peak_hour"]["met"]
    assert [row["router"] for row in report["confirmation"]["routers"]] == ["kv_aware", "round_robin"]
    assert report["load"]["served_rps"] == pytest.approx(report["load"]["offered_rps"], rel=0.03)
    little = report["load"]["littles_law"]
    assert little["product"] == pytest.approx(little["measured"], rel=0.02)


def test_unknown_routers_are_refused():
    (fault,) = errors_of(changed("serving.router", "nearest", document("auto")))
    assert (fault.code, fault.pointer) == ("unknown_choice", "/serving/router")
