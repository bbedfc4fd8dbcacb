"""The `uncertainty` part of the report."""

from __future__ import annotations

from typing import Any

from planner.planning.money.bills import FleetBill
from planner.planning.money.hosted import Hosted
from planner.planning.money.hybrid import Split
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized
from planner.planning.uncertainty.drivers import drivers_of, make_model
from planner.planning.uncertainty.monte_carlo import DRAWS, draw, driver_rows, flip_probability, headline_rows
from planner.planning.uncertainty.sentence import flip_sentence, slo_sentence
from planner.planning.uncertainty.slo_probability import simulated_probability
from planner.planning.uncertainty.trials import trial_rows, trials_sentence

MAX_FACTOR_SIMULATED = 3
"""Fleets beyond this many times the recommended one are not simulated for their probability."""


def uncertainty_section(
    job: Job, size: Sized, bill: FleetBill, against: Hosted | None, split: Split | None
) -> dict[str, Any]:
    """Errors of the model and of the inputs: what they do to the targets, to the money and to the verdict. split:
    where it is the verdict."""
    covered = size.coverage
    drivers = drivers_of(job, size, against)
    model = make_model(job, size, bill, against, split)
    drawn = draw(model, drivers)
    rows = driver_rows(model, drawn)
    flips = [row for row in rows if row["flip_at"] is not None]
    replicas = replica_rows(job, size, bill)
    flip = flip_probability(model, drawn)
    trials = trial_rows(model, drivers)
    return {
        "step_time_p10_ratio": covered.step_time_p10_ratio,
        "step_time_p90_ratio": covered.step_time_p90_ratio,
        "basis": covered.basis,
        "slo_probability_sentence": slo_sentence(size),
        "slo_probability_ratio": next(r["slo_probability_ratio"] for r in replicas if r["serving"] == size.serving),
        "replicas": replicas,
        "draws": DRAWS,
        "not_carried_ratio": 1 - float(drawn.outcome.carried.mean()),
        "headlines": headline_rows(model, drawn),
        "drivers": rows,
        "verdict_flip_probability_ratio": flip,
        "first_flip": flips[0]["key"] if flips else None,
        "sentence": flip_sentence(rows, flip),
        "trials": trials,
        "trials_sentence": trials_sentence(trials),
    }


def replica_rows(job: Job, size: Sized, bill: FleetBill) -> list[dict[str, Any]]:
    """Probability that the targets are met, and the month, with one serving replica fewer, as planned, and as many as
    slow steps (the 90th percentile) ask for."""
    wanted = {size.serving}
    if size.serving > 1:
        wanted.add(size.serving - 1)
    if size.serving < size.serving_high <= MAX_FACTOR_SIMULATED * size.serving:
        wanted.add(size.serving_high)
    return [
        {
            "serving": serving,
            "slo_probability_ratio": simulated_probability(job, size, serving),
            "usd_per_month": usd(bill.running.usd_of(serving)),
        }
        for serving in sorted(wanted)
    ]
