"""A scenario from flat parameters, as cells and rows of a sheet have them, and its faults by parameter."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from typing import Any

from planner import planning
from planner.api.query import number_detail
from planner.planning.errors import FieldError, pointer, show


@dataclass(frozen=True, slots=True)
class Parameter:
    """One flat parameter: where its value goes in a scenario (a dotted path), its JSON type and an example."""

    name: str
    path: str
    description: str
    kind: str = "number"
    example: str | float | int = ""
    required: bool = False


_TARGETS = tuple(f"{metric}_p{percent}_ms" for metric in ("ttft", "tpot", "itl", "e2e") for percent in (50, 90, 95, 99))


def _target(name: str) -> Parameter:
    metric, percentile, _ = name.split("_")
    example = 1000 if metric in ("ttft", "e2e") else 50
    return Parameter(name, f"slo.{name}", f"Target: {metric.upper()} {percentile}, ms.", example=example)


PARAMETERS: tuple[Parameter, ...] = (
    Parameter("model", "model.id", "Catalog id of the model; close spellings resolve.", "string",
              "meta-llama/Llama-3.1-8B-Instruct", required=True),
    Parameter("gpu", "hardware.gpus", "Accelerators to try, separated by commas; any: every one with a price.",
              "string", "H100-SXM5-80GB", required=True),
    Parameter("rps", "traffic.arrival.mean_rps", "Requests per second, mean over the week.", example=2,
              required=True),
    Parameter("prompt_tokens", "traffic.prompt_tokens.mean", "Tokens of a whole prompt, the mean where "
              "prompt_tokens_p95 is given, else of every prompt.", example=600, required=True),
    Parameter("output_tokens", "traffic.output_tokens.mean", "Tokens generated per request, the mean where "
              "output_tokens_p95 is given, else of every request.", example=200, required=True),
    Parameter("prompt_tokens_p95", "traffic.prompt_tokens.p95", "95th percentile of the prompts, then lognormal.",
              example=1500),
    Parameter("output_tokens_p95", "traffic.output_tokens.p95", "95th percentile of the outputs, then lognormal.",
              example=480),
    Parameter("prefix_tokens", "traffic.prefix.tokens", "Tokens that all prompts start with, part of prompt_tokens.",
              "integer", 300),
    Parameter("cv", "traffic.arrival.cv", "Coefficient of variation of the gaps between requests; left out: Poisson.",
              example=2),
    Parameter("peak_to_mean", "traffic.shape.peak_to_mean", "Busiest hour over the mean of the week, as a daily wave; "
              "left out: constant.", example=2.4),
    *(_target(name) for name in _TARGETS),
    Parameter("goodput_min_ratio", "slo.goodput_min_ratio", "Least share of requests that meet all targets at once.",
              example=0.95),
    Parameter("tp", "hardware.tensor_parallel", "Tensor-parallel sizes to try, separated by commas.", "string", "1,2"),
    Parameter("usd_per_gpu_hour", "hardware.price_overrides", "Your price of one GPU for one hour, for every "
              "accelerator named.", example=3.2),
    Parameter("weight_dtype", "model.weight_dtype", "native, bf16, fp16, fp8, int8, w4a16, fp4 or any; several "
              "separated by commas.", "string", "fp8"),
    Parameter("kv_dtype", "model.kv_dtype", "auto, bf16, fp8 or any; several separated by commas.", "string", "fp8"),
    Parameter("engine", "engine.name", "vllm, sglang or tensorrt-llm.", "string", "vllm"),
    Parameter("max_model_len", "engine.max_model_len", "Longest prompt plus output, tokens.", "integer", 16384),
    Parameter("api_provider", "api.alternatives.0.provider", "Provider of an API to compare with.", "string", "groq"),
    Parameter("api_model", "api.alternatives.0.model", "Its id of the model.", "string", "llama-3.1-8b-instant"),
    Parameter("spare_replicas", "billing.spare_replicas", "Replicas beyond those that serve; left out: 1.", "integer",
              1),
    Parameter("hours_per_month", "billing.hours_per_month", "Hours in a month; left out: 730.", example=730),
    Parameter("priced_at", "priced_at", "Date of all prices, YYYY-MM-DD; left out: today.", "string", "2026-11-30"),
    Parameter("seed", "seed", "Seed of the random draws; left out: 1.", "integer", 1),
)  # fmt: skip
BY_NAME = {parameter.name: parameter for parameter in PARAMETERS}


class FlatInvalid(ValueError):  # noqa: N818 - the name reads as the state of the row
    """Parameters that make no scenario; the pointer of each error is a parameter's name, "" where none is to blame."""

    def __init__(self, errors: tuple[FieldError, ...]) -> None:
        self.errors = errors
        super().__init__("; ".join(error.detail for error in errors))


@dataclass(slots=True)
class _Fields:
    """Dotted fields for planning's form reader, and which parameter each came from."""

    texts: dict[str, str] = field(default_factory=dict)
    owners: dict[str, str] = field(default_factory=dict)

    def put(self, name: str, path: str, text: str) -> None:
        self.texts[path] = text
        self.owners[pointer(*path.split("."))] = name


def scenario_from_flat(
    values: Mapping[str, str], *, today: date, own: planning.OwnCatalog | None = None
) -> planning.Scenario:
    """The scenario of these parameters; blank ones count as left out. FlatInvalid: every fault, by parameter."""
    given = {name: text for name, text in values.items() if text.strip()}
    fields = _fields(given)
    document = planning.form_to_scenario(fields.texts)
    document["name"] = "Estimate"
    _add_price(document, given.get("usd_per_gpu_hour"))
    missing = _missing(given)
    try:
        scenario = planning.parse_scenario(document, today=today, own=own)
    except planning.ScenarioInvalid as error:
        raise FlatInvalid((*missing, *_by_parameter(error.errors, fields.owners, missing))) from None
    if missing:
        raise FlatInvalid(missing)
    return scenario


def _fields(given: Mapping[str, str]) -> _Fields:
    fields = _Fields()
    for name, text in given.items():
        if name != "usd_per_gpu_hour":
            fields.put(name, BY_NAME[name].path, text)
    for side in ("prompt", "output"):
        path = f"traffic.{side}_tokens"
        if f"{side}_tokens_p95" in given:
            fields.put(f"{side}_tokens_p95", f"{path}.kind", "lognormal")
        elif f"{side}_tokens" in given:
            del fields.texts[f"{path}.mean"]
            fields.put(f"{side}_tokens", f"{path}.kind", "fixed")
            fields.put(f"{side}_tokens", f"{path}.tokens", given[f"{side}_tokens"])
    fields.put("cv" if "cv" in given else "rps", "traffic.arrival.kind", "gamma" if "cv" in given else "poisson")
    if "peak_to_mean" in given:
        fields.put("peak_to_mean", "traffic.shape.kind", "diurnal")
    if "prefix_tokens" in given:
        fields.put("prefix_tokens", "traffic.prefix.kind", "shared")
    return fields


def _add_price(document: dict[str, Any], text: str | None) -> None:
    """The price for every accelerator named; none for "any", which the scenario then refuses by its own rules."""
    gpus = document.get("hardware", {}).get("gpus")
    if text is None or gpus is None:
        return
    try:
        price: float | str = float(text)
    except ValueError:
        price = text
    names = gpus if isinstance(gpus, list) else [gpus]
    document["hardware"]["price_overrides"] = {str(name): {"usd_per_gpu_hour": price} for name in names}


def _missing(given: Mapping[str, str]) -> tuple[FieldError, ...]:
    return tuple(
        FieldError("missing", parameter.name, "", "required", f"{parameter.name} is required.")
        for parameter in PARAMETERS
        if parameter.required and parameter.name not in given
    )


def _by_parameter(
    errors: tuple[FieldError, ...], owners: Mapping[str, str], missing: tuple[FieldError, ...]
) -> list[FieldError]:
    """The scenario's errors at the parameters that caused them; those that follow from a missing one are left out."""
    seen = {error.pointer for error in missing}
    gpus = {error.given for error in errors if error.pointer.startswith("/hardware/gpus")}
    found = []
    for error in errors:
        name = _owner(error.pointer, owners)
        follows = error.pointer.startswith("/hardware/price_overrides") and error.given in gpus
        if name in seen or follows:
            continue
        detail = "Give at least one target, such as ttft_p95_ms." if error.pointer == "/slo" else error.detail
        if error.code in ("not_a_number", "not_whole"):
            detail = number_detail(error.given, f"{name} must be {error.allowed}.")
        found.append(FieldError(error.code, name, error.given, error.allowed, detail))
    return found


def _owner(place: str, owners: Mapping[str, str]) -> str:
    """The parameter whose place this is, is within, or lies below it."""
    if place.startswith("/hardware/price_overrides"):
        return "usd_per_gpu_hour"
    if place == "/slo":
        return "ttft_p95_ms"
    above = place
    while above:
        if above in owners:
            return owners[above]
        above = above.rpartition("/")[0]
    paths = {pointer(*parameter.path.split(".")): parameter.name for parameter in PARAMETERS}
    below = (name for path, name in {**paths, **owners}.items() if place and f"{path}/".startswith(f"{place}/"))
    return next(below, "")


def texts_of(row: Mapping[str, Any]) -> tuple[dict[str, str], tuple[FieldError, ...]]:
    """The parameters of a JSON row as text, and what is wrong with their names and types."""
    texts: dict[str, str] = {}
    errors = []
    for name, value in row.items():
        if name not in BY_NAME:
            allowed = ", ".join(BY_NAME)
            errors.append(FieldError("unknown_field", name, show(name), allowed, "There is no such parameter."))
        elif value is None:
            continue
        elif isinstance(value, list) and all(isinstance(item, str | int) for item in value):
            texts[name] = ",".join(str(item) for item in value)
        elif isinstance(value, str | int | float) and not isinstance(value, bool):
            texts[name] = str(value)
        else:
            errors.append(FieldError("wrong_type", name, show(value), "text or a number", f"{name} is neither."))
    return texts, tuple(errors)
