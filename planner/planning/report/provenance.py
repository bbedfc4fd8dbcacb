"""Where every figure of the report comes from, with dates; what was assumed; what was measured."""

from __future__ import annotations

import json
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from costmodel import Coverage, catalog_version
from planner.planning.money.hosted import Hosted
from planner.planning.report.names import engine_name, exact_usd, gpu_name, hosted_name, model_name, renter_name
from planner.planning.report.precisions import NOT_JUDGED
from planner.planning.report.rows import coverage_row
from planner.planning.schema import SCHEMA_VERSION, Scenario, canonical_json, scenario_digest
from planner.planning.schema.calibration import Calibration
from planner.planning.search.candidates import Candidate, Job
from planner.planning.search.inventory import Gpu
from planner.planning.traffic.builtin_traces import BUILTIN_TRACES
from planner.planning.traffic.load import USUAL_PEAK_TO_MEAN
from planner.planning.version import ENGINE_VERSION

UNKNOWN_COVERAGE = {
    "state": "extrapolated",
    "sentence": "No candidate was sized, so no measurement applies.",
    "model": "unknown",
    "gpu": "unknown",
    "engine": "unknown",
}


def provenance(
    job: Job,
    gpus: Sequence[Gpu],
    hosted: Sequence[Hosted],
    covered: Coverage | None,
    assumed: Sequence[dict[str, str]],
    notes: Sequence[str],
) -> dict[str, Any]:
    """The `provenance` part of a report or an estimate. covered: of the recommended candidate, None without one."""
    scenario = job.scenario
    return {
        "scenario": json.loads(canonical_json(scenario)),
        "scenario_digest": scenario_digest(scenario),
        "schema_version": SCHEMA_VERSION,
        "engine_version": ENGINE_VERSION,
        "catalog_version": catalog_version(),
        "seed": scenario.seed,
        "priced_at": scenario.priced_at.isoformat(),
        "sources": sources(job, gpus, hosted),
        "assumptions": list(assumed),
        "coverage": UNKNOWN_COVERAGE if covered is None else coverage_row(covered),
        "notes": list(dict.fromkeys(notes)),
    }


def sources(job: Job, gpus: Sequence[Gpu], hosted: Sequence[Hosted]) -> list[dict[str, str]]:
    """One row per figure that came from outside."""
    rows = [_source("Architecture of " + model_name(job.model.id), _model_value(job), *_model_origin(job), "")]
    profile = job.profile
    rows.append(
        _source("Engine defaults", f"{engine_name(profile.name)} {profile.version}", profile.source, profile.as_of, "")
    )
    for gpu in gpus:
        rows.extend(_gpu_rows(gpu))
    trace = job.load.trace
    if trace is not None:
        spec = BUILTIN_TRACES.get(trace.name)
        value = f"{trace.rows:,} requests in {trace.span_s:,.0f} s"
        origin = (spec.source, spec.as_of, spec.licence) if spec else ("the scenario", "", "")
        rows.append(_source(spec.title if spec else "Trace", value, *origin))
    for api in hosted:
        rates = api.price.standard.rates
        value = f"${rates.input_usd_per_mtok} input, ${rates.output_usd_per_mtok} output per million tokens"
        rows.append(
            _source(hosted_name(api.price.provider, api.price.model), value, api.price.source, api.price.as_of, "")
        )
    return rows


def _gpu_rows(gpu: Gpu) -> list[dict[str, str]]:
    accelerator, price = gpu.accelerator, gpu.price
    name = gpu_name(accelerator.id)
    value = f"{accelerator.memory_gib:g} GiB, {accelerator.memory_bandwidth_gb_per_s:,g} GB/s"
    source, as_of = _own_origin(gpu) if gpu.custom else (accelerator.source, accelerator.as_of)
    rows = [_source(f"{name}, hardware", value, source, as_of, "")]
    if price.basis == "override":
        rows.append(_source(f"{name}, price", price.sentence, *_own_origin(gpu), ""))
        return rows
    rows.append(_source(f"{name}, price", price.sentence, "the listings below", str(price.priced_at), ""))
    for listing in price.listings:
        what = f"{name} at {renter_name(listing.provider)}, {listing.region}".rstrip(", ")
        amount = _amount(listing.on_demand_usd_per_gpu_hour)
        rows.append(_source(what, amount, listing.source, listing.as_of.text, ""))
    return rows


def _own_origin(gpu: Gpu) -> tuple[str, str]:
    """Where the scenario says that its own figures are from."""
    own = gpu.own
    source = own.source if own and own.source else "the scenario"
    return source, own.as_of.isoformat() if own and own.as_of else ""


def _amount(usd_per_gpu_hour: Decimal | None) -> str:
    return "" if usd_per_gpu_hour is None else f"{exact_usd(usd_per_gpu_hour)} per GPU-hour"


def _model_origin(job: Job) -> tuple[str, str]:
    own = job.scenario.model
    return own.source or job.model.source or "the scenario", own.as_of.isoformat() if own.as_of else ""


def _model_value(job: Job) -> str:
    approximate = ", approximate" if job.model.approximate else ""
    return f"{job.model.params_total / 1e9:.4g} B parameters, {job.model.layers} layers{approximate}"


def _source(what: str, value: str, source: str, as_of: str, licence: str) -> dict[str, str]:
    return {"what": what, "value": value, "source": source, "as_of": as_of, "licence": licence}


def assumptions(job: Job, hosted: Sequence[Hosted]) -> list[dict[str, str]]:
    """What was taken for granted, editable in the scenario where it says so."""
    load = job.load
    rows = shared_assumptions(job, hosted)
    rows.append(
        _assumed(
            "Capacity ranges of candidates that are not recommended",
            "scale with the step time",
            "only the recommended fleet is simulated again with slow and fast steps",
        )
    )
    rows.append(_spread_assumption(job.scenario))
    if not load.is_trace:
        rows.append(_assumed("Lengths", "prompt and output are independent", "no joint distribution was given"))
    if job.targets.goodput_limits_ms and job.scenario.slo.goodput is None:
        limits = ", ".join(f"{metric.upper()} {limit:g} ms" for metric, limit in job.targets.goodput_limits_ms.items())
        rows.append(_assumed("Thresholds of goodput", limits, "the highest percentile target of each metric"))
    for api in hosted:
        if api.kept.read_tokens.any():
            share = float(api.kept.read_tokens.sum()) / float(load.mix.prompt_tokens.sum())
            name = hosted_name(api.price.provider, api.price.model)
            rows.append(_assumed(f"Cached input at {name}", f"{share:.1%} of its input tokens", api.kept.note))
    if load.mix.shares_prefixes:
        rows.append(
            _assumed("Prefix cache of the fleet", "simulated per replica, least recently used first", "engine default")
        )
    if load.mix.recorded is not None:
        rows.append(_content_assumption(job))
    return rows


def _content_assumption(job: Job) -> dict[str, str]:
    """How the replay knows what prompts share."""
    trace, recorded = job.scenario.traffic.trace, job.load.mix.recorded
    assert recorded is not None
    assert recorded.block_hashes is not None
    dealt = "dealt to the replicas in turn, whatever they share"
    if trace is not None and trace.prefixes == "conversations":
        return _assumed("Prompts of a conversation", f"repeat what was said before; {dealt}", "as asked; not recorded")
    size = recorded.block_hashes.block_tokens
    return _assumed("What prompts share", f"as recorded, in blocks of {size} tokens; {dealt}", "the trace")


def _spread_assumption(scenario: Scenario) -> dict[str, str]:
    known = scenario.uncertainty
    factors = {
        "load": known.load_factor,
        "prompt length": known.prompt_tokens_factor,
        "output length": known.output_tokens_factor,
        "tokens of the API": known.token_ratio_factor,
        "API price": known.api_price_factor,
    }
    value = ", ".join(f"{what} within {factor:g} ×" for what, factor in factors.items())
    return _assumed("Spread of the inputs (80 %)", value, "scenario; no measurement stands behind the defaults")


def shared_assumptions(job: Job, hosted: Sequence[Hosted]) -> list[dict[str, str]]:
    """Those that a report and an estimate make alike."""
    scenario, load = job.scenario, job.load
    shape = scenario.traffic.shape
    given = shape.peak_to_mean
    ratio = given or USUAL_PEAK_TO_MEAN[shape.kind]
    rows = [{"what": step.what, "value": step.value, "basis": step.basis} for step in load.chain]
    rows += [
        _assumed(
            "Shape of the week",
            f"{shape.kind.replace('_', ' ')}, busiest hour {ratio:g} × the mean",
            "scenario" if given else "usual for the shape",
        ),
        _assumed("Hours per month", f"{scenario.billing.hours_per_month:g}", "scenario (730 = 365 × 24 / 12)"),
        _assumed("Spare replicas", str(scenario.billing.spare_replicas), _spares_basis(scenario)),
        _assumed("Billing", scenario.billing.mode.replace("_", " "), "scenario; what the plan's month is billed by"),
        *_batch_rows(job),
        *_serving_rows(scenario),
        _router_assumption(scenario),
        _assumed("Targets", "judged in the peak hour, with the serving replicas only", "spares may be down"),
        _token_ratio(scenario.costs.api_token_ratio),
        *(_calibration_row(own) for own in scenario.calibrations or ()),
    ]
    if hosted:
        offers = ", ".join(hosted_name(api.price.provider, api.price.model) for api in hosted)
        rows.append(
            _assumed(
                "Models compared", f"{model_name(job.model.id)} against {offers}", "scenario; answers are not judged"
            )
        )
    return rows


def _spares_basis(scenario: Scenario) -> str:
    pools = "" if scenario.serving.disaggregation == "off" else "; with prefill and decode pools so many in each"
    return f"scenario; paid, not counted on for the targets{pools}"


def _calibration_row(own: Calibration) -> dict[str, str]:
    factors = {
        "compute efficiency": own.compute_factor,
        "memory bandwidth": own.bandwidth_factor,
        "host time": own.host_factor,
        "communication time": own.communication_factor,
        "time outside the engine": own.request_factor,
    }
    changed = [f"{what} × {factor:.3g}" for what, factor in factors.items() if abs(factor - 1) >= 0.0005]
    where = (
        f"{model_name(own.model)}, {own.weight_dtype} weights, on {gpu_name(own.gpu)} with {engine_name(own.engine)}"
    )
    days = (
        f"{own.measured_from}"
        if own.measured_from == own.measured_until
        else f"{own.measured_from} to {own.measured_until}"
    )
    return _assumed(
        f"Step times of {where}",
        f"calibration {own.number}: {', '.join(changed) or 'the shipped constants'}",
        f"{own.runs} measured runs of your own, {days}; shipped constants as prior",
    )


def _batch_rows(job: Job) -> list[dict[str, str]]:
    batch = job.load.batch
    if batch is None:
        return []
    value = (
        f"{batch.requests_per_week / 7:,.0f} a day of {batch.mix.prompt_tokens_mean:,.0f} and "
        f"{batch.mix.output_tokens_mean:,.0f} tokens, done within {batch.deadline_hours} hours"
    )
    return [_assumed("Requests that may wait", value, "scenario; on whole replicas that an hour does not need")]


def _router_assumption(scenario: Scenario) -> dict[str, str]:
    asked = scenario.serving.router
    if asked == "round_robin":
        return _assumed("Dealing to replicas", "round robin", "a router that looks at queues or prefixes does better")
    value = "the router with the fewest replicas" if asked == "auto" else asked.replace("_", " ")
    return _assumed("Dealing to replicas", value, "scenario; simulated with all replicas together")


def _serving_rows(scenario: Scenario) -> list[dict[str, str]]:
    serving = scenario.serving
    if serving.disaggregation == "off":
        return []
    link = f"{serving.kv_link_gb_per_s:g} GB/s of each GPU, usable {serving.kv_latency_ms:g} ms later"
    return [
        _assumed("KV between prefill and decode pools", link, "scenario; the defaults are assumptions"),
        _assumed("Spares of pools", "one stands in for either role", "vLLM's NIXL connector has engines in both roles"),
        _assumed("Pools in other hours", "engines in proportion to the load", "only the peak hour was sized"),
    ]


def _token_ratio(ratio: float) -> dict[str, str]:
    if ratio == 1:
        return _assumed("Tokens", "an API counts as many tokens as the served model", "tokenizers differ by some 10 %")
    return _assumed("Tokens", f"an API counts {ratio:g} tokens for each of the served model", "scenario")


def _assumed(what: str, value: str, basis: str) -> dict[str, str]:
    return {"what": what, "value": value, "basis": basis}


def notes_of(job: Job, gpus: Sequence[Gpu], candidates: Sequence[Candidate]) -> list[str]:
    """What a reader should know beside the numbers."""
    load = job.load
    notes = [*job.model.notes, *job.profile.notes]
    notes += [f"{gpu_name(gpu.accelerator.id)}: {gpu.accelerator.note}" for gpu in gpus if gpu.accelerator.note]
    if load.is_trace:
        notes.append("The trace is a finite run: its percentiles are those of this record, not of an endless load.")
    if load.mix.cut_ratio:
        notes.append(f"{load.mix.cut_ratio:.2%} of the requests were cut to the context or to max_tokens.")
    if job.scenario.model.several_precisions:
        notes.append(NOT_JUDGED)
    if job.model.approximate:
        notes.append("The model is planned as the usual architecture of its size.")
    for candidate in candidates:
        deployment = candidate.deployment
        if deployment and deployment.weight_dtype not in (job.model.native_weight_dtype, "bf16", "fp16", "fp8"):
            notes.append(
                f"{deployment.weight_dtype} weights need a checkpoint in that format; the commands name the original."
            )
    return notes
