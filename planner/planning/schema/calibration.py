"""Step-time factors that were fitted to someone's own measured runs, as a scenario carries them."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import IsoDate, Part, Range, ShortText

Factor = Annotated[float, Range(0.1, 10, "")]
EngineName = Literal["vllm", "sglang", "tensorrt-llm"]
LowRatio = Annotated[float, Range(0.02, 1, "(a ratio)")]
HighRatio = Annotated[float, Range(1, 50, "(a ratio)")]
_SHIPPED = "{}, as a multiple of the shipped constant."
_RATIO = "Measured over predicted {}: one run of ten lies {}."


class Calibration(Part):
    """Holds for deployments of this model in this weight type on this accelerator with this engine, of any version and
    layout."""

    model: ShortText = Field(description="Catalog id of the model, or the name of one of your own.")
    weight_dtype: ShortText = Field(description="Type of the weights, resolved, such as bf16 or fp8.")
    gpu: ShortText = Field(description="Accelerator.")
    engine: EngineName = Field(description="Serving engine.")
    number: Annotated[int, Range(1, 1_000_000, "")] = Field(
        1, description="Which calibration of this deployment it is."
    )
    runs: Annotated[int, Range(1, 100_000, "runs")] = Field(description="Measured runs behind it.")
    measured_from: IsoDate = Field(description="Day of the oldest run.")
    measured_until: IsoDate = Field(description="Day of the newest run.")
    compute_factor: Factor = Field(1.0, description=_SHIPPED.format("Share of the FLOP peak that is reached"))
    bandwidth_factor: Factor = Field(1.0, description=_SHIPPED.format("Share of the memory bandwidth that is reached"))
    host_factor: Factor = Field(1.0, description=_SHIPPED.format("Time of scheduler, launches and bookkeeping"))
    communication_factor: Factor = Field(1.0, description=_SHIPPED.format("Time of collectives between GPUs"))
    request_factor: Factor = Field(1.0, description=_SHIPPED.format("Time of a request outside the engine's steps"))
    step_time_p10_ratio: LowRatio = Field(description=_RATIO.format("step time", "below"))
    step_time_p90_ratio: HighRatio = Field(description=_RATIO.format("step time", "above"))
    closed_ttft_p10_ratio: LowRatio = Field(description=_RATIO.format("TTFT in closed loops", "below"))
    closed_ttft_p90_ratio: HighRatio = Field(description=_RATIO.format("TTFT in closed loops", "above"))
    open_ttft_p10_ratio: LowRatio = Field(
        description=_RATIO.format("TTFT of requests that arrive by themselves", "below")
    )
    open_ttft_p90_ratio: HighRatio = Field(
        description=_RATIO.format("TTFT of requests that arrive by themselves", "above")
    )

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What a deployment must have to match."""
        return self.model, self.weight_dtype, self.gpu, self.engine
