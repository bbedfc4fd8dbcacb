"""A measured run as something that can be simulated: the requests that it sent, or why that is not known."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, fields, replace
from typing import Any, Self

from costmodel import Deployment
from planner.planning.measurements import Run
from planner.planning.measurements.rates import requests_in, thinned
from planner.planning.validation.rows import MeasuredRow
from planner.planning.validation.runs import Prediction, predict
from planner.planning.validation.setups import LONGEST_TOKENS, Histogram, LoadKind, RowLoad, RowSetup

MOST_REQUESTS = 4_000
"""A longer run is steady: its first requests tell the same."""
MOST_IN_FLIGHT = 20_000
SLOWEST_RPS, FASTEST_RPS = 1e-4, 1e6
AT_LIMIT = 0.9
"""Requests in flight above this share of the limit: the limit, not the rate, paced the run."""
MOST_REPLAYED = 30_000
"""Of the hours of a server, for each replica: more are looked at in PARTS places."""
PARTS = 48
OF_SERVERS = ("prometheus_query", "prometheus_text")
PERCENTILES = ("p90", "p95", "p99")
METRICS = ("ttft", "tpot", "e2e")
_STAMP = re.compile(r"[\d\-_:T. ]+")
STATISTICS = (("mean", "mean"), ("p50", "median"))


class NotKnown(Exception):  # noqa: N818 - the name says what is the case
    """A run that cannot be simulated; the message says what the file leaves open."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure. metric: ttft, tpot, e2e (ms), throughput (output tokens/s). statistic: mean, median, or a
    percentile such as p95. low, high: between which it lies, where a histogram tells no more."""

    metric: str
    statistic: str
    measured: float
    low: float | None = None
    high: float | None = None

    @property
    def is_middle(self) -> bool:
        """Whether it is of all requests: percentiles are shown and not fitted."""
        return self.statistic in ("mean", "median")


@dataclass(frozen=True, slots=True)
class MeasuredRun:
    """A run that can be simulated, with what was measured in it. label: what a person calls it."""

    label: str
    setup: RowSetup
    figures: tuple[Figure, ...]

    def predict(self, step_ratio: float = 1.0) -> Prediction:
        """What the simulator gives, steps `step_ratio` times as long. Raises Unusable."""
        return predict(self.setup, step_ratio=step_ratio)

    @property
    def deployment(self) -> Deployment:
        """The replica that it ran on."""
        return self.setup.deployment

    def on(self, deployment: Deployment) -> Self:
        """The same run on another deployment."""
        return replace(self, setup=replace(self.setup, deployment=deployment))

    @property
    def is_open(self) -> bool:
        """Whether requests arrived by themselves."""
        return self.setup.load.kind in ("poisson", "constant")

    @property
    def in_flight(self) -> float:
        """Requests in flight on a lane: the limit, all of them, or rate × latency, dealt evenly."""
        load, lanes = self.setup.load, self.setup.lanes
        if load.kind == "closed":
            return max(1.0, load.in_flight / lanes)
        if load.kind == "burst":
            return max(1.0, load.requests / lanes)
        latency_ms = next((figure.measured for figure in self.figures if figure.metric == "e2e"), None)
        return max(1.0, load.rate_rps * (latency_ms or 1e3) / 1e3 / lanes)


def run_name(run: Run, place: int) -> str:
    """What a person calls a run: its label, where that is more than a time stamp."""
    return run.label if run.label and not _STAMP.fullmatch(run.label) else f"run {place}"


def measured_run(run: Run, format_key: str, deployment: Deployment, label: str, replicas: int = 1) -> MeasuredRun:
    """A run of a file on so many replicas of a deployment, all of which it counts together. Raises NotKnown."""
    load = run_load(run, format_key, replicas)
    figures = run_figures(run, load.kind)
    if not figures:
        raise NotKnown("The file gives neither latencies nor output tokens per second.")
    lanes = deployment.parallelism.pp * deployment.parallelism.dp * replicas
    return MeasuredRun(label, RowSetup(blank_row(label), deployment, lanes, load), figures)


def run_load(run: Run, format_key: str, replicas: int = 1) -> RowLoad:
    """How requests were sent. Raises NotKnown."""
    prompt, output = run.input_tokens_mean, run.output_tokens_mean
    if not prompt or not output or prompt < 1 or output < 1 or prompt + output > LONGEST_TOKENS:
        raise NotKnown("The file does not give the tokens of prompts and outputs.")
    if not run.completed:
        raise NotKnown("The file does not say how many requests were served.")
    kind, in_flight, rate_rps = _paced_by(run, format_key)
    of_server = format_key in OF_SERVERS
    steps = _replayed(run, replicas) if of_server and kind == "poisson" else ()
    histograms = _histograms(run)
    requests = max(1, round(requests_in(steps))) if steps else min(run.completed, max(MOST_REQUESTS, in_flight))
    warm_up, after = _around(run, kind, in_flight)
    return RowLoad(
        kind=kind,
        requests=warm_up + requests + after,
        in_flight=in_flight,
        rate_rps=rate_rps,
        prompt_tokens=prompt,
        output_tokens=output,
        lengths="histogram" if histograms else "fixed",
        cached_prompt_ratio=(run.cached_prompt_ratio or 0.0) if of_server else 0.0,
        served=not of_server,
        steps=steps,
        histograms=histograms,
        warm_up=warm_up,
        after=after,
    )


def _around(run: Run, kind: LoadKind, in_flight: int) -> tuple[int, int]:
    """(requests of the warm-up, requests sent after those that count), where the file tells of a warm-up.

    Counted in requests and not in seconds, so that the same ones count whatever the constants. In a closed loop at
    least the first of every client are warm-up, as all are sent at once.
    """
    rps = run.request_rps or (run.completed / run.duration_s if run.completed and run.duration_s else 0.0)
    if not run.warm_up_s or run.warm_up_s < 0 or kind == "burst" or not 0 < rps <= FASTEST_RPS:
        return 0, 0
    at_once = in_flight if kind == "closed" else math.ceil(run.mean_concurrency or 0.0)
    at_once = min(at_once, MOST_IN_FLIGHT)
    return max(at_once, round(min(rps * run.warm_up_s, MOST_REQUESTS))), at_once


def _replayed(run: Run, replicas: int) -> tuple[tuple[float, float], ...]:
    """The rate as it moved; nothing where it is not known or was steady. Raises NotKnown."""
    requests = requests_in(run.rate_steps)
    if len(run.rate_steps) < 2 or requests < 1:
        return ()
    if max(rps for _, rps in run.rate_steps) > FASTEST_RPS:
        raise NotKnown("Its counters jump by more requests than are simulated.")
    return tuple(thinned(run.rate_steps, MOST_REPLAYED * replicas / requests, PARTS))


def _histograms(run: Run) -> tuple[Histogram, Histogram] | None:
    """Lengths of prompts and outputs, where the file tells of one at least; the other is the mean then."""
    means = {"input": run.input_tokens_mean or 1.0, "output": run.output_tokens_mean or 1.0}
    found = []
    for side, mean in means.items():
        alike = ((max(0.0, round(mean) - 1.0), 0.0), (float(max(1, round(mean))), 1.0))
        counts = tuple((bound, count) for bound, count in run.lengths.get(side, ()))
        full = next((place for place, (_, count) in enumerate(counts) if count >= counts[-1][1]), -1)
        found.append(counts[: full + 1] if counts and counts[-1][1] > 0 else alike)
    known = bool(run.lengths) and all(side[-1][0] < LONGEST_TOKENS for side in found)
    return (found[0], found[1]) if known else None


def _paced_by(run: Run, format_key: str) -> tuple[LoadKind, int, float]:
    """(kind, requests in flight, requests per second)."""
    limit = run.max_concurrency if run.max_concurrency and math.isfinite(run.max_concurrency) else None
    if limit is None and run.label == "synchronous":
        limit = 1.0
    rate = run.offered_rps
    if format_key in OF_SERVERS and rate is None:
        rate = run.request_rps
    if rate is not None and math.isfinite(rate) and rate > 0:
        if limit is None or (run.mean_concurrency or 0.0) < AT_LIMIT * limit:
            if not SLOWEST_RPS <= rate <= FASTEST_RPS:
                raise NotKnown(f"{rate:.3g} requests a second are not simulated.")
            return ("constant" if run.label == "constant" else "poisson"), 0, rate
    elif rate is None and limit is None and run.label != "throughput":
        raise NotKnown("The file does not say how requests were sent: neither a rate nor requests in flight.")
    if limit is None:
        return "burst", 0, 0.0
    if limit > MOST_IN_FLIGHT:
        raise NotKnown(f"More than {MOST_IN_FLIGHT:,} requests in flight are not simulated.")
    return "closed", max(1, round(limit)), 0.0


def run_figures(run: Run, kind: LoadKind) -> tuple[Figure, ...]:
    """What can be set beside a prediction: of every latency the mean, else the median; throughput where the load does
    not fix it. TTFT and TPOT of answers that were not streamed mean nothing."""
    ttft, e2e = run.latency("ttft"), run.latency("e2e")
    streamed = not (ttft and e2e and ttft > 0.98 * e2e and (run.output_tokens_mean or 0) > 4)
    found = []
    for metric in METRICS:
        if metric != "e2e" and not streamed:
            continue
        for key, statistic in STATISTICS:
            value = run.latency(metric, key)
            if value and value > 0 and math.isfinite(value) and (metric != "tpot" or (run.output_tokens_mean or 0) > 1):
                found.append(Figure(metric, statistic, value, *run.bounds_ms.get(metric, {}).get(key, ())))
                break
        tails = PERCENTILES if run.lengths else ()  # of requests of equal length they would mean little
        found += [
            Figure(metric, key, value, *run.bounds_ms.get(metric, {}).get(key, ()))
            for key in tails
            if (value := run.latency(metric, key)) and (metric != "tpot" or (run.output_tokens_mean or 0) > 1)
        ]
    if run.output_tokens_per_s and run.output_tokens_per_s > 0 and kind in ("closed", "burst"):
        found.append(Figure("throughput", "mean", run.output_tokens_per_s))
    return tuple(found)


def blank_row(label: str) -> MeasuredRow:
    """The run in the terms of published rows, of which only the setup is read."""
    texts = ("source", "model", "model_id", "gpu", "gpu_id", "engine", "engine_version", "weight_dtype", "kv_dtype",
             "lengths", "load_type", "trust", "note", "source_date")  # fmt: skip
    nothing: dict[str, Any] = {field.name: None for field in fields(MeasuredRow)}
    blank = {**dict.fromkeys(texts, ""), "id": label, "ttft_is_median": False, "tpot_is_median": False}
    return MeasuredRow(**{**nothing, **blank})
