"""One model on one kind of accelerator under one engine: every knob filled from the profile, the model or the user."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.catalog.engines import EngineProfile, engine_profile
from costmodel.catalog.hardware import Accelerator
from costmodel.deployment.calibration import Calibration
from costmodel.deployment.dtypes import KV_DTYPES, WEIGHT_DTYPES, WeightFormat, quantised_format, uniform_format
from costmodel.deployment.problems import DeploymentError, Problem
from costmodel.models.spec import ModelSpec


@dataclass(frozen=True, slots=True)
class Parallelism:
    """How one replica is spread: tensor, pipeline and data parallel ranks multiply to its GPUs.

    `ep` > 1 places whole experts on ranks of the same GPUs (it never adds GPUs); experts are always divided over
    tp x dp ranks of a stage: by ep as wholes, by the rest within each expert. `dp` > 1 is data-parallel attention
    inside one replica.
    """

    tp: int = 1
    pp: int = 1
    ep: int = 1
    dp: int = 1

    @property
    def gpus(self) -> int:
        return self.tp * self.pp * self.dp

    @property
    def expert_ranks(self) -> int:
        return self.tp * self.dp


@dataclass(frozen=True, slots=True)
class Deployment:
    """A complete description of one replica. `weights` is the resolved format, `weight_dtype` its name.

    `max_num_seqs` and `max_num_batched_tokens` are per data-parallel rank, as the engines count them.
    `layer_partition` gives the layers of each pipeline stage, first to last. `calibration` is what
    someone's own runs of it say about its step time; None: the shipped constants.
    """

    model: ModelSpec
    accelerator: Accelerator
    profile: EngineProfile
    parallelism: Parallelism
    weights: WeightFormat
    weight_dtype: str
    kv_dtype: str
    max_model_len: int
    max_num_seqs: int
    max_num_batched_tokens: int
    gpu_memory_utilization: float
    block_size: int
    enable_prefix_caching: bool
    enable_chunked_prefill: bool
    enforce_eager: bool
    layer_partition: tuple[int, ...]
    state_dtype: str
    notes: tuple[str, ...] = ()
    calibration: Calibration | None = None


def make_deployment(
    model: ModelSpec,
    accelerator: Accelerator,
    profile: EngineProfile | None = None,
    parallelism: Parallelism | None = None,
    *,
    weight_dtype: str = "native",
    kv_dtype: str = "auto",
    max_model_len: int | None = None,
    max_num_seqs: int | None = None,
    max_num_batched_tokens: int | None = None,
    gpu_memory_utilization: float | None = None,
    block_size: int | None = None,
    enable_prefix_caching: bool | None = None,
    enable_chunked_prefill: bool | None = None,
    enforce_eager: bool = False,
    layer_partition: tuple[int, ...] | None = None,
) -> Deployment:
    """Fill every blank knob from the engine profile and the model, and resolve `native` and `auto`.

    `max_model_len` defaults to the model's own maximum. Raises DeploymentError with every bad knob at once.
    """
    profile = profile or engine_profile("vllm")
    parallelism = parallelism or Parallelism()
    max_model_len = model.max_context_tokens if max_model_len is None else max_model_len
    seqs = profile.default_max_num_seqs(accelerator) if max_num_seqs is None else max_num_seqs
    default_tokens = profile.default_max_num_batched_tokens(accelerator)
    tokens = default_tokens if max_num_batched_tokens is None else max_num_batched_tokens
    utilization = gpu_memory_utilization
    if utilization is None:
        utilization = profile.default_memory_fraction(
            accelerator, chunk_tokens=default_tokens, tp=parallelism.tp, gpus=parallelism.gpus
        )
    block = profile.block_size if block_size is None else block_size
    chunked = profile.enable_chunked_prefill if enable_chunked_prefill is None else enable_chunked_prefill
    caching = profile.enable_prefix_caching if enable_prefix_caching is None else enable_prefix_caching
    stages = parallelism.pp if isinstance(parallelism.pp, int) and parallelism.pp > 0 else 1
    partition = layer_partition or even_partition(model.layers, stages)
    problems = [
        *_positive(
            max_model_len=max_model_len,
            max_num_seqs=seqs,
            max_num_batched_tokens=tokens,
            block_size=block,
            tp=parallelism.tp,
            pp=parallelism.pp,
            ep=parallelism.ep,
            dp=parallelism.dp,
        ),
        *_known("weight_dtype", weight_dtype, WEIGHT_DTYPES),
        *_known("kv_dtype", kv_dtype, KV_DTYPES),
        *_fraction(utilization),
        *_partition(partition, model.layers, stages),
    ]
    if problems:
        raise DeploymentError(problems)
    weights = resolve_weights(model, accelerator, weight_dtype)
    return Deployment(
        model=model,
        accelerator=accelerator,
        profile=profile,
        parallelism=parallelism,
        weights=weights,
        weight_dtype=weights.name,
        kv_dtype=_resolve_kv(weights, kv_dtype),
        max_model_len=max_model_len,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        gpu_memory_utilization=utilization,
        block_size=block,
        enable_prefix_caching=caching,
        enable_chunked_prefill=chunked,
        enforce_eager=enforce_eager,
        layer_partition=partition,
        state_dtype=_resolve_kv(weights, "auto"),
        notes=profile.notes,
    )


def resolve_weights(model: ModelSpec, accelerator: Accelerator, weight_dtype: str) -> WeightFormat:
    """The format of each component: as shipped for `native`, else as the usual recipe for `weight_dtype` makes it.

    Asking for what the checkpoint already is keeps its own mix (gpt-oss asked for in `fp4` stays MXFP4).
    """
    native = model.native_format
    if weight_dtype in ("native", native.name):
        return native
    if weight_dtype in ("bf16", "fp16"):
        return uniform_format(weight_dtype)
    return quantised_format(weight_dtype, kept_dtype="bf16" if accelerator.bf16_native else "fp16")


def _resolve_kv(weights: WeightFormat, kv_dtype: str) -> str:
    if kv_dtype != "auto":
        return kv_dtype
    return "fp16" if weights.kept_dtype == "fp16" else "bf16"


def even_partition(layers: int, stages: int) -> tuple[int, ...]:
    """Layers per pipeline stage as vLLM splits them (`get_pp_indices`): 80 over 3 is 27, 27, 26.

    What does not divide goes to the stages before the last, which holds the head already.
    """
    base, extra = divmod(layers, stages)
    counts = [base] * stages
    for back in range(2, extra + 2):
        counts[-back] += 1
    return tuple(counts)


def _positive(**values: object) -> list[Problem]:
    return [
        Problem("not_a_positive_integer", f"{name} is {value!r}; it must be a whole number of at least 1", field=name)
        for name, value in values.items()
        if isinstance(value, bool) or not isinstance(value, int) or value < 1
    ]


def _known(name: str, value: object, allowed: tuple[str, ...]) -> list[Problem]:
    if value in allowed:
        return []
    return [Problem("unknown_value", f"{name} is {value!r}", allowed=allowed, field=name)]


def _fraction(value: object) -> list[Problem]:
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= 1:
        return []
    detail = f"gpu_memory_utilization is {value!r}; it is a ratio above 0 and at most 1"
    return [Problem("out_of_range", detail, allowed=("0 < value <= 1",), field="gpu_memory_utilization")]


def _partition(partition: tuple[int, ...], layers: int, stages: int) -> list[Problem]:
    if len(partition) == stages and sum(partition) == layers and min(partition) >= 1:
        return []
    detail = f"layer_partition {list(partition)} must give each of {stages} stages a layer and sum to {layers}"
    return [Problem("bad_layer_partition", detail, field="layer_partition")]
