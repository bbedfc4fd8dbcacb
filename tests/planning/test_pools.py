"""Prefill and decode pools: rates by hand, the smallest fleet against all others, and the plan that has them."""

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from planner.planning import parse_scenario, plan
from planner.planning.advice.kubernetes import manifests
from planner.planning.money.bills import fleet_bill
from planner.planning.report.launch_commands import engine_commands, pool_rows
from planner.planning.schema.serving import Serving
from planner.planning.search.apart import Apart, ApartRates, apart_rates, kv_transfer
from planner.planning.search.candidates import divided, make_job, prepare, setups_of, simulated
from planner.planning.search.capacity import stream_count
from planner.planning.search.fleet import settled_run
from planner.planning.search.intervals import sized
from planner.planning.search.inventory import resolve_gpus
from planner.planning.search.pools import pool_rates, with_prefill
from planner.planning.search.pruning import PoolOrder
from planner.planning.search.replica import estimate
from planner.planning.traffic.load import Mix
from planner.reports.xlsx_money import hosting_of
from simulator import EngineConfig, Transfer, linear_step_time
from simulator.records import FINISHED
from tests.planning.scenarios import changed, errors_of


def document(asked="auto", **serving):
    """Long prompts and a short time per token, on which replicas that do both lose to pools."""
    scenario = changed("serving", {"disaggregation": asked, **serving})
    scenario["model"] = {"id": "meta-llama/Llama-3.1-8B-Instruct"}
    scenario["hardware"] = {"gpus": ["H100-SXM5-80GB"], "tensor_parallel": [1]}
    scenario["traffic"] = {
        "arrival": {"kind": "poisson", "mean_rps": 12.0},
        "prompt_tokens": {"kind": "lognormal", "mean": 4000, "p95": 9000},
        "output_tokens": {"kind": "lognormal", "mean": 150, "p95": 350},
    }
    scenario["slo"] = {"ttft_p95_ms": 900, "tpot_p95_ms": 14}
    scenario["engine"]["max_num_batched_tokens"] = 8192
    return scenario


@pytest.fixture(scope="module")
def report():
    return plan(parse_scenario(document()))


@pytest.fixture(scope="module")
def sized_pools():
    job = make_job(parse_scenario(document()), lambda: None)
    gpu = resolve_gpus(job.scenario.hardware, job.scenario.priced_at)[0]
    return job, simulated(job, divided(job, prepare(job, setups_of(job, gpu)[0])))


def test_rates_of_both_pools_by_hand():
    config = EngineConfig(max_num_seqs=4, max_num_batched_tokens=100, num_blocks=1_000, max_model_len=1_000)
    step = linear_step_time(config, step_ps=10**9, decode_seq_ps=10**8, prefill_token_ps=0)
    mix = Mix(np.full(10, 200), np.full(10, 11), 0, 0, 0.0)
    rates = apart_rates(config, step, mix, None)
    assert rates.prefill_rps == pytest.approx(1 / (2 * 0.001))  # two whole steps of 1 ms
    assert rates.decode_rps == pytest.approx(4 / (10 * 0.0014))  # ten tokens, four at once, in steps of 1.4 ms
    assert rates.each_rps == pytest.approx(1 / (1 / 500 + 1 / (4 / 0.014)))
    slow = apart_rates(config, step, mix, 1.25, 1.0)
    assert slow.concurrency == pytest.approx(2.5, rel=0.02)  # 1 + 0.1 n ≤ 1.25 ms
    assert apart_rates(config, step, mix, None, 2.0).each_rps == pytest.approx(rates.each_rps / 2)


def test_engines_are_shared_out_as_the_pools_need_them():
    rates = ApartRates(prefill_rps=10.0, decode_rps=30.0, concurrency=8.0, within_limit=True)
    assert rates.prefill_ratio == pytest.approx(0.75)
    assert [rates.best_prefill(engines) for engines in (2, 4, 8)] == [1, 3, 6]
    assert [rates.fewest(rate) for rate in (5, 10, 31, 90)] == [2, 2, 6, 12]
    for engines, prefill in ((n, p) for n in range(2, 40) for p in range(1, n)):
        shared = Apart(Transfer(token_ps=1), prefill / engines)
        assert shared.split(engines) == (prefill, engines - prefill)


def test_the_link_takes_the_bytes_of_a_gpu(sized_pools):
    memory = sized_pools[1].memory
    sent = kv_transfer(memory, Serving(kv_link_gb_per_s=25.0, kv_latency_ms=3.0))
    assert sent.token_ps == pytest.approx(memory.kv_bytes_per_token / 25e9 * 1e12, rel=1e-3)
    assert sent.latency_ps == 3 * 10**9


def test_no_smaller_fleet_meets_the_targets_in_any_split(sized_pools):
    """All splits of all fleets up to the one found, each simulated: the search loses nothing."""
    job, candidate = sized_pools
    start = estimate(candidate.replica, job.load.mix, job.targets.step_limit_ms)
    count = stream_count(job.targets, start)
    least = pool_rates(candidate.replica, job.load, job.targets).fewest(job.load.peak_rps)
    serving = candidate.fleet.serving
    meeting = [
        engines
        for engines in range(least - 1, serving + 1)
        for prefill in range(1, engines)
        if settled_run(
            with_prefill(candidate.replica, prefill, engines), job.load, job.targets, engines, count, job.load.peak_rps
        ).ok
    ]
    assert min(meeting) == serving


def test_every_request_of_the_fleet_gets_its_tokens(sized_pools):
    log = sized_pools[1].fleet.run.logs[0]
    assert (log.outcome == FINISHED).all()
    assert (log.generated_tokens == log.output_tokens).all()


def test_pools_are_taken_where_they_cost_less(report):
    rows = {row["id"]: row for row in report["candidates"]}
    both, apart = (rows[f"H100-SXM5-80GB/tp1{end}"] for end in ("", "-pd"))
    assert apart["usd_per_month"]["mid"] < both["usd_per_month"]["mid"]
    chosen = report["recommended"]
    assert chosen["candidate"] == apart["id"]
    pools = chosen["pools"]
    assert [pool["role"] for pool in pools] == ["prefill", "decode"]
    assert sum(pool["serving_replicas"] for pool in pools) == chosen["serving_replicas"]
    assert "kv_both" in pools[0]["commands"]["vllm"]
    assert "--disaggregation-mode decode" in pools[1]["commands"]["sglang"]
    assert report["confirmation"]["peak_hour"]["met"]
    assert report["hybrid"] is None  # two engines of three carry less than two thirds
    assert "for prompts and" in report["verdict"]["detail"]
    kinds = [(item["kind"], item["metadata"]["name"].rsplit("-", 1)[-1]) for item in report["advice"]["kubernetes"]]
    assert kinds == list(itertools.product(("Deployment", "Service"), ("prefill",))) + list(
        itertools.product(("Deployment", "Service"), ("decode",))
    )


def gpus_of(documents):
    return sum(
        item["spec"]["replicas"]
        * int(item["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])
        for item in documents
        if item["kind"] == "Deployment"
    )


def test_report_workbook_and_manifests_count_a_spare_in_each_pool(report):
    chosen = report["recommended"]
    assert chosen["spare_replicas"] == 2
    assert [pool["replicas"] - pool["serving_replicas"] for pool in chosen["pools"]] == [1, 1]
    assert chosen["replicas"] == sum(pool["replicas"] for pool in chosen["pools"])
    assert chosen["gpus"] == sum(pool["gpus"] for pool in chosen["pools"]) == gpus_of(report["advice"]["kubernetes"])
    assert "with 2 spare replicas, 1 in each pool, the fleet costs" in report["verdict"]["detail"]
    host = hosting_of(report)
    assert (host.serving_replicas + host.spare_replicas) * host.gpus_per_replica == chosen["gpus"]
    month = chosen["gpus"] * host.hours_per_month * host.usd_per_gpu_hour
    assert host.usd_per_month == pytest.approx(month, abs=0.01)


@pytest.fixture(scope="module")
def sized_whole(sized_pools):
    job, pools = sized_pools
    return simulated(job, prepare(job, setups_of(job, pools.gpu)[0]))


@pytest.mark.parametrize("mode", ["always_on", "scheduled", "scale_to_zero", "committed_1y", "spot"])
@pytest.mark.parametrize("spares", [0, 1, 2])
def test_manifests_ask_for_the_gpus_that_are_billed(sized_pools, sized_whole, spares, mode):
    billing = {"mode": mode, "spare_replicas": spares, "hours_per_month": 730, "spot_interruptions_per_hour": 0.5}
    job = replace(sized_pools[0], scenario=parse_scenario(changed("billing", billing, document())))
    for candidate in (sized_pools[1], sized_whole):
        size = sized(job, candidate)
        bill = fleet_bill(
            job.scenario, candidate.gpu, job.load, size, gpus_per_replica=candidate.gpus_per_replica,
            capacity_rps=size.capacity_rps, targets=job.targets, against=None, pools=candidate.pools,
        )  # fmt: skip
        kept = 0 if mode == "scale_to_zero" else spares * (2 if candidate.apart else 1)
        assert bill.cost.replicas == bill.month.bought + kept
        rows = pool_rows(job.scenario, candidate, bill)
        asked = manifests(job, size, bill, engine_commands(job.scenario, candidate.deployment), rows, [])
        assert gpus_of(asked) == bill.cost.gpus
        assert [row["serving_replicas"] for row in rows] == list(candidate.split or ())
        assert all(row["replicas"] >= row["serving_replicas"] + row["spare_replicas"] for row in rows)


def test_the_load_of_pools_obeys_littles_law(report):
    little = report["load"]["littles_law"]
    assert little["arrival_rps"] == pytest.approx(report["load"]["offered_rps"], rel=0.03)
    assert little["product"] == pytest.approx(little["measured"], rel=0.02)
    assert report["load"]["served_rps"] == pytest.approx(report["load"]["offered_rps"], rel=0.03)


def test_a_slow_link_makes_pools_dearer(sized_pools):
    job = make_job(parse_scenario(document(kv_link_gb_per_s=0.5)), lambda: None)
    gpu = resolve_gpus(job.scenario.hardware, job.scenario.priced_at)[0]
    slow = simulated(job, divided(job, prepare(job, setups_of(job, gpu)[0])))
    assert slow.fleet is None or slow.fleet.serving > sized_pools[1].fleet.serving


def test_without_asking_there_are_none():
    found = plan(parse_scenario(changed("serving", {"disaggregation": "off"}, document())))
    assert found["recommended"]["pools"] == []
    assert [row["id"] for row in found["candidates"]] == ["H100-SXM5-80GB/tp1"]


def test_what_cannot_be_cheaper_is_not_simulated(sized_pools):
    job, candidate = sized_pools
    gpu = candidate.gpu
    prepared = [prepare(job, setup) for setup in setups_of(job, gpu)]
    order = PoolOrder(job, prepared)
    order.found(Fraction(1))
    assert list(order) == []
    order.again(None)
    assert [item.id for item in order] == [candidate.id]
    assert list(order) == []


def test_other_engines_have_no_pools():
    (fault,) = errors_of(changed("engine", {"name": "sglang", "max_model_len": 16384}, document()))
    assert (fault.code, fault.pointer) == ("conflict", "/serving/disaggregation")
