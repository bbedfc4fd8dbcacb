"""Draws of all uncertain inputs at once: intervals of the headlines, and what turns the verdict."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from planner.planning.report.plain import usd
from planner.planning.search.replica import FloatArray
from planner.planning.traffic.lengths import normal_quantiles
from planner.planning.uncertainty.drivers import Driver, Factors, Model, Outcome
from planner.planning.uncertainty.spread import NORMAL

DRAWS = 4_000
SCAN = 601
FARTHEST_Z = 4.0
MTOK = 1e6


@dataclass(frozen=True, slots=True, eq=False)
class Drawn:
    """The draws: factor of each driver, and what came of them."""

    drivers: tuple[Driver, ...]
    factors: Factors
    outcome: Outcome


def draw(model: Model, drivers: tuple[Driver, ...]) -> Drawn:
    """Latin hypercube: each driver takes the quantiles at (i + ½) / n once, in an order of its own."""
    rng = np.random.default_rng([model.job.load.seed, 11])
    z = normal_quantiles(DRAWS)
    factors = {driver.key: driver.spread.at(z[rng.permutation(DRAWS)]) for driver in drivers}
    return Drawn(drivers, factors, model.outcome(factors, DRAWS))


def headline_rows(model: Model, drawn: Drawn) -> list[dict[str, Any]]:
    """10th, 50th and 90th percentile of what the first page shows; draws that no fleet carries are left out."""
    out, load = drawn.outcome, model.job.load
    keep = out.carried
    tokens = load.mix.prompt_tokens_mean * drawn.factors.get("prompt", 1.0) + (
        load.mix.output_tokens_mean * drawn.factors.get("output", 1.0)
    )
    hours = model.job.scenario.billing.hours_per_month
    volume = load.mean_rps * drawn.factors.get("load", 1.0) * 3600 * hours * tokens
    rows = [
        _headline("serving_replicas", "Serving replicas", "", out.serving[keep]),
        _headline("capacity_rps", "Capacity of a replica", "requests/s", out.capacity_rps[keep]),
        _headline("self_host_usd_per_month", "Self-hosting", "USD/month", out.fleet_usd[keep]),
        _headline("usd_per_mtok", "Self-hosting, all tokens", "USD/Mtok", (out.fleet_usd / volume * MTOK)[keep]),
    ]
    if out.api_usd is not None:
        price = float(model.size.candidate.gpu.price.usd_per_gpu_hour) * drawn.factors.get("gpu_price", 1.0)
        gpu_hours = out.gpus_usd / price
        left = np.maximum(0.0, out.api_usd - out.outside_usd - float(model.further.self_host_usd))
        rows += [
            _headline("api_usd_per_month", "API", "USD/month", out.api_usd),
            _headline("saving_usd_per_month", "Saving by self-hosting", "USD/month", out.saving_usd[keep]),
            _headline("flip_gpu_usd_per_hour", "GPU price at which both cost the same", "USD/GPU-hour",
                      (left / gpu_hours)[keep]),
        ]  # fmt: skip
    if out.split_usd is not None:
        rows += [
            _headline("split_usd_per_month", "Split of both", "USD/month", out.split_usd),
            _headline("split_saving_usd_per_month", "Saving by the split", "USD/month", out.split_saving_usd),
        ]
    return rows


def _headline(key: str, label: str, unit: str, values: FloatArray) -> dict[str, Any]:
    if not len(values):
        return {"key": key, "label": label, "unit": unit, "p10": None, "p50": None, "p90": None}
    ordered = np.sort(values)
    ranks = [ordered[min(len(ordered) - 1, int(np.ceil(share * len(ordered))) - 1)] for share in (0.1, 0.5, 0.9)]
    low, middle, high = (usd(float(v)) if unit == "USD/month" else float(v) for v in ranks)
    return {"key": key, "label": label, "unit": unit, "p10": low, "p50": middle, "p90": high}


def flip_probability(model: Model, drawn: Drawn) -> float | None:
    """Share of draws in which the verdict would be another (`Outcome.turned`); None without an API."""
    if drawn.outcome.api_usd is None:
        return None
    return float(np.mean(drawn.outcome.turned(model.choice)))


def driver_rows(model: Model, drawn: Drawn) -> list[dict[str, Any]]:
    """The tornado: the saving when one input stands at its 10th and 90th percentile and the rest as planned; where
    alone it turns the verdict, and how likely it goes that far. The likeliest to turn it first, then the widest."""
    rows = [_driver_row(model, drawn, driver) for driver in drawn.drivers]
    rows.sort(key=lambda row: (-(row["flip_probability_ratio"] or 0.0), -_swing(row), row["label"]))
    return rows


def _swing(row: dict[str, Any]) -> float:
    """Of the saving; without an API of the fleet's month."""
    key = "self_host" if row["saving_p10_usd_per_month"] is None else "saving"
    return abs(float(row[f"{key}_p90_usd_per_month"] - row[f"{key}_p10_usd_per_month"]))


def _driver_row(model: Model, drawn: Drawn, driver: Driver) -> dict[str, Any]:
    low, high = driver.spread.value_at(0.1), driver.spread.value_at(0.9)
    ends = model.outcome({driver.key: np.array([low, high])}, 2)
    row: dict[str, Any] = {
        "key": driver.key,
        "label": driver.label,
        "unit": driver.unit,
        "basis": driver.basis,
        "p10": driver.value * low,
        "p50": driver.value,
        "p90": driver.value * high,
        "self_host_p10_usd_per_month": usd(float(ends.fleet_usd[0])),
        "self_host_p90_usd_per_month": usd(float(ends.fleet_usd[1])),
        "saving_p10_usd_per_month": None,
        "saving_p90_usd_per_month": None,
        "variance_ratio": None,
        "flip_at": None,
        "flip_probability_ratio": None,
    }
    if model.against is None:
        return row
    flip_z, probability = _flip(model, driver)
    return row | {
        "saving_p10_usd_per_month": usd(float(ends.saving_usd[0])),
        "saving_p90_usd_per_month": usd(float(ends.saving_usd[1])),
        "variance_ratio": _variance_ratio(drawn, driver),
        "flip_at": None if flip_z is None else driver.value * float(driver.spread.at(np.array([flip_z]))[0]),
        "flip_probability_ratio": probability,
    }


def _flip(model: Model, driver: Driver) -> tuple[float | None, float]:
    """The nearest z at which this input alone turns the verdict, and the probability of being beyond any such."""
    z = np.linspace(-FARTHEST_Z, FARTHEST_Z, SCAN)
    out = model.outcome({driver.key: driver.spread.at(z)}, SCAN)
    turned = out.turned(model.choice)
    if not turned.any():
        return None, 0.0
    places = z[turned]
    weights = np.diff([NORMAL.cdf(edge) for edge in np.append(z, 2 * z[-1] - z[-2]) - (z[1] - z[0]) / 2])
    return float(places[np.argmin(np.abs(places))]), float(weights[turned].sum())


def _variance_ratio(drawn: Drawn, driver: Driver) -> float:
    """Share of the saving's variance that goes with this input: the mean over equal classes of it, squared spread."""
    saving = drawn.outcome.saving_usd
    total = float(saving.var())
    if not total:
        return 0.0
    order = np.argsort(drawn.factors[driver.key], kind="stable")
    means = saving[order].reshape(40, -1).mean(axis=1)
    return float(min(1.0, max(0.0, (means.var() - total / (len(saving) / 40)) / total)))
