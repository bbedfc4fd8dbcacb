"""Faults that need the catalog: unknown ids, missing prices, sizes that do not divide, contexts that are too long.

Each check takes the parts of a scenario that are valid in themselves, so that a fault elsewhere hides nothing.
"""

from __future__ import annotations

from datetime import date
from typing import Any

from pydantic import BaseModel, ValidationError

from costmodel import (
    ApiPrice,
    ModelConfigError,
    ModelSpec,
    Parallelism,
    PriceUnknownError,
    Problem,
    UnknownIdError,
    divisibility_problems,
    engine_profile,
    load_catalog,
)
from planner.planning.errors import FieldError, ScenarioInvalid, pointer, show
from planner.planning.schema.api import Api, ApiAlternative
from planner.planning.schema.checks import Found, number, part
from planner.planning.schema.model import CustomAccelerator, Hardware, Model
from planner.planning.schema.samples import single_token_errors, trace_sample_errors
from planner.planning.schema.scenario import Engine
from planner.planning.schema.traffic import Shape, Trace
from planner.planning.search.inventory import TierUnknownError, resolve_api, resolve_gpu, resolve_model
from planner.planning.traffic.builtin_traces import BUILTIN_TRACES
from planner.planning.traffic.replay import replayed
from planner.planning.traffic.trace_source import load_trace
from planner.planning.traffic.traces import MAX_ROWS, MAX_SPAN_S
from planner.planning.traffic.traces import Trace as Recorded
from simulator import SimulatorError, weekly_shape

USUAL_TP = (1, 2, 4, 8)
LEAST_ROWS = 100
"""Requests that a thinned trace must have."""


def catalog_errors(data: dict[str, Any], priced_at: date | None) -> list[FieldError]:
    """Every fault that the catalog shows."""
    model_part = _valid(Model, data.get("model"))
    spec, model_faults = _model(model_part) if isinstance(model_part, Model) else (None, [])
    out = list(model_faults)
    hardware = _valid(Hardware, data.get("hardware", {}))
    if isinstance(hardware, Hardware) and priced_at is not None:
        out.extend(_gpus(hardware, priced_at))
        out.extend(_owned(hardware))
    if isinstance(hardware, Hardware) and spec is not None:
        out.extend(_tensor_parallel(hardware, spec))
    engine = _valid(Engine, data.get("engine", {}))
    if isinstance(engine, Engine):
        out.extend(_engine(engine, spec))
        out.extend(_fixed_lengths(data, engine, spec))
    api = _valid(Api, data.get("api", {}))
    if isinstance(api, Api) and priced_at is not None:
        out.extend(_apis(api, priced_at))
    out.extend(_traffic(data))
    return out


def _valid(kind: type[BaseModel], value: Any) -> BaseModel | None:
    try:
        return kind.model_validate(value)
    except ValidationError:
        return None


def unknown_id(error: UnknownIdError, *path: str | int) -> FieldError:
    """An id that names nothing, or too much."""
    allowed = ", ".join(error.suggestions[:8]) or "a catalog id"
    return FieldError(error.code, pointer(*path), show(error.given), allowed, _ended(str(error)))


def _ended(text: str) -> str:
    return text if text.endswith("?") else f"{text}."


def no_price(error: PriceUnknownError, *path: str | int) -> FieldError:
    """A thing without a price."""
    return FieldError("price_unknown", pointer(*path), show(error.what), error.needed, f"{error}.")


def _model(model: Model) -> tuple[ModelSpec | None, list[FieldError]]:
    sized = model.params_total_b is not None or (model.layers and model.hidden and model.n_heads)
    if sum((model.id is not None, model.hf_config is not None, bool(sized))) != 1:
        return None, []
    try:
        return resolve_model(model), []
    except UnknownIdError as error:
        return None, [unknown_id(error, "model", "id")]
    except ModelConfigError as error:
        return None, [_model_fault(model, problem) for problem in error.problems]


def _model_fault(model: Model, problem: Problem) -> FieldError:
    """A fault of a pasted config or of sizes, with what stands at its place."""
    steps = problem.field.split(".") if problem.field else []
    config = model.hf_config
    given = part(model.model_dump(exclude_none=True) if config is None else config, *steps) if steps else None
    here = pointer("model", *(() if config is None else ("hf_config",)), *steps)
    shown = "" if given is None else show(given)
    return FieldError(problem.code, here, shown, ", ".join(problem.allowed), f"{problem.detail}.")


def _gpus(hardware: Hardware, priced_at: date) -> Found:
    asked: set[str] = set()
    choices = () if hardware.gpus == "any" else hardware.gpus
    overrides = _overrides(hardware)
    for index, choice in enumerate(choices):
        if choice == "any":
            continue
        try:
            if isinstance(choice, CustomAccelerator):
                asked.add(choice.id)
                continue
            accelerator = load_catalog().accelerator(choice)
            asked.add(accelerator.id)
            if accelerator.id not in overrides:
                resolve_gpu(accelerator.id, hardware, priced_at)
        except UnknownIdError as error:
            yield unknown_id(error, "hardware", "gpus", index)
        except PriceUnknownError as error:
            yield no_price(error, "hardware", "gpus", index)
    for name in hardware.price_overrides:
        here = ("hardware", "price_overrides", name)
        try:
            found = load_catalog().accelerator(name).id
        except UnknownIdError as error:
            yield unknown_id(error, *here)
            continue
        if not hardware.tries_any and found not in asked:
            detail = f"{name} is priced but not among the accelerators to try."
            yield FieldError("unused_price", pointer(*here), show(name), ", ".join(sorted(asked)), detail)


def _owned(hardware: Hardware) -> Found:
    """Owned GPUs are named as those to try, so that their layouts are sized."""
    tried = None if hardware.tries_any else {_catalog_id(choice) for choice in hardware.gpus}
    for name in hardware.owned_gpus:
        here = ("hardware", "owned_gpus", name)
        try:
            found = load_catalog().accelerator(name).id
        except UnknownIdError as error:
            yield unknown_id(error, *here)
            continue
        if tried is not None and found not in tried:
            detail = f"{name} is owned but not among the accelerators to try."
            allowed = ", ".join(sorted(item for item in tried if item))
            yield FieldError("owned_not_tried", pointer(*here), show(name), allowed, detail)


def _catalog_id(choice: str | CustomAccelerator) -> str:
    if isinstance(choice, CustomAccelerator):
        return choice.id
    try:
        return load_catalog().accelerator(choice).id
    except UnknownIdError:
        return ""


def _overrides(hardware: Hardware) -> set[str]:
    found = set()
    for name in hardware.price_overrides:
        try:
            found.add(load_catalog().accelerator(name).id)
        except UnknownIdError:
            continue
    return found


def _tensor_parallel(hardware: Hardware, spec: ModelSpec) -> Found:
    for index, tp in enumerate(hardware.tensor_parallel or ()):
        problems = divisibility_problems(spec, Parallelism(tp=tp))
        if problems:
            legal = [str(size) for size in USUAL_TP if not divisibility_problems(spec, Parallelism(tp=size))]
            yield FieldError(
                problems[0].code, pointer("hardware", "tensor_parallel", index), str(tp), ", ".join(legal),
                f"{problems[0].detail}.",
            )  # fmt: skip


def _engine(engine: Engine, spec: ModelSpec | None) -> Found:
    try:
        profile = engine_profile(engine.name, engine.version)
    except UnknownIdError as error:
        yield unknown_id(error, "engine", "version")
        return
    longest = spec.max_context_tokens if spec else None
    if longest is not None and engine.max_model_len is not None and engine.max_model_len > longest:
        yield FieldError(
            "context_beyond_model", "/engine/max_model_len", str(engine.max_model_len), f"at most {longest}",
            f"The model was made for {longest} tokens of context.",
        )  # fmt: skip
    length = engine.max_model_len or longest
    if engine.max_tokens is not None and length is not None and engine.max_tokens >= length:
        detail = f"An output of max_tokens leaves no room for a prompt in {length} tokens of context."
        yield FieldError("context_too_short", "/engine/max_tokens", str(engine.max_tokens), f"below {length}", detail)
    seats, budget = engine.max_num_seqs, engine.max_num_batched_tokens
    if seats is not None and budget is not None and budget < seats:
        detail = "A step must have room for a token of each sequence."
        yield FieldError(
            "budget_below_seats", "/engine/max_num_batched_tokens", str(budget), f"at least {seats}", detail
        )
    chunked = profile.enable_chunked_prefill if engine.enable_chunked_prefill is None else engine.enable_chunked_prefill
    if not chunked and budget is not None and length is not None and budget < length:
        detail = "Without chunked prefill a prompt must fit into one step."
        yield FieldError(
            "budget_below_prompt", "/engine/max_num_batched_tokens", str(budget), f"at least {length}", detail
        )


def _fixed_lengths(data: dict[str, Any], engine: Engine, spec: ModelSpec | None) -> Found:
    """A mean or fixed request that does not fit the context is a slip; single long draws are cut and counted."""
    longest = engine.max_model_len or (spec.max_context_tokens if spec else None)
    sizes = {}
    for key in ("prompt_tokens", "output_tokens"):
        lengths = part(data, "traffic", key)
        sizes[key] = number(part(lengths, "tokens" if part(lengths, "kind") == "fixed" else "mean"))
    prompt, output = sizes["prompt_tokens"], sizes["output_tokens"]
    if longest is not None and prompt is not None and output is not None and prompt + output > longest:
        yield FieldError(
            "context_too_short", "/traffic/prompt_tokens", f"{prompt:g} + {output:g}", f"at most {longest} together",
            f"A typical request of {prompt:g} + {output:g} tokens does not fit into {longest} tokens of context.",
        )  # fmt: skip


def _apis(api: Api, priced_at: date) -> Found:
    for index, choice in enumerate(api.alternatives):
        here = ("api", "alternatives", index)
        try:
            price = resolve_api(choice, priced_at)
            yield from _sold_terms(choice, price, here)
        except UnknownIdError as error:
            yield unknown_id(error, *here, "provider" if "provider" in str(error) else "model")
        except TierUnknownError as error:
            yield no_price(error, *here, "service_tier")
        except PriceUnknownError as error:
            yield no_price(error, *here, "model")


def _sold_terms(choice: ApiAlternative, price: ApiPrice, here: tuple[str | int, ...]) -> Found:
    """What is asked for and not sold, and half of a price."""
    if choice.caching == "1h" and price.standard.rates.cached_write_1h_usd_per_mtok is None:
        detail = f"No price is listed for keeping prompts of {price.model} at {price.provider} for an hour."
        yield FieldError("no_price", pointer(*here, "caching"), show("1h"), "cheapest, default, off", detail)
    own = choice.price
    if own is not None and (own.batch_input_usd_per_mtok is None) != (own.batch_output_usd_per_mtok is None):
        name = "batch_input_usd_per_mtok" if own.batch_input_usd_per_mtok is None else "batch_output_usd_per_mtok"
        detail = "A batch price needs both, that of input and that of output."
        yield FieldError("missing", pointer(*here, "price", name), "", "required", detail)


def _traffic(data: dict[str, Any]) -> Found:
    shape = _valid(Shape, part(data, "traffic", "shape") or {})
    if isinstance(shape, Shape) and shape.peak_to_mean is not None and shape.kind != "constant":
        try:
            weekly_shape(shape.kind, shape.peak_to_mean)
        except SimulatorError as error:
            given = show(shape.peak_to_mean)
            yield FieldError("out_of_range", "/traffic/shape/peak_to_mean", given, "see detail", f"{error}.")
    trace = _valid(Trace, part(data, "traffic", "trace"))
    if isinstance(trace, Trace):
        yield from _trace(data, trace)
    else:
        yield from single_token_errors(data)


def _played(recorded: Recorded, trace: Trace, seed: Any) -> Found:
    """What speed and copies make of a trace."""
    here = "/traffic/trace"
    if trace.prefixes == "conversations" and recorded.session is None:
        detail = "The trace names no conversations."
        yield FieldError("trace_no_conversations", f"{here}/prefixes", "conversations", "recorded, none", detail)
    speed, copies = trace.speed or 1.0, trace.copies or 1.0
    rate_rps = recorded.rate_rps * speed * copies
    if not 0.0001 <= rate_rps <= 10_000:
        allowed, detail = "0.0001 to 10000 requests/s", f"The trace would be played at {rate_rps:g} requests/s."
        yield FieldError("out_of_range", f"{here}/speed", f"{speed:g}", allowed, detail)
    if recorded.span_s / speed > MAX_SPAN_S:
        allowed, detail = f"at most {MAX_SPAN_S} s", f"The trace would last {recorded.span_s / speed:,.0f} s."
        yield FieldError("trace_too_long", f"{here}/speed", f"{speed:g}", allowed, detail)
    if copies == 1:
        return
    rows = recorded.rows * copies
    if LEAST_ROWS <= rows <= MAX_ROWS:
        try:
            rows = len(replayed(recorded, trace, seed if isinstance(seed, int) else 0))
        except SimulatorError:
            rows = 0
    if not LEAST_ROWS <= rows <= MAX_ROWS:
        allowed, detail = f"{LEAST_ROWS} to {MAX_ROWS} requests", f"The trace would have {rows:,.0f} requests."
        yield FieldError("out_of_range", f"{here}/copies", f"{copies:g}", allowed, detail)


def _trace(data: dict[str, Any], trace: Trace) -> Found:
    if sum(value is not None for value in (trace.builtin, trace.csv, trace.rows)) != 1:
        return
    if trace.builtin is not None and trace.builtin not in BUILTIN_TRACES:
        names = ", ".join(BUILTIN_TRACES)
        detail = f"There is no built-in trace {show(trace.builtin)}; did you mean {names}?"
        yield FieldError("unknown_id", "/traffic/trace/builtin", show(trace.builtin), names, detail)
        return
    try:
        recorded = load_trace(trace)
    except ScenarioInvalid as invalid:
        yield from invalid.errors
        return
    yield from trace_sample_errors(data, recorded)
    yield from _played(recorded, trace, data.get("seed"))
