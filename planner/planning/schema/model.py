"""Which model is served, and on which accelerators."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, Field, Tag

from planner.planning.schema.fields import Loose, Part, Range, ShortText, Sourced

WeightDtype = Literal["native", "bf16", "fp16", "fp8", "int8", "w4a16", "fp4"]
KvDtype = Literal["auto", "bf16", "fp8"]


def _choice_kind(value: object) -> str:
    return "list" if isinstance(value, list | tuple) else "one"


def _one_of_one(value: object) -> object:
    """A list of one says the same as its entry, and of equal entries one is enough."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return value
    several = tuple(dict.fromkeys(value))
    return several[0] if len(several) == 1 else several


WeightDtypes = Annotated[
    Annotated[Literal["native", "bf16", "fp16", "fp8", "int8", "w4a16", "fp4", "any"], Tag("one")]
    | Annotated[tuple[WeightDtype, ...], Field(min_length=1, max_length=7, strict=False), Tag("list")],
    Discriminator(_choice_kind),
    BeforeValidator(_one_of_one),
]
KvDtypes = Annotated[
    Annotated[Literal["auto", "bf16", "fp8", "any"], Tag("one")]
    | Annotated[tuple[KvDtype, ...], Field(min_length=1, max_length=3, strict=False), Tag("list")],
    Discriminator(_choice_kind),
    BeforeValidator(_one_of_one),
]
Count = Annotated[int, Range(1, 1_000_000, "")]


class Model(Sourced):
    """The model: by id, by a pasted Hugging Face config.json, by sizes, or by its parameter count alone."""

    id: ShortText | None = Field(
        None, description="Catalog id such as meta-llama/Llama-3.3-70B-Instruct; close spellings resolve."
    )
    hf_config: dict[str, Any] | None = Field(None, description="A Hugging Face config.json, pasted whole.")
    name: ShortText | None = Field(None, description="What a model that is given by config or sizes is called.")
    params_total_b: Annotated[float, Range(0.001, 20_000, "billion")] | None = Field(
        None,
        description="Parameters in billions, all experts counted. Alone: the usual architecture of that size.",
    )
    params_active_b: Annotated[float, Range(0.001, 20_000, "billion")] | None = Field(
        None, description="Parameters read for one token, in billions, of a mixture of experts; with params_total_b."
    )
    layers: Annotated[int, Range(1, 1_000, "layers")] | None = Field(None, description="Transformer layers.")
    hidden: Count | None = Field(None, description="Width of the residual stream.")
    n_heads: Annotated[int, Range(1, 4_096, "heads")] | None = Field(None, description="Attention (query) heads.")
    n_kv_heads: Annotated[int, Range(1, 4_096, "heads")] | None = Field(
        None, description="Key and value heads; fewer than n_heads with grouped-query attention."
    )
    head_dim: Annotated[int, Range(1, 4_096, "")] | None = Field(None, description="Width of one head.")
    intermediate: Count | None = Field(None, description="Width of the feed-forward layer.")
    vocab: Annotated[int, Range(1, 10_000_000, "tokens")] | None = Field(None, description="Vocabulary size.")
    max_context: Annotated[int, Range(1, 100_000_000, "tokens")] | None = Field(
        None, description="Longest context the model was made for."
    )
    weight_dtype: WeightDtypes = Field(
        "native",
        description="Type of the weights; native is what the checkpoint ships. Several, or any (as shipped and each "
        "smaller type that the accelerator computes with), are tried side by side; answers are not judged.",
    )
    kv_dtype: KvDtypes = Field(
        "auto",
        description="Type of the KV cache; auto follows the engine. Several, or any, are tried side by side.",
    )

    @property
    def several_precisions(self) -> bool:
        """More than one type of weights or cache is to be tried."""
        return any(value == "any" or not isinstance(value, str) for value in (self.weight_dtype, self.kv_dtype))


class CustomAccelerator(Sourced):
    """An accelerator that the catalog lacks, by its dense figures."""

    id: ShortText = Field(description="A name of your own.")
    memory_gib: Annotated[float, Range(1, 4_096, "GiB")] = Field(
        description="Device memory, as the driver reports it, in GiB."
    )
    memory_bandwidth_gb_per_s: Annotated[float, Range(10, 1_000_000, "GB/s")] = Field(
        description="Peak memory bandwidth, 10^9 bytes per second."
    )
    bf16_dense_tflops: Annotated[float, Range(1, 1_000_000, "TFLOP/s")] = Field(
        description="Peak dense 16-bit rate, without sparsity."
    )
    fp8_dense_tflops: Annotated[float, Range(1, 1_000_000, "TFLOP/s")] | None = Field(
        None, description="Peak dense FP8 rate; leave out where there is none."
    )
    interconnect_gb_per_s: Annotated[float, Range(0.1, 100_000, "GB/s")] = Field(
        description="GPU to GPU, one direction, per GPU."
    )
    gpus_per_node: Annotated[int, Range(1, 1_024, "GPUs")] = Field(8, description="GPUs joined by that link.")
    usd_per_gpu_hour: Annotated[float, Range(0, 10_000, "USD/h", above=True)] = Field(
        description="Price of one GPU for one hour."
    )


class PriceOverride(Sourced):
    """A price of your own for one accelerator."""

    usd_per_gpu_hour: Annotated[float, Range(0, 10_000, "USD/h", above=True)] = Field(
        description="Price of one GPU for one hour, always on."
    )


def _gpu_kind(value: object) -> str:
    return "id" if isinstance(value, str) else "custom"


def _gpus_kind(value: object) -> str:
    return "any" if isinstance(value, str) else "list"


GpuChoice = Annotated[
    Annotated[ShortText, Tag("id")] | Annotated[CustomAccelerator, Tag("custom")], Discriminator(_gpu_kind)
]
GpuList = Annotated[tuple[GpuChoice, ...], Field(min_length=1, max_length=24, strict=False)]


class Hardware(Part):
    """Accelerators to try."""

    gpus: Annotated[
        Annotated[Literal["any"], Tag("any")] | Annotated[GpuList, Tag("list")], Discriminator(_gpus_kind)
    ] = Field(
        "any",
        description='Accelerators to try, by catalog id or as a custom accelerator; "any", alone or listed, tries '
        "each of the catalog that has a price.",
    )
    tensor_parallel: (
        Annotated[tuple[Annotated[int, Range(1, 64, "GPUs")], ...], Field(min_length=1, max_length=8), Loose] | None
    ) = Field(
        None,
        description="Tensor-parallel sizes to try; left out: 1, 2, 4 and 8, as far as they stay in one node.",
    )
    pipeline_parallel: (
        Annotated[tuple[Annotated[int, Range(1, 16, "stages")], ...], Field(min_length=1, max_length=8), Loose] | None
    ) = Field(
        None,
        description="Pipeline stages to try; left out: 1, or the fewest nodes that hold a model beyond one node.",
    )
    max_gpus: Annotated[int, Range(1, 1_000_000, "GPUs")] | None = Field(
        None, description="Quota: most GPUs of a fleet, spares included."
    )
    owned_gpus: Annotated[dict[ShortText, Annotated[int, Range(1, 100_000, "GPUs")]], Field(max_length=20)] = Field(
        {}, description="GPUs that stand ready, by accelerator: the report says what they can take."
    )
    regions: Annotated[tuple[ShortText, ...], Field(max_length=20), Loose] = Field(
        (), description='Regions whose listings count for the price, such as "eu" or "us-east-1"; left out: all.'
    )
    providers: Annotated[tuple[ShortText, ...], Field(max_length=20), Loose] = Field(
        (), description="Renters whose listings count for the price; left out: all."
    )
    price_overrides: Annotated[dict[ShortText, PriceOverride], Field(max_length=50)] = Field(
        {},
        description="Your own price per accelerator; else the median on-demand price of the 180 days before priced_at.",
    )

    @property
    def tries_any(self) -> bool:
        """Whether every accelerator of the catalog that has a price is tried."""
        return "any" in (self.gpus, *self.gpus)
