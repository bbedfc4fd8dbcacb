"""What if: the closed form of a scenario with a few inputs moved, and the scenario that asks the same in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from planner.planning.estimate import estimate_cells
from planner.planning.schema import Scenario, canonical_json, parse_scenario
from planner.planning.schema.slo import PERCENTILE_FIELDS
from planner.planning.traffic.trace_source import load_trace

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Change:
    """What is moved. load_ratio: times as many requests, in the same week. output_ratio: outputs so many times as long.
    usd_per_gpu_hour: prices by accelerator id. targets_ms: percentile targets by their field of the scenario."""

    load_ratio: float = 1.0
    output_ratio: float = 1.0
    usd_per_gpu_hour: Mapping[str, float] = field(default_factory=dict)
    targets_ms: Mapping[str, float] = field(default_factory=dict)


def what_if(scenario: Scenario, change: Change) -> dict[str, Any]:
    """The estimate's row (ESTIMATE_COLUMNS) with these inputs moved. ScenarioInvalid where one leaves its range."""
    moved = parse_scenario(_priced_and_targeted(scenario, change))
    return estimate_cells(moved, load_ratio=change.load_ratio, output_ratio=change.output_ratio)


def changed_scenario(scenario: Scenario, change: Change) -> Scenario:
    """The scenario that a full run of the change takes. A recorded trace is written out as its rows, its times and
    outputs moved. ScenarioInvalid where something leaves its range."""
    document = _priced_and_targeted(scenario, change)
    traffic = document["traffic"]
    if scenario.traffic.trace is not None:
        if change.load_ratio != 1 or change.output_ratio != 1:
            traffic["trace"] = {"rows": _moved_rows(scenario, change)}
        return parse_scenario(document)
    if "arrival" in traffic:
        traffic["arrival"]["mean_rps"] *= change.load_ratio
    for count in ("active_users", "total_users"):
        if count in traffic.get("users", {}):
            traffic["users"][count] *= change.load_ratio
    traffic["output_tokens"] = _moved_lengths(traffic["output_tokens"], change.output_ratio)
    return parse_scenario(document)


def targets_of(document: Mapping[str, Any]) -> tuple[tuple[str, float], ...]:
    """The percentile targets of a canonical scenario that can be moved: (field, ms), in the order of the report."""
    slo = document["slo"]
    return tuple((name, float(slo[name])) for name, _, _ in PERCENTILE_FIELDS if slo.get(name) is not None)


def _priced_and_targeted(scenario: Scenario, change: Change) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(canonical_json(scenario))
    prices = {gpu: {"usd_per_gpu_hour": price} for gpu, price in change.usd_per_gpu_hour.items()}
    document["hardware"]["price_overrides"] |= prices
    document["slo"] |= change.targets_ms
    return document


def _moved_lengths(lengths: Mapping[str, Any], ratio: float) -> dict[str, Any]:
    if ratio == 1:
        return dict(lengths)
    if lengths["kind"] == "fixed":
        return {**lengths, "tokens": _whole(lengths["tokens"] * ratio)}
    if lengths["kind"] == "lognormal":
        return {key: value * ratio if key in ("mean", "p95", "p50") else value for key, value in lengths.items()}
    if "values" in lengths:
        return {**lengths, "values": [_whole(value * ratio) for value in lengths["values"]]}
    return {**lengths, "quantiles": [[share, max(1, tokens * ratio)] for share, tokens in lengths["quantiles"]]}


def _moved_rows(scenario: Scenario, change: Change) -> list[list[float]]:
    assert scenario.traffic.trace is not None
    trace = load_trace(scenario.traffic.trace)
    times, prompts, outputs = trace.arrival_ns.tolist(), trace.prompt_tokens.tolist(), trace.output_tokens.tolist()
    return [
        [round(time / change.load_ratio / NS_PER_S, 9), prompt, _whole(output * change.output_ratio) if output else 0]
        for time, prompt, output in zip(times, prompts, outputs, strict=True)
    ]


def _whole(tokens: float) -> int:
    return max(1, int(tokens + 0.5))
