"""What ran where a measurement was made: said by a person where the file does not say it, never guessed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError

from costmodel import Deployment, DeploymentError, Parallelism, UnknownIdError, load_catalog, make_deployment
from costmodel.deployment.parallelism import divisibility_problems
from planner.planning.calibration.matching import Key, deployment_key
from planner.planning.calibration.runs import NotKnown
from planner.planning.errors import FieldError, ScenarioInvalid, pointer, show
from planner.planning.own_catalog import OwnCatalog
from planner.planning.schema import Scenario, parse_scenario
from planner.planning.schema.fields import IsoDate, Part, Range, Ratio, ShortText
from planner.planning.schema.model import KvDtype, WeightDtype
from planner.planning.schema.read import check_plain
from planner.planning.schema.structural import field_errors
from planner.planning.search.inventory import resolve_gpus, resolve_model, resolve_profile

MOST_ERRORS = 50
_TRAFFIC = {
    "arrival": {"kind": "poisson", "mean_rps": 1.0},
    "prompt_tokens": {"kind": "fixed", "tokens": 16},
    "output_tokens": {"kind": "fixed", "tokens": 16},
}
_PLACES = {
    "/model/id": "/model",
    "/model/weight_dtype": "/weight_dtype",
    "/model/kv_dtype": "/kv_dtype",
    "/hardware/gpus/0": "/gpu",
    "/hardware/gpus": "/gpu",
    "/hardware/tensor_parallel": "/tensor_parallel",
    "/hardware/pipeline_parallel": "/pipeline_parallel",
    "/engine/name": "/engine",
    "/engine/version": "/engine_version",
}
ENGINE_SETTINGS = (
    "max_model_len", "max_num_seqs", "max_num_batched_tokens", "gpu_memory_utilization", "enable_prefix_caching",
    "enable_chunked_prefill",
)  # fmt: skip


class MeasuredDeployment(Part):
    """One replica, as it ran, and how many of them. What is left out took the engine's default."""

    model: ShortText = Field(description="Catalog id of the model, or the name of one of the team's own.")
    gpu: ShortText = Field(description="Accelerator: catalog id, or the name of one of the team's own.")
    tensor_parallel: Annotated[int, Range(1, 64, "GPUs")] = Field(description="Tensor-parallel size.")
    pipeline_parallel: Annotated[int, Range(1, 16, "stages")] = Field(1, description="Pipeline stages.")
    engine: Literal["vllm", "sglang", "tensorrt-llm"] = Field(description="Serving engine.")
    engine_version: ShortText | None = Field(None, description="Its version; left out: the newest profile.")
    weight_dtype: WeightDtype = Field("native", description="Type of the weights; native is what the checkpoint ships.")
    kv_dtype: KvDtype = Field("auto", description="Type of the KV cache; auto follows the engine.")
    measured_on: IsoDate = Field(description="Day of the measurement.")
    max_model_len: Annotated[int, Range(16, 100_000_000, "tokens")] | None = Field(
        None, description="Longest prompt plus output that the server took."
    )
    max_num_seqs: Annotated[int, Range(1, 8_192, "sequences")] | None = Field(
        None, description="Most sequences in one step."
    )
    max_num_batched_tokens: Annotated[int, Range(16, 131_072, "tokens")] | None = Field(
        None, description="Most tokens in one step."
    )
    gpu_memory_utilization: Ratio | None = Field(None, description="Share of the device memory the engine may use.")
    enable_prefix_caching: bool | None = Field(None, description="Reuse KV blocks of equal prefixes.")
    enable_chunked_prefill: bool | None = Field(None, description="Split long prompts over steps.")
    replicas: Annotated[int, Range(1, 1_024, "replicas")] | None = Field(
        None, description="Replicas that the file counts together; left out: those of the plan it follows, else one."
    )
    counted_over_s: Annotated[float, Range(1.0, 40_000_000.0, "s")] | None = Field(
        None, description="Seconds over which a text of /metrics counted, where it has no times."
    )


def read_deployment(
    document: Mapping[str, Any], own: OwnCatalog | None = None
) -> tuple[MeasuredDeployment, Deployment]:
    """What was said, names as the catalog spells them, and the deployment that it is.

    Raises ScenarioInvalid with every fault, pointers within the document.
    """
    given = {name: value for name, value in document.items() if value is not None}
    check_plain(given)
    errors: list[FieldError] = []
    said: MeasuredDeployment | None = None
    try:
        said = MeasuredDeployment.model_validate(given)
    except ValidationError as error:
        errors += field_errors(error, given, MOST_ERRORS)
    known = {error.pointer for error in errors}
    scenario, more = _scenario(given, own)
    named = [error for error in more if error.pointer.count("/") == 1]
    errors += [error for error in named or more if error.pointer not in known]
    if errors or said is None or scenario is None:
        raise ScenarioInvalid(tuple(errors))
    deployment = _deployment(said, scenario)
    names = {"model": deployment.model.id, "gpu": deployment.accelerator.id}
    return said.model_copy(update=names), deployment


def kept_deployment(document: Mapping[str, Any], key: Key, own: OwnCatalog) -> tuple[MeasuredDeployment, Deployment]:
    """What was said and kept once, with the models and accelerators of its team as they stand today.

    key: what it was when it was kept. NotKnown: an entry of the team's own that it names is gone, or is another
    deployment now.
    """
    try:
        said, deployment = read_deployment(document, own)
    except ScenarioInvalid as invalid:
        raise NotKnown(f"Where it was made cannot be read any more: {invalid.errors[0].detail}") from None
    now = deployment_key(deployment)
    if now != key:
        then, today = (f"{each[0]} in {each[1]} on {each[2]} with {each[3]}" for each in (key, now))
        raise NotKnown(f"What it names has changed since it was kept: {then} then, {today} now.")
    return said, deployment


def catalog_model_id(name: str) -> str:
    """The catalog's id of a model as a tool names it; "" for one that it does not know."""
    try:
        return load_catalog().model(name.strip()).id
    except UnknownIdError:
        return ""


def _scenario(given: Mapping[str, Any], own: OwnCatalog | None) -> tuple[Scenario | None, list[FieldError]]:
    """The scenario that plans this deployment, whose checks know every name and version."""
    document = {
        "model": {"id": given.get("model", "")} | {k: given[k] for k in ("weight_dtype", "kv_dtype") if k in given},
        "hardware": {"gpus": [given.get("gpu", "")]},
        "engine": {
            "name": given.get("engine", "vllm"),
            **({"version": given["engine_version"]} if "engine_version" in given else {}),
            **{name: given[name] for name in ENGINE_SETTINGS if name in given},
        },
        "traffic": _TRAFFIC,
        "slo": {"e2e_p95_ms": 3_600_000},
        "priced_at": date(2100, 12, 31).isoformat(),
    }
    gpu = given.get("gpu")
    owned = {entry.name.casefold() for entry in own.entries if entry.kind == "accelerators"} if own else set()
    if isinstance(gpu, str) and gpu.strip().casefold() not in owned:  # a price is no part of a measurement: any will do
        document["hardware"] = {"gpus": [gpu], "price_overrides": {gpu: {"usd_per_gpu_hour": 1.0}}}
    try:
        return parse_scenario(document, own=own), []
    except ScenarioInvalid as invalid:
        return None, [_placed(error) for error in invalid.errors]


def _placed(error: FieldError) -> FieldError:
    """The fault where this document has the value."""
    place = _PLACES.get(error.pointer)
    if place is None and error.pointer.startswith("/engine/"):
        place = error.pointer.removeprefix("/engine")
    return FieldError(error.code, place or error.pointer, error.given, error.allowed, error.detail)


def _deployment(said: MeasuredDeployment, scenario: Scenario) -> Deployment:
    model = resolve_model(scenario.model)
    accelerator = resolve_gpus(scenario.hardware, scenario.priced_at)[0].accelerator
    layout = Parallelism(tp=said.tensor_parallel, pp=said.pipeline_parallel)
    settings = {name: getattr(said, name) for name in ENGINE_SETTINGS}
    try:
        deployment = make_deployment(
            model,
            accelerator,
            resolve_profile(scenario),
            layout,
            weight_dtype=said.weight_dtype,
            kv_dtype=said.kv_dtype,
            **settings,
        )
    except DeploymentError as error:
        raise ScenarioInvalid(
            tuple(
                FieldError(p.code, pointer(p.field) if p.field else "", "", ", ".join(p.allowed), f"{p.detail}.")
                for p in error.problems
            )
        ) from None
    found = divisibility_problems(model, layout, deployment.weights)
    if found:
        size = show(said.tensor_parallel)
        raise ScenarioInvalid((FieldError(found[0].code, "/tensor_parallel", size, "", f"{found[0].detail}."),))
    return deployment
