"""What if: the closed form of a scenario with a few inputs moved, and the scenario that asks the same in full."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from planner.planning.estimate import estimate_cells
from planner.planning.schema import Scenario, canonical_json, parse_scenario
from planner.planning.schema.slo import PERCENTILE_FIELDS
from planner.planning.traffic.trace_source import load_trace
from planner.planning.traffic.trace_text import trace_fields


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
    """The scenario that a full run of the change takes. A recorded trace is played so many times as fast,
    and written out anew where its outputs move. ScenarioInvalid where something leaves its range."""
    document = _priced_and_targeted(scenario, change)
    traffic = document["traffic"]
    if scenario.traffic.trace is not None:
        if change.output_ratio != 1:
            traffic["trace"] = {**_played(traffic["trace"]), **_longer_outputs(scenario, change.output_ratio)}
        if change.load_ratio != 1:
            traffic["trace"]["speed"] = traffic["trace"].get("speed", 1) * change.load_ratio
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


def _played(trace: Mapping[str, Any]) -> dict[str, Any]:
    return {key: trace[key] for key in ("prefixes", "speed", "copies") if key in trace}


def _longer_outputs(scenario: Scenario, ratio: float) -> dict[str, Any]:
    """The trace with every output longer or shorter, and the content of its prompts as it is."""
    assert scenario.traffic.trace is not None
    trace = load_trace(scenario.traffic.trace)
    outputs = [_whole(output * ratio) if output else 0 for output in trace.output_tokens.tolist()]
    return trace_fields(replace(trace, output_tokens=np.array(outputs, dtype=np.int64)))


def _whole(tokens: float) -> int:
    return max(1, int(tokens + 0.5))
