"""What could be measured before deciding, what that costs, and what it may save: the expected value of information."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.planning.report.plain import usd
from planner.planning.report.verdict import money
from planner.planning.search.replica import FloatArray
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.uncertainty.drivers import Driver, Factors, Model, Outcome

OUTER, INNER = 201, 200
LOAD_TEST_HOURS = 8
"""Set up one replica, warm it, and step the rate up past its capacity: a working day. An assumption."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Something to measure: which drivers it makes known, and how."""

    key: str
    what: str
    how: str
    drivers: tuple[str, ...]
    gpu_hours: int = 0


TRIALS = (
    Trial(
        "load_test",
        "Load test of one replica",
        "Replay your own lengths at rising rates on one replica, past the rate that the plan counts on; compare TTFT "
        "and TPOT.",
        ("step_time",),
        LOAD_TEST_HOURS,
    ),
    Trial(
        "count_tokens",
        "Count the tokens of a day",
        "Run the prompts and answers of a usual day through both tokenizers; take lengths and their ratio.",
        ("prompt", "output", "token_ratio"),
    ),
    Trial("count_requests", "Count requests", "Record arrivals for two weeks; take the mean and the busiest hour.",
         ("load",)),
    Trial("quotes", "Ask for quotes", "Ask two renters and the API's provider for a price in writing.",
         ("gpu_price", "api_price")),
)  # fmt: skip


def trial_rows(model: Model, drivers: tuple[Driver, ...]) -> list[dict[str, Any]]:
    """Every trial that tells something here, the one with the largest net worth over the horizon first.

    Decision: with the trial the cheapest choice is taken for each outcome, without it the one that is cheapest on
    average: min over choices of E[cost] - E[min over choices of E[cost | measured]]. Sizing (load test,
    where self-hosting is the choice): without it a fleet that is enough in nine cases of ten is bought, with it what is
    needed.
    """
    known = {driver.key: driver for driver in drivers}
    rows = [_row(model, known, trial) for trial in TRIALS if any(key in known for key in trial.drivers)]
    rows.sort(key=lambda row: (-row["net_usd"], row["key"]))
    return rows


def _row(model: Model, known: dict[str, Driver], trial: Trial) -> dict[str, Any]:
    months = model.job.scenario.uncertainty.horizon_months
    price = float(model.bill.cost.usd_per_replica_hour)
    cost = trial.gpu_hours * price
    decision = _decision_usd(model, known, trial) * months if model.against is not None else 0.0
    sizing = _sizing_usd(model, known) * months if trial.key == "load_test" else 0.0
    return {
        "key": trial.key,
        "what": trial.what,
        "how": trial.how,
        "tells": [known[key].label for key in trial.drivers if key in known],
        "gpu_hours": trial.gpu_hours * model.size.candidate.gpus_per_replica if trial.gpu_hours else 0,
        "cost_usd": usd(cost),
        "decision_saves_usd": usd(decision),
        "sizing_saves_usd": usd(sizing),
        "net_usd": usd(decision + sizing - cost),
        "horizon_months": months,
    }


def _decision_usd(model: Model, known: dict[str, Driver], trial: Trial) -> float:
    """Value of knowing before choosing, a month: outer draws of what is measured, inner ones of the rest."""
    rng = np.random.default_rng([model.job.load.seed, 12])
    factors: Factors = {}
    for driver in known.values():
        if driver.key in trial.drivers:
            outer = driver.spread.at(normal_quantiles(OUTER)[rng.permutation(OUTER)])
            factors[driver.key] = np.repeat(outer, INNER)
        else:
            factors[driver.key] = np.tile(driver.spread.at(normal_quantiles(INNER)[rng.permutation(INNER)]), OUTER)
    choices = _choices_usd(model, model.outcome(factors, OUTER * INNER))
    means = choices.reshape(len(choices), OUTER, INNER).mean(axis=2)
    return float(means.mean(axis=1).min() - means.min(axis=0).mean())


def _choices_usd(model: Model, out: Outcome) -> FloatArray:
    """What each choice costs in each draw: API, fleet, and the split where it is the verdict. A fleet that no number
    of replicas makes good is paid for nothing, and the API beside it."""
    assert out.api_usd is not None
    lost = float(model.bill.cost.exact_usd_per_month + model.further.self_host_usd)
    fleet = np.where(out.carried, out.fleet_usd, out.api_usd + lost)
    return np.array([out.api_usd, fleet, *([] if out.split_usd is None else [out.split_usd])])


def _sizing_usd(model: Model, known: dict[str, Driver]) -> float:
    if model.against is not None and model.choice != "self_host":
        return 0.0
    driver = known["step_time"]
    out = model.outcome({"step_time": driver.spread.at(normal_quantiles(1_000))}, 1_000)
    serving = np.sort(out.serving[out.carried])
    if not len(serving):
        return 0.0
    enough = serving[int(np.ceil(0.9 * len(serving))) - 1]
    replica_usd = float(model.bill.cost.exact_usd_per_month) / model.bill.cost.replicas
    return float(np.maximum(0.0, enough - serving).mean()) * replica_usd


def trials_sentence(rows: list[dict[str, Any]]) -> str:
    """The trial most worth its cost, or that none is."""
    best = rows[0] if rows and rows[0]["net_usd"] > 0 else None
    if best is None:
        return "Nothing that could be measured beforehand is likely to change the decision."
    saves = money(best["decision_saves_usd"] + best["sizing_saves_usd"])
    cost = f"costs about {money(best['cost_usd'])}" if best["cost_usd"] else "costs no GPU time"
    return f"{best['what']} first: it {cost} and may save {saves} over {best['horizon_months']} months."
