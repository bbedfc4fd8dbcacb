"""Probabilities and intervals: by hand where a pencil does it, else against fresh simulations and invariants."""

import math
from decimal import Decimal

import numpy as np
import pytest

from costmodel import Parallelism
from planner.planning import parse_scenario, plan
from planner.planning.money.bills import fleet_bill
from planner.planning.money.hosted import cheapest, hosted_bills
from planner.planning.search.candidates import evaluate, make_job
from planner.planning.search.capacity import run_at
from planner.planning.search.intervals import sized_by_simulation
from planner.planning.search.inventory import resolve_gpus
from planner.planning.uncertainty.drivers import drivers_of, make_model
from planner.planning.uncertainty.monte_carlo import draw, driver_rows, flip_probability, headline_rows
from planner.planning.uncertainty.slo_probability import quick_probability, residuals, simulated_probability
from planner.planning.uncertainty.spread import Z90, beyond, from_p10_p90, from_quartiles, within
from planner.planning.uncertainty.trials import trial_rows, trials_sentence
from tests.planning.scenarios import changed, setup_of

CERTAIN_INPUTS = {
    "load_factor": 1.0, "prompt_tokens_factor": 1.0, "output_tokens_factor": 1.0, "token_ratio_factor": 1.0,
    "gpu_price_factor": 1.0, "api_price_factor": 1.0,
}  # fmt: skip


def document(**uncertainty):
    """Llama-3.1-8B on an L40S, a few requests a second, against an API."""
    scenario = changed("model", {"id": "meta-llama/Llama-3.1-8B-Instruct"})
    scenario["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1]}
    scenario["traffic"]["prefix"] = {"kind": "none"}
    scenario["slo"] = {"ttft_p95_ms": 1000, "tpot_p95_ms": 50}
    scenario["api"] = {"alternatives": [{"provider": "groq", "model": "llama-3.1-8b-instant"}]}
    scenario["uncertainty"] = uncertainty
    return scenario


class Setup:
    def __init__(self, scenario_document):
        self.scenario = parse_scenario(scenario_document)
        self.job = make_job(self.scenario, lambda: None)
        gpu = resolve_gpus(self.scenario.hardware, self.scenario.priced_at)[0]
        self.candidate = evaluate(self.job, setup_of(self.job, Parallelism(tp=1)))
        self.size = sized_by_simulation(self.job, self.candidate)
        self.against = cheapest(hosted_bills(self.scenario, self.job.load))
        self.bill = fleet_bill(self.scenario, gpu, self.job.load, self.size, gpus_per_replica=1,
                               capacity_rps=self.size.capacity_rps, targets=self.job.targets,
                               against=self.against)  # fmt: skip
        self.model = make_model(self.job, self.size, self.bill, self.against, None)
        self.drivers = drivers_of(self.job, self.size, self.against)


@pytest.fixture(scope="module")
def setup():
    return Setup(document())


def test_a_spread_has_its_percentiles_and_inverts():
    spread = from_p10_p90(0.8, 1.5)
    assert spread.at(np.array([-Z90, 0.0, Z90])) == pytest.approx([0.8, 1.0, 1.5])
    assert spread.below(0.8) == pytest.approx(0.1)
    assert spread.below(1.5) == pytest.approx(0.9)
    for share in (0.02, 0.3, 0.5, 0.77, 0.99):
        assert spread.below(spread.value_at(share)) == pytest.approx(share)
    quartiles = from_quartiles(0.9, 1.4)
    assert quartiles.below(0.9) == pytest.approx(0.25)
    assert quartiles.below(1.4) == pytest.approx(0.75)
    assert within(1.2).below(1 / 1.2) == pytest.approx(0.1)
    assert within(1.0).known
    assert within(1.0).below(1.0) == 1.0
    assert within(1.0).below(0.999) == 0.0


def test_independent_errors_add_as_squares():
    part, whole = within(1.3), within(1.6)
    rest = beyond(whole, part)
    assert math.hypot(rest.up, part.up) == pytest.approx(whole.up)
    assert beyond(part, whole).known


def test_the_stated_probability_holds_over_fresh_seeds_with_drawn_errors(setup):
    """40 seeds, each with steps and TTFT off as the residuals say; the share that meets every target is as stated."""
    size, job, replica = setup.size, setup.job, setup.candidate.replica
    known = residuals(size.coverage)
    rng = np.random.default_rng(5)
    weights = np.exp(-(np.linspace(-2.2, 2.2, 40) ** 2) / 2)
    ttfts = known.ttft_beyond.at(rng.standard_normal(40))
    met = []
    for seed, (step, ttft) in enumerate(zip(known.step.at(np.linspace(-2.2, 2.2, 40)), ttfts, strict=True), start=100):
        fresh = make_job(setup.scenario.model_copy(update={"seed": seed}), lambda: None)
        run = run_at(replica.slowed(float(step)), fresh.load, job.targets, job.load.peak_rps, 3_000,
                     replicas=size.serving, sampled=min(2, size.serving))  # fmt: skip
        met.append(run.stable and all(
            item.predicted is not None
            and item.target.met_by(item.predicted * (ttft if item.target.metric == "ttft" else 1.0))
            for item in run.judged
        ))  # fmt: skip
    share = float(np.average(met, weights=weights))
    stated = simulated_probability(job, size, size.serving)
    assert share == pytest.approx(stated, abs=0.2)


def test_fewer_replicas_are_less_likely_to_do_and_more_are_likelier(setup):
    serving = setup.size.serving
    assert serving > 1
    fewer, planned, more = (
        simulated_probability(setup.job, setup.size, n) for n in (serving - 1, serving, serving + 2)
    )
    assert 0 <= fewer <= planned <= more <= 1
    assert fewer < more
    assert quick_probability(setup.job, setup.size) == pytest.approx(planned, abs=0.25)


def test_the_fleet_is_resized_in_each_draw(setup):
    """Twice the load and steps as planned: ceil(2 × peak / capacity) replicas, and twice the API's bill."""
    out = setup.model.outcome({"load": np.array([1.0, 2.0])}, 2)
    peak, capacity = setup.job.load.peak_rps, setup.size.capacity_rps
    assert out.serving.tolist() == [setup.size.serving, math.ceil(2 * peak / capacity)]
    month = float(setup.bill.cost.exact_usd_per_month) / setup.bill.cost.replicas
    assert out.fleet_usd[1] == pytest.approx((out.serving[1] + 1) * month)
    assert out.api_usd[1] == pytest.approx(2 * float(setup.against.bill.exact_usd_per_month), rel=1e-4)


def test_as_planned_the_draw_is_the_plan(setup):
    out = setup.model.outcome({}, 1)
    assert out.fleet_usd[0] == pytest.approx(float(setup.bill.cost.exact_usd_per_month))
    assert out.api_usd[0] == pytest.approx(float(setup.against.bill.exact_usd_per_month), abs=0.02)
    assert out.capacity_rps[0] == pytest.approx(setup.size.capacity_rps)


@pytest.mark.parametrize("key", ["gpu_price", "step_time", "output"])
def test_dearer_gpus_slower_steps_and_longer_outputs_never_make_the_fleet_cheaper(setup, key):
    out = setup.model.outcome({key: np.linspace(0.7, 1.6, 40)}, 40)
    assert (np.diff(out.fleet_usd) >= -1e-6).all()


def test_inputs_that_are_known_leave_only_the_model(setup):
    known = Setup(document(**CERTAIN_INPUTS))
    assert [driver.key for driver in known.drivers] == ["step_time"]
    rows = {row["key"]: row for row in headline_rows(known.model, draw(known.model, known.drivers))}
    assert rows["api_usd_per_month"]["p10"] == rows["api_usd_per_month"]["p90"]
    assert rows["serving_replicas"]["p10"] <= known.size.serving <= rows["serving_replicas"]["p90"]


def test_percentiles_rise_and_hold_the_plan_between_them(setup):
    rows = headline_rows(setup.model, draw(setup.model, setup.drivers))
    for row in rows:
        assert row["p10"] <= row["p50"] <= row["p90"]
    saving = next(row for row in rows if row["key"] == "saving_usd_per_month")
    assert isinstance(saving["p50"], Decimal)
    assert saving["p10"] <= setup.against.bill.usd_per_month - setup.bill.cost.usd_per_month <= saving["p90"]


def test_the_price_that_turns_the_verdict_is_that_of_the_verdict():
    """The GPU price at which both cost the same is API bill / GPU-hours, found by scanning the spread too."""
    scenario = document(gpu_price_factor=4.0)
    scenario["traffic"]["arrival"]["mean_rps"] = 40.0
    report = plan(parse_scenario(scenario))
    row = next(row for row in report["uncertainty"]["drivers"] if row["key"] == "gpu_price")
    assert row["flip_at"] == pytest.approx(report["verdict"]["flip_gpu_usd_per_hour"], rel=0.02)
    assert 0 < row["flip_probability_ratio"] < 1
    spread = within(4.0)
    price = row["p50"]
    other = spread.below(report["verdict"]["flip_gpu_usd_per_hour"] / price)
    alone = other if report["verdict"]["choice"] == "api" else 1 - other
    assert row["flip_probability_ratio"] == pytest.approx(alone, abs=0.01)


def test_a_verdict_that_nothing_turns_is_worth_no_trial(setup):
    """A near idle GPU costs hundreds of times the API: no measurement changes that."""
    scenario = document()
    scenario["traffic"]["arrival"]["mean_rps"] = 0.01
    idle = Setup(scenario)
    drawn = draw(idle.model, idle.drivers)
    assert flip_probability(idle.model, drawn) == 0
    assert all(row["flip_at"] is None for row in driver_rows(idle.model, drawn))
    rows = trial_rows(idle.model, idle.drivers)
    assert all(row["decision_saves_usd"] == 0 for row in rows)
    assert trials_sentence(rows).startswith("Nothing")


def test_knowing_is_never_worth_less_than_nothing_and_a_load_test_costs_its_hours(setup):
    rows = {row["key"]: row for row in trial_rows(setup.model, setup.drivers)}
    assert all(row["decision_saves_usd"] >= 0 and row["sizing_saves_usd"] >= 0 for row in rows.values())
    hour_usd = float(setup.candidate.gpu.price.usd_per_gpu_hour)
    assert float(rows["load_test"]["cost_usd"]) == pytest.approx(8 * hour_usd, abs=0.01)
    assert rows["quotes"]["cost_usd"] == 0


def test_a_load_test_pays_by_sizing_where_self_hosting_is_the_choice():
    """Without an API nothing is decided, but nine cases of ten need more replicas than the usual one."""
    scenario = document()
    scenario["api"] = {}
    rows = plan(parse_scenario(scenario))["uncertainty"]["trials"]
    assert rows[0]["key"] == "load_test"
    assert rows[0]["net_usd"] == pytest.approx(rows[0]["sizing_saves_usd"] - rows[0]["cost_usd"], abs=0.02)
    assert rows[0]["decision_saves_usd"] == 0


def test_the_verdict_says_how_sure_the_plan_is():
    report = plan(parse_scenario(document()))
    rows = {row["serving"]: row for row in report["uncertainty"]["replicas"]}
    planned = rows[report["recommended"]["serving_replicas"]]["slo_probability_ratio"]
    assert f"the targets hold with a probability of {planned:.0%}" in report["verdict"]["detail"]
    more = [row for serving, row in rows.items() if serving > report["recommended"]["serving_replicas"]]
    for row in more:
        assert row["slo_probability_ratio"] > planned
        assert f"{row['serving']} serving replicas make it" in report["verdict"]["detail"]
