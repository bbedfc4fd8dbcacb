"""A plan beside what its deployment did: fleet and traffic as planned and measured, and every target."""

import json
from collections.abc import Iterator, Mapping, Sequence
from math import log
from typing import Any

from planner.datasets.models import Measurement
from planner.runs.backtests import Plan

Told = Mapping[str, Any]
DIFFERS_RATIO = 0.2
"""Traffic that differs by more than this is said to be another load than was planned."""
_FLEET = ("model", "gpu", "engine", "weight_dtype", "tensor_parallel", "replicas")


def backtest(report: Told, inspection: Told, measured: Told) -> dict[str, Any] | None:
    """The plan's figures beside those of the run whose rate is nearest to its peak hour; None where it has no fleet or
    nothing was measured.

    measured: model, gpu, engine, weight_dtype, tensor_parallel and replicas of the deployment.

    run: which; fleet[] {what, planned, measured, same}; traffic[] {what, unit, planned, measured, ratio}; figures[]
    {metric, percentile, unit, target, predicted, low, high, measured, measured_low, measured_high, inside, met}, in the
    plan's own peak hour; figures and outside counted; same_load: whether the traffic was about the planned one;
    littles_law: null or {arrival_rps, mean_e2e_s, product, measured, ok}.
    """
    fleet, runs = report.get("recommended"), inspection["runs"]
    if not fleet or not runs:
        return None
    run = _nearest(runs, report["load"]["offered_rps"])
    traffic = list(_traffic(report["load"], run))
    figures = [row for slo in report["slo"] if (row := _figure(slo, run)) is not None]
    ratios = [row["ratio"] for row in traffic if row["ratio"] and row["what"] != "mean_rps"]
    return {
        "run": run["label"],
        "fleet": list(_fleet(report, measured)),
        "traffic": traffic,
        "same_load": all(abs(log(ratio)) <= log(1 + DIFFERS_RATIO) for ratio in ratios) if ratios else None,
        "figures": figures,
        "outside": sum(row["inside"] is False for row in figures),
        "not_measured": [
            f"{slo['metric']} p{slo['percentile']}" if slo["percentile"] else slo["metric"]
            for slo in report["slo"]
            if _figure(slo, run) is None
        ],
        "littles_law": _littles_law(run),
    }


def measured_backtest(row: Measurement, plan: Plan | None) -> dict[str, Any] | None:
    """The same of a measurement and the plan that it is named to."""
    run = plan.report_run if plan is not None else None
    if run is None:
        return None
    measured = {name: getattr(row, name) for name in ("model", "gpu", "engine", "weight_dtype", "replicas")}
    measured["tensor_parallel"] = row.deployment["tensor_parallel"]
    return backtest(json.loads(run.report), row.inspection, measured)


def _nearest(runs: Sequence[Told], rate_rps: float) -> Told:
    """The run whose rate is nearest to this one, by ratio; the first where none has a rate."""
    known = [run for run in runs if (run["request_rps"] or 0) > 0]
    return min(known, key=lambda run: abs(log(run["request_rps"] / rate_rps)), default=runs[0])


def _fleet(report: Told, measured: Told) -> Iterator[dict[str, Any]]:
    fleet = report["recommended"]
    planned = {
        "model": report["provenance"]["scenario"]["model"].get("id"),
        "gpu": fleet["gpu"],
        "engine": fleet["engine"].get("name"),
        "weight_dtype": fleet["engine"].get("weight_dtype"),
        "tensor_parallel": fleet["tp"],
        "replicas": fleet["replicas"],
    }
    for what in _FLEET:
        if planned[what] is not None:
            yield {
                "what": what,
                "planned": planned[what],
                "measured": measured[what],
                "same": planned[what] == measured[what],
            }


def _traffic(load: Told, run: Told) -> Iterator[dict[str, Any]]:
    """Planned and measured; the peak beside the planned peak hour where the rate was sampled."""
    peak_rps = max((rps for seconds, rps in busiest(run.get("rate_steps") or [])), default=None)
    for what, unit, planned, found in (
        ("mean_rps", "req/s", load["mean_rps"], run["request_rps"]),
        ("peak_rps", "req/s", load["offered_rps"], peak_rps if peak_rps is not None else run["request_rps"]),
        ("prompt_tokens_mean", "tokens", load["prompt_tokens_mean"], run["input_tokens_mean"]),
        ("output_tokens_mean", "tokens", load["output_tokens_mean"], run["output_tokens_mean"]),
    ):
        ratio = found / planned if planned and found else None
        yield {"what": what, "unit": unit, "planned": planned, "measured": found, "ratio": ratio}


def busiest(steps: Sequence[Sequence[float]], window_s: float = 3600.0) -> Iterator[tuple[float, float]]:
    """(seconds, requests per second) of each window of an hour, or of all where the steps are shorter together."""
    seconds = requests = 0.0
    whole = 0
    for step_s, rps in steps:
        seconds, requests = seconds + step_s, requests + step_s * rps
        if seconds >= window_s:
            yield seconds, requests / seconds
            seconds = requests = 0.0
            whole += 1
    if seconds > 0 and not whole:
        yield seconds, requests / seconds


def _figure(slo: Told, run: Told) -> dict[str, Any] | None:
    """One target's prediction beside what was measured; None where the file does not tell it."""
    metric, percentile = slo["metric"], slo["percentile"]
    low = high = None
    if metric == "goodput":
        rps, met = run["request_rps"], run["goodput_rps"]
        measured = met / rps if rps and met is not None else None
    else:
        key = f"p{percentile}"
        measured = (run["latencies_ms"].get(metric) or {}).get(key)
        low, high = ((run.get("bounds_ms") or {}).get(metric) or {}).get(key) or (None, None)
    if measured is None:
        return None
    least, most = (measured if low is None else low), (measured if high is None else high)
    known = slo["low"] is not None and slo["high"] is not None
    target = slo["target"]
    return {
        "metric": metric,
        "percentile": percentile,
        "unit": slo["unit"],
        "target": target,
        "predicted": slo["predicted"],
        "low": slo["low"],
        "high": slo["high"],
        "measured": measured,
        "measured_low": low,
        "measured_high": high,
        "inside": (slo["low"] <= most and least <= slo["high"]) if known else None,
        "met": measured >= target if metric == "goodput" else measured <= target,
    }


def _littles_law(run: Told) -> dict[str, Any] | None:
    """Requests a second times the mean latency, beside the requests in flight that were counted on their own."""
    check = next((each for each in run["checks"] if each["name"] == "littles_law"), None)
    e2e_ms, rps = (run["latencies_ms"].get("e2e") or {}).get("mean"), run["request_rps"]
    if not e2e_ms or not rps:
        return None
    return {
        "arrival_rps": rps,
        "mean_e2e_s": e2e_ms / 1e3,
        "product": rps * e2e_ms / 1e3,
        "measured": check["stated"] if check else None,
        "ok": check["ok"] if check else None,
    }
