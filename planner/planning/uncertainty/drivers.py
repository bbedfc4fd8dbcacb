"""The uncertain inputs of a plan, and what the saving becomes when they are otherwise: the model of the Monte Carlo."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from costmodel.pricing.hybrid import overflow_ratio
from planner.planning.money.bills import FleetBill
from planner.planning.money.further import Further, further_of
from planner.planning.money.hosted import Hosted
from planner.planning.money.hybrid import Split
from planner.planning.schema import Scenario
from planner.planning.search.candidates import Job
from planner.planning.search.intervals import Sized
from planner.planning.search.replica import FloatArray, estimate
from planner.planning.uncertainty.slo_probability import residuals
from planner.planning.uncertainty.spread import CERTAIN, Spread, from_quartiles, within

GRID = 5
FARTHEST_LOG = 3.0
MONTHS_TABULATED = 301
FEWER = 121
"""With batch work, whose week is run through for each."""
LEAST_RATIO = 1e-3
"""Of a replica's capacity: below it no fleet is counted."""


@dataclass(frozen=True, slots=True)
class Driver:
    """An uncertain input. basis: on what its spread rests. value: the planned value, unit its unit."""

    key: str
    label: str
    spread: Spread
    value: float
    unit: str
    basis: str


Factors = dict[str, FloatArray]
"""Factor of each driver, by key; absent ones are 1."""


def drivers_of(job: Job, size: Sized, against: Hosted | None) -> tuple[Driver, ...]:
    """Every input that is not known for certain."""
    scenario, mix = job.scenario, job.load.mix
    known, price = scenario.uncertainty, size.candidate.gpu.price
    assumed = "an assumption; set it in the scenario"
    found = [
        Driver("step_time", "Step time", residuals(size.coverage).step, 1.0, "× predicted", size.coverage.basis),
        Driver("load", "Load", within(known.load_factor), job.load.mean_rps, "requests/s", assumed),
        Driver("prompt", "Prompt length", within(known.prompt_tokens_factor), mix.prompt_tokens_mean, "tokens",
               assumed),
        Driver("output", "Output length", within(known.output_tokens_factor), mix.output_tokens_mean, "tokens",
               assumed),
        Driver("gpu_price", "GPU price", _gpu_spread(scenario, size), float(price.usd_per_gpu_hour), "USD/GPU-hour",
               "quartiles of the listings" if known.gpu_price_factor is None else assumed),
    ]  # fmt: skip
    if against is not None:
        blended = against.bill.usd_per_mtok_blended
        found.append(
            Driver("api_price", "API price", within(known.api_price_factor), float(blended or 0), "USD/Mtok", assumed)
        )
        found.append(
            Driver("token_ratio", "API tokens per own token", within(known.token_ratio_factor),
                   scenario.costs.api_token_ratio, "",
                   "tokenizers differ by some 10 %"))  # fmt: skip
    return tuple(driver for driver in found if not driver.spread.known)


def _gpu_spread(scenario: Scenario, size: Sized) -> Spread:
    price, given = size.candidate.gpu.price, scenario.uncertainty.gpu_price_factor
    if given is not None:
        return within(given)
    if price.basis == "override" or not price.usd_per_gpu_hour:
        return CERTAIN
    mid = price.usd_per_gpu_hour
    low, high = price.p25_usd_per_gpu_hour, price.p75_usd_per_gpu_hour
    return from_quartiles(float(min(low, mid) / mid), float(max(high, mid) / mid))


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """A month in each draw, USD. serving: replicas; api_usd None without an API. carried: whether any fleet does.

    fleet_usd: with further lines; gpus_usd: the part that follows the GPU price, outside_usd what an API bills while
    the fleet is closed. split_usd: of the cheapest split, which is the API alone where no replica pays; None
    where the verdict is none.
    """

    serving: FloatArray
    capacity_rps: FloatArray
    fleet_usd: FloatArray
    gpus_usd: FloatArray
    outside_usd: FloatArray
    api_usd: FloatArray | None
    carried: np.ndarray
    split_usd: FloatArray | None

    @property
    def saving_usd(self) -> FloatArray:
        assert self.api_usd is not None
        return np.asarray(self.api_usd - self.fleet_usd)

    @property
    def split_saving_usd(self) -> FloatArray:
        """Of the split, against the cheaper of both alone."""
        assert self.api_usd is not None
        assert self.split_usd is not None
        return np.asarray(np.minimum(self.api_usd, np.where(self.carried, self.fleet_usd, np.inf)) - self.split_usd)

    def turned(self, choice: Choice) -> np.ndarray:
        """Draws in which the verdict would be another: of fleet and API the other side is cheaper, or no fleet does;
        of the split, that either alone is."""
        if choice == "hybrid":
            return np.asarray(self.split_saving_usd <= 0)
        cheaper = (self.saving_usd > 0) & self.carried
        return np.asarray(cheaper != (choice == "self_host"))


Choice = Literal["self_host", "api", "hybrid"]


@dataclass(frozen=True, slots=True, eq=False)
class Model:
    """The plan as a function of its inputs: the fleet resized for each draw, both bills, and the split made anew.

    Capacity of a replica = the simulated one × (step time, a line in the logarithms through the simulated ends) ×
    (lengths, closed form on a grid). API bill = load × price × token ratio × (input × prompt + output × output):
    tiers and a cached prefix move with the prompt.
    """

    job: Job
    size: Sized
    bill: FleetBill
    against: Hosted | None
    log_ratios: FloatArray
    prompt_grid: FloatArray
    output_grid: FloatArray
    further: Further
    split: Split | None
    month_grid: tuple[FloatArray, FloatArray] | None

    @property
    def choice(self) -> Choice:
        """What the verdict says at the planned values."""
        if self.split is not None:
            return "hybrid"
        return "self_host" if self.outcome({}, 1).saving_usd[0] > 0 else "api"

    def outcome(self, factors: Factors, draws: int) -> Outcome:
        """Bills when the inputs are these factors of the planned ones."""
        one = np.ones(draws)
        factor = {key: factors.get(key, one) for key in KEYS}
        ratio = self._step_ratio(factor["step_time"]) * self._length_ratio(factor["prompt"], factor["output"])
        carried = ratio >= LEAST_RATIO
        capacity = self.size.capacity_rps * np.maximum(ratio, LEAST_RATIO)
        peak = self.job.load.peak_rps * factor["load"]
        serving = np.maximum(1.0, np.ceil(peak / capacity * (1 - 1e-9)))
        gpus_usd = self._gpus_usd(serving, factor["load"] * self.size.capacity_rps / capacity) * factor["gpu_price"]
        api_usd = self._api_usd(factor)
        closed = self.bill.month.outside_ratio
        outside = np.zeros(draws) if api_usd is None or not closed else self._at_least(closed * self._usage_usd(factor))
        fleet = gpus_usd + outside + float(self.further.self_host_usd)
        split = self._split_usd(capacity, factor, api_usd)
        return Outcome(
            serving, capacity, np.asarray(fleet), np.asarray(gpus_usd), np.asarray(outside), api_usd, carried, split
        )

    def _gpus_usd(self, serving: FloatArray, load_ratio: FloatArray) -> FloatArray:
        """The month of the GPUs at the planned price. load_ratio: load over capacity, as a multiple of the planned.
        Always on it is that of the replicas; otherwise read from a table."""
        terms = self.bill.running.terms
        if self.month_grid is None:
            month_usd = float(terms.usd_per_replica_hour * terms.hours_per_month)
            return np.asarray((serving + terms.spare_replicas) * month_usd)
        places, months_usd = self.month_grid
        inside = np.interp(np.log(load_ratio), places, months_usd)
        return np.asarray(inside * np.maximum(1.0, load_ratio / math.exp(places[-1])))  # in proportion beyond the table

    def _split_usd(self, capacity: FloatArray, factor: Factors, api_usd: FloatArray | None) -> FloatArray | None:
        """Of the cheapest split. Always on: a replica's month is that of so many full hours at the API; it pays up to
        the rate that so many hours of the week exceed, in whole replicas next to it. In other modes the replicas of
        the plan grow as load over capacity does."""
        if self.split is None or api_usd is None:
            return None
        best, running = self.split.best, self.bill.running
        carries = capacity / factor["load"]  # of one replica, at the planned rates
        all_usd = self._usage_usd(factor)
        terms, week = running.terms, np.sort(np.array(running.rates_rps))[::-1]
        if terms.mode == "always_on" and running.work is None:
            replica_usd = float(terms.usd_per_replica_hour * terms.hours_per_month) * factor["gpu_price"]
            full_hours = np.ceil(replica_usd * week.sum() / (all_usd * carries))
            pays_up_to = week[np.minimum(np.maximum(full_hours, 1), len(week)).astype(np.int64) - 1] / carries
            counts = [np.floor(pays_up_to), np.ceil(pays_up_to)]
        else:
            replica_usd = float(best.self_host_usd) / best.replicas * factor["gpu_price"]
            counts = [np.rint(best.replicas * running.capacity_rps / carries)]
        found = [api_usd]
        for count in counts:
            beyond = np.maximum(overflow_ratio(running.rates_rps, count * carries), self.bill.month.outside_ratio)
            both = float(self.further.self_host_usd) + float(self.further.api_usd)
            sent_on = np.where(beyond > 0, self._at_least(beyond * all_usd), 0.0)
            found.append(np.where(count > 0, count * replica_usd + sent_on + both, api_usd))
        return np.asarray(np.minimum.reduce(found))

    def _api_usd(self, factor: Factors) -> FloatArray | None:
        if self.against is None:
            return None
        return self._at_least(self._usage_usd(factor)) + float(self.further.api_usd)

    def _at_least(self, usage_usd: FloatArray) -> FloatArray:
        """With what is missing to the API's monthly minimum."""
        assert self.against is not None
        return np.asarray(np.maximum(float(self.against.minimum_usd), usage_usd))

    def _usage_usd(self, factor: Factors) -> FloatArray:
        """The API's month in proportion to load, lengths and prices."""
        assert self.against is not None
        lines = self.against.usage.lines
        output = float(sum(line.usd_per_month for line in lines if line.kind == "output"))
        fees = float(sum(line.usd_per_month for line in lines if line.kind is None))
        prompts = float(self.against.usage.usd_per_month) - output - fees
        tokens = (prompts * factor["prompt"] + output * factor["output"]) * factor["token_ratio"]
        return np.asarray((tokens + fees) * factor["load"] * factor["api_price"])

    def _step_ratio(self, step: FloatArray) -> FloatArray:
        covered, mid = self.size.coverage, self.size.capacity_rps
        slow, fast = math.log(covered.step_time_p90_ratio), math.log(covered.step_time_p10_ratio)
        high = math.log(max(1.0, self.size.high_rps / mid))
        if self.size.low_rps <= 0:  # somewhere on the way no fleet does any more: half way, as nothing else is known
            falling = np.where(np.log(step) < slow / 2, -np.log(step), math.log(LEAST_RATIO / 2))
            return np.asarray(np.exp(np.where(step < 1, np.log(step) * high / fast if fast else 0.0, falling)))
        low = math.log(min(1.0, self.size.low_rps / mid))
        down = np.log(step) * (high / fast if fast else -1.0)
        up = np.log(step) * (low / slow if slow else -1.0)
        return np.asarray(np.exp(np.where(step < 1, down, up)))

    def _length_ratio(self, prompt: FloatArray, output: FloatArray) -> FloatArray:
        row, rows = _place(np.log(prompt), self.prompt_grid)
        column, columns = _place(np.log(output), self.output_grid)
        grid = self.log_ratios
        top = grid[row, column] * (1 - columns) + grid[row, column + 1] * columns
        bottom = grid[row + 1, column] * (1 - columns) + grid[row + 1, column + 1] * columns
        return np.asarray(np.exp(top * (1 - rows) + bottom * rows))


KEYS = ("step_time", "load", "prompt", "output", "gpu_price", "api_price", "token_ratio")


def _place(value: FloatArray, grid: FloatArray) -> tuple[np.ndarray, FloatArray]:
    """Cell of a value in an even grid and the share of it; beyond the grid the outer cell is carried on."""
    scaled = (value - grid[0]) / (grid[1] - grid[0])
    cell = np.clip(np.floor(scaled), 0, len(grid) - 2).astype(np.int64)
    return cell, np.asarray(scaled - cell)


def _month_grid(bill: FleetBill) -> tuple[FloatArray, FloatArray] | None:
    """Logarithms of load over capacity, as multiples of the planned, and the month of the GPUs there, USD."""
    if bill.mode == "always_on" and bill.running.work is None:
        return None
    places = np.linspace(-FARTHEST_LOG, FARTHEST_LOG, MONTHS_TABULATED if bill.running.work is None else FEWER)
    months = [bill.running.month(load_ratio=math.exp(place), rounding="float").usd for place in places]
    return places, np.array([float(usd) for usd in months])


def make_model(job: Job, size: Sized, bill: FleetBill, against: Hosted | None, split: Split | None) -> Model:
    """Tabulate what lengths do to a replica's rate, and what load does to the month. split: where it is the verdict."""
    known, replica = job.scenario.uncertainty, size.candidate.replica
    assert replica is not None
    grids = [np.linspace(-1, 1, GRID) * 2 * math.log(max(f, 1.02))
             for f in (known.prompt_tokens_factor, known.output_tokens_factor)]  # fmt: skip
    limit = job.targets.step_limit_ms
    now = estimate(replica, job.load.mix, limit).start_rps
    rates = [
        [
            estimate(
                replica, job.load.mix.stretched(prompt_ratio=math.exp(p), output_ratio=math.exp(o)), limit
            ).start_rps
            for o in grids[1]
        ]
        for p in grids[0]
    ]
    logs = np.log(np.maximum(np.array(rates) / now, LEAST_RATIO))
    return Model(job, size, bill, against, logs, grids[0], grids[1], further_of(job.scenario), split, _month_grid(bill))
