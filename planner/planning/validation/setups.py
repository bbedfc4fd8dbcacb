"""What server and what load a measured row stands for: names, parallelism, number formats, limits, lengths.

Sources differ in what their columns mean; each reading here follows the sources' own documents and is listed in
`docs/validation.md`. A row that does not say enough raises `Unusable` with a reason fit for a table.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Literal

from costmodel import Deployment, DeploymentError, Parallelism, UnknownIdError, engine_profile, make_deployment
from costmodel.catalog.engines import EngineProfile
from costmodel.catalog.hardware import Accelerator
from costmodel.models.spec import ModelSpec
from planner.planning.validation.names import accelerator_of, model_of
from planner.planning.validation.rows import MeasuredRow
from planner.planning.validation.unusable import Unusable

LoadKind = Literal["closed", "burst", "poisson", "constant", "static"]
OPEN_LOADS: frozenset[LoadKind] = frozenset({"poisson", "constant"})
LengthKind = Literal["fixed", "uniform_80_100", "chat", "histogram"]
Histogram = tuple[tuple[float, float], ...]

ENGINES = {
    "vLLM": "vllm",
    "vLLM (nm-vllm)": "vllm",
    "SGLang": "sglang",
    "TensorRT-LLM": "tensorrt-llm",
    "TensorRT-LLM+Triton": "tensorrt-llm",
    "NIM (TensorRT-LLM)": "tensorrt-llm",
}
WEIGHT_DTYPES = {
    "bf16": "bf16",
    "fp16": "bf16",
    "16-bit": "bf16",
    "fp8": "fp8",
    "int8": "int8",
    "fp4": "fp4",
    "mxfp4": "native",
    "int4": "w4a16",
}
BLANK_WEIGHT_DTYPES = {"aic": "bf16", "ixexp": "native"}
QUANTISED_KV_SOURCES = frozenset({"trt020", "trt10", "trt12", "aic"})
ATTENTION_DP_SOURCES = frozenset({"trt10"})
IN_PROCESS_SOURCES = frozenset({"trt09lat"})
CACHED_PROMPT_RATIOS = {"blis": 0.85, "blistr": 0.85}
FREE_MEMORY_SHARE = 0.95
REQUESTS_PER_SLOT = 10
STAGE_S = 600.0
LONGEST_TOKENS = 2_000_000
MOST_REQUESTS = 100_000
MOST_GPUS = 1024
MOST_BUDGET_TOKENS = 1_000_000


@dataclass(frozen=True, slots=True)
class RowLoad:
    """The requests of a run: `in_flight` bounds a closed loop, `rate_rps` paces an open one, over all GPUs.

    `served`: they came over HTTP, not from a benchmark inside the process. `steps`: (seconds, requests per second) one
    after the other, over all GPUs, where the rate moved; `requests` is what they bring. `histograms`: of prompts and
    outputs, (tokens, requests of at most so many), for `lengths` "histogram". `warm_up`: of the requests, the first so
    many that are not measured; `after`: the last so many, which keep the load up until the measured ones have ended.
    """

    kind: LoadKind
    requests: int
    in_flight: int
    rate_rps: float
    prompt_tokens: float
    output_tokens: float
    lengths: LengthKind
    cached_prompt_ratio: float
    served: bool = True
    steps: tuple[tuple[float, float], ...] = ()
    histograms: tuple[Histogram, Histogram] | None = None
    warm_up: int = 0
    after: int = 0


@dataclass(frozen=True, slots=True)
class RowSetup:
    """A row's replica and load. `lanes` of equal share run side by side: pipeline stages x data-parallel ranks."""

    row: MeasuredRow
    deployment: Deployment
    lanes: int
    load: RowLoad


def row_setup(row: MeasuredRow) -> RowSetup:
    """Read a row. Raises Unusable."""
    load = row_load(row)
    deployment = row_deployment(row, load)
    return RowSetup(row, deployment, deployment.parallelism.pp * deployment.parallelism.dp, load)


def row_deployment(row: MeasuredRow, load: RowLoad) -> Deployment:
    """The replica that a row ran on. Raises Unusable."""
    if max(row.max_num_batched_tokens or 0, row.max_num_seqs or 0) > MOST_BUDGET_TOKENS:
        raise Unusable("engine limits not usable")
    model, accelerator, profile = model_of(row), accelerator_of(row), row_engine(row)
    longest = math.ceil(load.prompt_tokens + load.output_tokens) * (4 if load.lengths == "chat" else 1)
    try:
        return make_deployment(
            model,
            accelerator,
            profile,
            row_parallelism(row, model),
            weight_dtype=row_weight_dtype(row, model),
            kv_dtype=row_kv_dtype(row),
            max_model_len=min(max(longest, 2048), max(model.max_context_tokens, longest)),
            max_num_seqs=row.max_num_seqs,
            max_num_batched_tokens=row.max_num_batched_tokens or _default_budget(row, profile, accelerator),
            gpu_memory_utilization=_memory_share(row, profile),
            enable_prefix_caching=row.prefix_caching,
            enable_chunked_prefill=row.chunked_prefill,
        )
    except DeploymentError as problem:
        raise Unusable(f"deployment refused: {problem.problems[0].code}") from problem


def row_engine(row: MeasuredRow) -> EngineProfile:
    """The profile at or below the row's version; the oldest where the version holds no number."""
    name = ENGINES.get(row.engine)
    if name is None:
        raise Unusable("engine not modelled")
    number = re.search(r"\d+(\.\d+)+", row.engine_version)
    try:
        return engine_profile(name, number.group(0) if number and name in row.engine.lower() else None)
    except UnknownIdError as problem:
        raise Unusable("engine has no profile") from problem


def row_parallelism(row: MeasuredRow, model: ModelSpec) -> Parallelism:
    """How the replica is spread, as each source means its columns."""
    tp, pp, dp, ep = row.tp, row.pp or 1, row.dp or 1, row.ep or 1
    if tp is None:
        if row.n_gpus != 1:
            raise Unusable("parallelism not stated")
        tp = 1
    if tp * pp * dp > MOST_GPUS:
        raise Unusable("parallelism not usable")
    attention_dp = row.id.endswith("-dep") or (row.source in ATTENTION_DP_SOURCES and model.is_moe and tp > 1)
    if attention_dp:
        return Parallelism(tp=1, pp=pp, ep=tp, dp=tp)
    if ENGINES.get(row.engine) == "sglang" and dp == tp and dp > 1:
        return Parallelism(tp=1, pp=pp, ep=ep, dp=dp)
    if row.n_gpus is not None and tp * pp * dp != row.n_gpus:
        raise Unusable("parallelism does not multiply to the GPUs")
    return Parallelism(tp=tp, pp=pp, ep=min(ep, tp * dp) if model.is_moe else 1, dp=dp)


def row_weight_dtype(row: MeasuredRow, model: ModelSpec) -> str:
    if not row.weight_dtype:
        blank = BLANK_WEIGHT_DTYPES.get(row.source)
        if blank is None:
            raise Unusable("weight dtype not stated")
        return blank
    dtype = WEIGHT_DTYPES.get(row.weight_dtype)
    if dtype is None:
        raise Unusable("weight dtype not usable")
    return "native" if dtype == model.native_weight_dtype else dtype


def row_kv_dtype(row: MeasuredRow) -> str:
    """Stated, or FP8 for TensorRT-LLM's quantised checkpoints, which carry FP8 KV scales, else the engine's own."""
    if row.kv_dtype:
        return "fp8" if row.kv_dtype == "fp8" else "bf16"
    is_trt = ENGINES.get(row.engine) == "tensorrt-llm"
    quantised = row.weight_dtype in ("fp8", "fp4") and is_trt and row.source in QUANTISED_KV_SOURCES
    return "fp8" if quantised else "auto"


def _default_budget(row: MeasuredRow, profile: EngineProfile, accelerator: Accelerator) -> int:
    """The engine's own, but 2048 for the GPU maker's own vLLM and TensorRT-LLM runs of the `aic` collection."""
    own = profile.default_max_num_batched_tokens(accelerator)
    is_maker = row.source == "aic" and row.lengths.startswith("fixed") and profile.name != "sglang"
    return min(own, 2048) if is_maker else own


def _memory_share(row: MeasuredRow, profile: EngineProfile) -> float | None:
    if row.gpu_memory_utilization:
        return min(row.gpu_memory_utilization, 1.0)
    return FREE_MEMORY_SHARE if profile.name == "tensorrt-llm" and row.load_type == "offline-max" else None


def row_load(row: MeasuredRow) -> RowLoad:
    """The requests that a row's run sent. Raises Unusable."""
    if not row.prompt_tokens or not row.output_tokens:
        raise Unusable("lengths not stated")
    if row.prompt_tokens + row.output_tokens > LONGEST_TOKENS:
        raise Unusable("lengths not usable")
    kind, in_flight, rate_rps = _load_kind(row)
    lengths: LengthKind = "fixed"
    if row.lengths.startswith("InferenceX"):
        lengths = "uniform_80_100"
    elif "sharegpt" in row.lengths.lower():
        lengths = "chat"
    return RowLoad(
        kind=kind,
        requests=_requests(row, kind, in_flight, rate_rps),
        in_flight=in_flight,
        rate_rps=rate_rps,
        prompt_tokens=row.prompt_tokens,
        output_tokens=max(row.output_tokens, 1.0),
        lengths=lengths,
        cached_prompt_ratio=CACHED_PROMPT_RATIOS.get(row.source, 0.0),
        served=row.source not in IN_PROCESS_SOURCES,
    )


def _load_kind(row: MeasuredRow) -> tuple[LoadKind, int, float]:
    """(kind, requests in flight, requests per second)."""
    if row.load_type == "offline-max":
        return "burst", 0, 0.0
    if row.load_value is None or row.load_value <= 0:
        raise Unusable("load not stated")
    if row.load_type == "request_rate":
        if math.isinf(row.load_value) or row.load_value >= 1000:
            return "burst", 0, 0.0
        return ("constant" if row.source in ("blis", "blistr") else "poisson"), 0, row.load_value
    if math.isinf(row.load_value) or row.load_value > MOST_REQUESTS:
        raise Unusable("load not usable")
    kinds: dict[str, LoadKind] = {"concurrency": "closed", "batch_all_at_once": "burst", "static_batch": "static"}
    if row.load_type not in kinds:
        raise Unusable("load type not simulated")
    return kinds[row.load_type], max(1, round(row.load_value)), 0.0


def _requests(row: MeasuredRow, kind: LoadKind, in_flight: int, rate_rps: float) -> int:
    """How many requests the run sent: stated in the note, else by the source's custom."""
    stated = re.search(r"num_requests=(\d+)|(\d+) (?:prompts|requests|ShareGPT prompts)", row.note)
    if kind == "static" or row.load_type == "batch_all_at_once":
        return in_flight
    if stated and row.source not in ("blis", "blistr"):
        return min(max(int(stated.group(1) or stated.group(2)), 1), MOST_REQUESTS)
    if kind == "closed":
        special = {"mushfiq": 300, "trt09lat": 1}
        return special.get(row.source, min(REQUESTS_PER_SLOT * in_flight, max(MOST_REQUESTS, in_flight)))
    if kind == "constant":
        return min(max(1, round(rate_rps * STAGE_S)), MOST_REQUESTS)
    return {"trt12": 3000}.get(row.source, 1000)
