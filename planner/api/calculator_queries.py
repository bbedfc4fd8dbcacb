"""What the calculators ask, with ranges."""

from typing import Annotated, Literal

from pydantic import Field

from planner.api.cells import CellQuery
from planner.api.wire import Wire

Rate = Annotated[float, Field(ge=1e-3, le=1e12, allow_inf_nan=False)]
HourlyUsd = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=1, le=100_000_000)]


class KvSizesQuery(CellQuery):
    """KV memory of plain attention layers."""

    layers: Annotated[int, Field(ge=1, le=1_000)] = Field(description="Layers with a KV cache.", examples=[32])
    kv_heads: Annotated[int, Field(ge=1, le=4_096)] = Field(description="Key and value heads.", examples=[8])
    head_dim: Annotated[int, Field(ge=1, le=4_096)] = Field(description="Width of one head.", examples=[128])
    bytes_per_value: Annotated[float, Field(gt=0, le=8, allow_inf_nan=False)] = Field(
        2, description="Bytes of a cached number: 2 in 16 bit, 1 in FP8."
    )
    tp: Annotated[int, Field(ge=1, le=64)] = Field(1, description="Tensor-parallel size.")
    context_tokens: Tokens = Field(description="Tokens of a sequence.", examples=[1000])
    sequences: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="Sequences held.")
    block_size: Annotated[int, Field(ge=1, le=1_024)] = Field(16, description="Tokens of a block.")


class KvModelQuery(CellQuery):
    """KV memory of a model of the catalog."""

    model: Annotated[str, Field(min_length=1, max_length=200)] = Field(
        description="Catalog id of the model.", examples=["meta-llama/Llama-3.1-8B-Instruct"]
    )
    kv_dtype: Literal["auto", "bf16", "fp8"] = Field("auto", description="Type of the cache.")
    tp: Annotated[int, Field(ge=1, le=64)] = Field(1, description="Tensor-parallel size.")
    context_tokens: Tokens = Field(description="Tokens of a sequence.", examples=[1000])
    sequences: Annotated[int, Field(ge=1, le=1_000_000)] = Field(1, description="Sequences held.")
    block_size: Literal["1", "8", "16", "32", "64", "128"] = Field("16", description="Tokens of a block.")


class LittlesLawQuery(CellQuery):
    """Requests in the system."""

    arrival_rps: Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] = Field(
        description="Requests per second.", examples=[2]
    )
    e2e_s: Annotated[float, Field(ge=0, le=1e5, allow_inf_nan=False)] = Field(
        description="Seconds in the system.", examples=[7.675]
    )


MonthTokens = Annotated[float, Field(ge=0, le=1e18, allow_inf_nan=False)]
RequestTokens = Annotated[float, Field(ge=1, le=1e7, allow_inf_nan=False)]


class MonthlyRequestsQuery(CellQuery):
    """Requests of a month from its tokens."""

    input_tokens: MonthTokens = Field(description="Input tokens of the month.", examples=[1e8])
    output_tokens: MonthTokens = Field(description="Output tokens of the month.", examples=[1e8])
    prompt_tokens: RequestTokens = Field(description="Prompt of a representative request, tokens.", examples=[4000])
    answer_tokens: RequestTokens = Field(description="Answer of a representative request, tokens.", examples=[500])


class CostPerMtokQuery(CellQuery):
    """Cost of a million tokens."""

    usd_per_hour: HourlyUsd = Field(description="Price of an hour.", examples=[4])
    tokens_per_s: Rate = Field(description="Tokens per second at full load.", examples=[1500])
    utilisation_ratio: Annotated[float, Field(ge=1e-6, le=1, allow_inf_nan=False)] = Field(1, description="Share used.")


class BreakEvenQuery(CellQuery):
    """Whole replicas against an API."""

    usd_per_replica_hour: HourlyUsd = Field(description="Price of a replica's hour.", examples=[4])
    capacity_tokens_per_s: Rate = Field(
        description="Tokens per second of one replica within the targets.", examples=[1500]
    )
    api_usd_per_mtok: Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)] = Field(
        description="The API's price of a million tokens, at your mix.", examples=[1]
    )
    spare_replicas: Annotated[int, Field(ge=0, le=1_000)] = Field(0, description="Replicas in reserve.")
    peak_to_mean: Annotated[float, Field(ge=1, le=100, allow_inf_nan=False)] = Field(
        1, description="Busiest hour over the mean."
    )
    hours_per_month: Annotated[float, Field(ge=1, le=744, allow_inf_nan=False)] = Field(730, description="Hours paid.")


class LessonRequestBody(Wire):
    """A request of the lesson."""

    arrival_step: int = Field(0, ge=0, le=1_000_000_000)
    output_tokens: int = Field(ge=1, le=1_000_000_000)
    prompt_tokens: int = Field(0, ge=0, le=1_000_000_000)


class LessonBody(Wire):
    """Requests in slots, step by step."""

    requests: list[LessonRequestBody] = Field(min_length=1, max_length=10_000)
    slots: int = Field(ge=1, le=1024, description="Sequences at once.")
    policy: Literal["static", "continuous", "chunked_prefill", "unchunked_prefill"] = "continuous"
    chunk_tokens: int = Field(256, ge=1, le=1_000_000, description="Prompt tokens of a step, for chunked_prefill.")


class CalculationAnswer(Wire):
    """An answer with how it came about."""

    formula: str = Field(description="In words and symbols.")
    worked: str = Field(description="The same with the numbers put in.")
    result: dict[str, object] = Field(description="Results by name.")
