"""The mode that bills the plan reaches every part of the money, and agrees with the row of the ways to run it."""

import json
from dataclasses import replace

import numpy as np
import pytest

from costmodel import Parallelism
from costmodel.pricing.terms import BILLING_MODES
from planner.planning import estimate_scenario, parse_scenario, plan
from planner.planning.money.bills import fleet_bill
from planner.planning.money.break_even import break_even_section
from planner.planning.money.horizon import horizon_section
from planner.planning.money.hosted import cheapest, hosted_bills
from planner.planning.money.hybrid import find_split
from planner.planning.money.operation import operation_rows
from planner.planning.money.sensitivity import Base, sensitivity
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.intervals import sized
from planner.planning.uncertainty.drivers import make_model
from tests.planning.scenarios import setup_of
from tests.planning.test_operation_rows import document


@pytest.fixture(scope="module")
def simulated():
    """One candidate, simulated once for all modes."""
    scenario = parse_scenario(document())
    job = make_job(scenario, lambda: None)
    return job, evaluate(job, setup_of(job, Parallelism(tp=1)))


class Billed:
    """All money of the candidate in one mode."""

    def __init__(self, simulated, mode, **billing):
        job, candidate = simulated
        self.scenario = parse_scenario(document(mode=mode, **billing))
        self.job = replace(job, scenario=self.scenario)
        self.size = sized(self.job, candidate)
        self.hosted = hosted_bills(self.scenario, job.load)
        self.against = cheapest(self.hosted)
        self.bill = fleet_bill(self.scenario, candidate.gpu, job.load, self.size, gpus_per_replica=1,
                               capacity_rps=self.size.capacity_rps, targets=job.targets,
                               against=self.against)  # fmt: skip
        self.usd = float(self.bill.cost.exact_usd_per_month)


@pytest.fixture(scope="module", params=BILLING_MODES)
def billed(simulated, request):
    return Billed(simulated, request.param, spot_price_ratio=0.4)


def test_the_bill_is_the_row_of_its_way_and_its_lines_add_up(billed):
    row = next(r for r in operation_rows(billed.job, billed.size, billed.bill, billed.against) if r["bills_the_plan"])
    assert row["key"] == billed.bill.mode == billed.scenario.billing.mode
    assert float(row["usd_per_month"]) == pytest.approx(billed.usd, abs=0.006)
    assert sum(line.usd_per_month for line in billed.bill.cost.lines) == billed.bill.cost.usd_per_month


def test_the_identity_returns_the_part_of_the_bill_that_is_the_fleets(billed):
    """Price of a paid hour / (tokens of an hour × utilisation), times the tokens that the fleet serves."""
    identity, month = billed.bill.identity, billed.bill.month
    tokens = float(identity.slo_tokens_per_replica_hour * identity.utilisation_ratio) * float(month.replica_hours)
    assert float(identity.usd_per_mtok) * tokens / 1e6 == pytest.approx(float(month.usd), rel=1e-9)


def test_growth_sensitivity_and_draws_start_at_the_bill(billed):
    horizon = horizon_section(billed.job, billed.size, billed.bill, billed.against)
    assert float(horizon["rows"][0]["self_host_usd"]) == pytest.approx(billed.usd, abs=0.006)
    model = make_model(billed.job, billed.size, billed.bill, billed.against, None)
    assert model.outcome({}, 1).fleet_usd[0] == pytest.approx(billed.usd, rel=0.02)
    api_usd = float(billed.against.bill.exact_usd_per_month)
    base = Base(billed.scenario, billed.job.load, billed.bill, billed.against, billed.size.candidate.replica,
                billed.size.capacity_rps, billed.job.targets.step_limit_ms, slow_serves=True)  # fmt: skip
    rows = {row["label"]: row for row in sensitivity(base)}
    gpus = float(billed.bill.month.usd)
    assert float(rows["GPU price"]["saving_low_usd_per_month"]) == pytest.approx(
        api_usd - billed.usd + 0.2 * gpus, abs=0.02
    )
    assert float(rows["Load"]["saving_high_usd_per_month"]) <= 1.2 * api_usd
    flip = float(billed.bill.flip_gpu_usd_per_hour(billed.size.candidate.gpu, billed.against.bill.exact_usd_per_month))
    assert flip * gpus + billed.usd - gpus == pytest.approx(api_usd, rel=1e-9)  # $1.00 is counted


def test_the_curve_passes_through_the_bill_and_crossings_part_the_cheaper_sides(billed):
    """On either side of every crossing the curve's own amounts say what is claimed."""
    section = break_even_section(billed.scenario, billed.job.load, billed.bill, billed.hosted)
    curve = section["curve"]
    at = float(billed.job.load.mean_rps)
    below = [p for p in curve if float(p["mean_rps"]) <= at]
    above = [p for p in curve if float(p["mean_rps"]) >= at]
    assert float(below[-1]["self_host_usd_per_month"]) <= 1.25 * billed.usd
    assert float(above[0]["self_host_usd_per_month"]) >= 0.8 * billed.usd
    against = section["against"][0]
    assert not against["never"]
    last = float(against["crossings"][-1]["mean_rps"])
    for point in curve:
        if float(point["mean_rps"]) > 1.0001 * last:
            assert float(point["self_host_usd_per_month"]) < float(point["api_usd_per_month"][0])


def test_a_split_never_costs_more_than_the_fleet_without_spares(billed):
    split = find_split(billed.scenario, billed.job.load, billed.size.candidate.gpu, billed.bill, billed.against,
                       gpus_per_replica=1, low_rps=billed.size.low_rps, high_rps=billed.size.high_rps)  # fmt: skip
    assert float(split.usd) <= min(float(split.fleet_usd), float(split.api_usd)) + 1e-6
    assert split.low_usd <= split.saving_usd <= split.high_usd


def test_the_cheapest_mode_is_of_those_allowed_that_keep_the_targets(simulated):
    found = {mode: Billed(simulated, mode, spot_price_ratio=0.1) for mode in BILLING_MODES}
    keeping = [mode for mode in BILLING_MODES if found[mode].bill.meets_targets]
    assert "spot" not in keeping
    chosen = Billed(simulated, "cheapest", spot_price_ratio=0.1, allowed_modes=list(BILLING_MODES))
    assert chosen.usd == min(found[mode].usd for mode in keeping)
    few = Billed(simulated, "cheapest", allowed_modes=["always_on", "autoscaled"])
    assert few.bill.mode == "autoscaled"
    assert few.usd == found["autoscaled"].usd
    assert Billed(simulated, "cheapest", allowed_modes=["spot"], spot_price_ratio=0.1).bill.mode == "always_on"


def test_a_plan_by_schedule_says_so_and_the_estimate_agrees_on_the_mode():
    scenario = document(mode="scheduled")
    report = plan(parse_scenario(scenario))
    assert report["recommended"]["billing"]["mode"] == "scheduled"
    assert report["cost"]["usd_per_month"]["mid"] < report["recommended"]["replicas"] * 730
    assert "run by a schedule and billed" in report["verdict"]["detail"]
    json.dumps(report)
    assert "run by a schedule and billed" in estimate_scenario(parse_scenario(scenario))["verdict"]["detail"]
    assert np.isfinite(report["uncertainty"]["verdict_flip_probability_ratio"])


def test_hardly_any_traffic_is_planned_in_every_mode(simulated):
    """A request in a quarter of an hour, to zero and by the cheapest mode."""
    scenario = document(mean_rps=0.001, mode="cheapest")
    report = plan(parse_scenario(scenario))
    assert report["recommended"]["billing"]["mode"] in ("scheduled", "autoscaled", "always_on")
    assert report["break_even"]["curve"]
    awake = plan(parse_scenario(document(mean_rps=0.001, mode="scale_to_zero")))
    assert awake["cost"]["usd_per_month"]["mid"] < report["cost"]["usd_per_month"]["mid"]
    assert "misses the targets" in awake["verdict"]["detail"]


def test_spot_without_a_price_is_out_for_that_reason():
    scenario = document(mode="spot")
    scenario["hardware"] = {"gpus": [{"id": "own", "memory_gib": 48, "memory_bandwidth_gb_per_s": 900,
                                      "bf16_dense_tflops": 180, "interconnect_gb_per_s": 30,
                                      "usd_per_gpu_hour": 1.0}]}  # fmt: skip
    report = estimate_scenario(parse_scenario(scenario))
    assert {row["reason"]["code"] for row in report["candidates"]} == {"no_spot_price"}
