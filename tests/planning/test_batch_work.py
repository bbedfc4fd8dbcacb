"""Requests with a deadline beside those with targets: fleet, API at batch rates, and the share that either takes."""

import numpy as np
import pytest

from planner.planning import estimate_scenario, parse_scenario, plan
from planner.planning.search.candidates import make_job, prepare, setups_of
from planner.planning.search.inventory import resolve_gpus
from planner.planning.search.replica import batch_rps
from simulator import Workload
from tests.planning.scenarios import errors_of
from tests.planning.test_operation_rows import document


def with_batch(batch, **billing):
    scenario = plainly(**billing)
    scenario["traffic"]["batch"] = batch
    return scenario


def plainly(**billing):
    """Without; compared with an API that lists batch prices."""
    scenario = document(**billing)
    scenario["api"] = {"alternatives": [{"provider": "openai", "model": "gpt-4.1-mini"}]}
    return scenario


NIGHTLY = {"requests_per_day": 300_000, "deadline_hours": 12, "submitted_at_hour": 22,
           "prompt_tokens_mean": 900, "output_tokens_mean": 100}  # fmt: skip


@pytest.fixture(scope="module")
def reports():
    return {key: plan(parse_scenario(scenario)) for key, scenario in {
        "without": plainly(),
        "nightly": with_batch(NIGHTLY),
        "flood": with_batch({**NIGHTLY, "requests_per_day": 6_000_000}),
    }.items()}  # fmt: skip


def test_what_fits_into_the_troughs_adds_nothing(reports):
    found = reports["nightly"]["batch"]
    assert found["bought_replicas"] == 0
    assert found["adds_usd_per_month"] == 0
    assert found["longest_wait_hours"] <= 12
    assert reports["nightly"]["cost"]["usd_per_month"]["mid"] == reports["without"]["cost"]["usd_per_month"]["mid"]
    assert found["sentence"] in reports["nightly"]["verdict"]["detail"]
    assert reports["without"]["batch"] is None


def test_what_does_not_fit_buys_replicas_and_the_bill_has_them(reports):
    found, fleet = reports["flood"]["batch"], reports["flood"]["recommended"]
    assert found["bought_replicas"] > 0
    assert fleet["replicas"] == fleet["serving_replicas"] + found["bought_replicas"] + fleet["spare_replicas"]
    assert reports["flood"]["cost"]["usd_per_month"]["mid"] == pytest.approx(fleet["replicas"] * 730, abs=0.01)
    assert found["adds_usd_per_month"] == pytest.approx(found["bought_replicas"] * 730, abs=0.01)


def test_the_api_bills_them_at_batch_rates(reports):
    """300,000 × 30.4167 days × (900 in, 100 out) at half of the standard rates."""
    row, tokens = reports["nightly"]["api"][0], reports["nightly"]["cost"]["monthly_tokens"]
    lines = {line["label"]: line for line in row["lines"]}
    requests = 300_000 * 730 / 24
    assert lines["Batch: Input"]["tokens"] == pytest.approx(requests * 900, rel=0.01)
    assert lines["Batch: Output"]["tokens"] == pytest.approx(requests * 100, rel=0.01)
    assert lines["Batch: Input"]["usd_per_mtok"] == pytest.approx(lines["Input"]["usd_per_mtok"] / 2)
    assert sum(line["usd_per_month"] for line in row["lines"]) == pytest.approx(row["usd_per_month"], abs=0.001)
    batch = sum(line["usd_per_month"] for label, line in lines.items() if label.startswith("Batch"))
    assert reports["nightly"]["batch"]["api_usd_per_month"] == pytest.approx(batch, abs=0.02)
    assert row["usd_per_month"] - batch == pytest.approx(reports["without"]["api"][0]["usd_per_month"], abs=0.02)
    assert tokens["total"] - reports["without"]["cost"]["monthly_tokens"]["total"] == pytest.approx(
        requests * 1000, rel=0.01)  # fmt: skip


def test_the_split_sends_late_requests_to_the_batch_api(reports):
    points = reports["flood"]["hybrid"]["points"]
    assert points[0]["api_usd_per_month"] == pytest.approx(reports["flood"]["api"][0]["usd_per_month"], rel=1e-6)
    amounts = [point["api_usd_per_month"] for point in points]
    assert amounts == sorted(amounts, reverse=True)


def test_growth_and_curve_have_them_in(reports):
    report = reports["flood"]
    assert report["horizon"]["rows"][0]["self_host_usd"] == report["cost"]["usd_per_month"]["mid"]
    assert report["horizon"]["rows"][0]["api_usd"] == report["api"][0]["usd_per_month"]
    last = report["break_even"]["curve"][-1]
    tokens = report["cost"]["monthly_tokens"]["total"] * last["mean_rps"] / report["load"]["mean_rps"]
    assert last["tokens_per_month"] == pytest.approx(tokens, rel=1e-4)


def test_the_estimate_has_them_too():
    plain, more = (estimate_scenario(parse_scenario(s)) for s in (
        plainly(), with_batch({**NIGHTLY, "requests_per_day": 6_000_000})))  # fmt: skip
    months = [
        min(row["usd_per_month"]["mid"] for row in e["candidates"] if row["usd_per_month"]) for e in (plain, more)
    ]
    assert months[1] > months[0]


def test_a_replica_does_what_the_closed_form_counts_on():
    """3,000 requests at once, simulated: nine tenths of the saturation are reached, filling and draining included."""
    scenario = parse_scenario(with_batch(NIGHTLY))
    job = make_job(scenario, lambda: None)
    replica = prepare(job, setups_of(job, resolve_gpus(scenario.hardware, scenario.priced_at)[0])[0]).replica
    mix = job.load.batch.mix
    places = np.linspace(0, len(mix.prompt_tokens) - 1, 3_000).astype(int)
    log = replica.run(Workload(arrival_ps=np.zeros(3_000, np.int64), prompt_tokens=mix.prompt_tokens[places],
                               output_tokens=mix.output_tokens[places]))  # fmt: skip
    simulated = 3_000 / (int(log.finish_ps.max()) / 1e12)
    assert batch_rps(replica, mix) == pytest.approx(simulated, rel=0.15)
    assert batch_rps(replica, mix) <= 1.02 * simulated


@pytest.mark.parametrize(("batch", "code"), [
    ({"requests_per_day": 0}, "out_of_range"),
    ({"requests_per_day": 10, "deadline_hours": 0}, "out_of_range"),
    ({"requests_per_day": 10, "submitted_at_hour": 24}, "out_of_range"),
    ({"deadline_hours": 24}, "missing"),
])  # fmt: skip
def test_impossible_work_is_named(batch, code):
    assert code in {error.code for error in errors_of(with_batch(batch))}


def test_to_zero_and_work_that_waits_do_not_go_together():
    found = errors_of(with_batch({"requests_per_day": 10}, mode="scale_to_zero"))
    assert [(error.code, error.pointer) for error in found] == [("conflict", "/billing/mode")]
