"""The state of the lab, as its address has it: every field with its range, wrong ones named and left out of the run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError


def _empty_is_none(value: object) -> object:
    return None if value == "" else value


Guess = Annotated[Annotated[float, Field(ge=0, le=1e6, allow_inf_nan=False)] | None, BeforeValidator(_empty_is_none)]
Step = Annotated[Annotated[int, Field(ge=0, le=100_000)] | None, BeforeValidator(_empty_is_none)]
Place = Annotated[Annotated[int, Field(ge=1, le=4000)] | None, BeforeValidator(_empty_is_none)]


class LabQuery(BaseModel):
    """Fields of all parts of the lab; a part's fields begin with its letter: b, p, k, x, l, c."""

    model_config = ConfigDict(extra="ignore", frozen=True)

    b_load: Literal["listed", "drawn"] = "listed"
    b_requests: str = Field("2, 8, 3, 3", max_length=600)
    b_slots: int = Field(2, ge=1, le=16)
    b_rate: float = Field(0.15, ge=0, le=4, allow_inf_nan=False)
    b_mean: float = Field(24, ge=1, le=400, allow_inf_nan=False)
    b_sigma: float = Field(0.8, ge=0, le=1.5, allow_inf_nan=False)
    b_count: int = Field(60, ge=1, le=300)
    b_seed: int = Field(1, ge=0, le=9999)
    b_guess: Guess = None
    b_show: bool = False

    p_requests: str = Field("200+10, 200+10, 200+10, 7680+5@2, 100+6@3", max_length=600)
    p_slots: int = Field(4, ge=1, le=16)
    p_chunk: int = Field(256, ge=16, le=16384)
    p_guess: Guess = None
    p_show: bool = False

    k_requests: str = Field("40+50, 60+80, 20+30, 30+90@5", max_length=600)
    k_blocks: int = Field(20, ge=1, le=120)
    k_block: Literal["8", "16", "32"] = "16"
    k_way: Literal["paged", "contiguous"] = "paged"

    x_shared: int = Field(2000, ge=0, le=4000)
    x_own: int = Field(200, ge=1, le=2000)
    x_changed: Place = None
    x_block: Literal["16", "32", "64"] = "16"
    x_count: int = Field(50, ge=1, le=10_000)
    x_guess: Guess = None
    x_show: bool = False

    l_arrivals: float = Field(0.15, ge=0.02, le=0.4, allow_inf_nan=False)
    l_slots: int = Field(4, ge=1, le=16)
    l_mean: float = Field(24, ge=1, le=60, allow_inf_nan=False)
    l_guess: Guess = None
    l_show: bool = False
    l_rps: float = Field(2.0, ge=0, le=10_000, allow_inf_nan=False)
    l_time_s: float = Field(7.675, ge=0, le=10_000, allow_inf_nan=False)

    c_usd: float = Field(4.0, ge=0.01, le=10_000, allow_inf_nan=False)
    c_tps: float = Field(1500, ge=0.1, le=1_000_000, allow_inf_nan=False)
    c_api: float = Field(1.0, ge=0.001, le=10_000, allow_inf_nan=False)

    b_step: Step = None
    p_step: Step = None
    k_step: Step = None
    l_step: Step = None


def read(texts: Mapping[str, str]) -> tuple[LabQuery, dict[str, str]]:
    """The state, and what is wrong by field; a wrong field has its default, and its part shows the error alone."""
    known = {name: text.strip() for name, text in texts.items() if name in LabQuery.model_fields}
    wrong: dict[str, str] = {}
    for _ in range(2):
        try:
            return LabQuery.model_validate({name: text for name, text in known.items() if name not in wrong}), wrong
        except ValidationError as error:
            wrong |= {str(item["loc"][0]): item["msg"].removeprefix("Input should be ") for item in error.errors()}
    raise AssertionError("the defaults are in range")
