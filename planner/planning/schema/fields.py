"""The base class of every part of a scenario, and the kinds of field they are made of."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, GetCoreSchemaHandler, GetJsonSchemaHandler
from pydantic_core import PydanticCustomError, core_schema

JsonSchema = dict[str, Any]


class Part(BaseModel):
    """Strict, closed and immutable: a string is not a number, true is not 1, an unknown field is an error."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


@dataclass(frozen=True, slots=True)
class Range:
    """The finite range of a number and its unit; `above` makes the lower end exclusive.

    Appears in JSON Schema as minimum (or exclusiveMinimum), maximum and unit.
    """

    low: float
    high: float
    unit: str
    above: bool = False

    @property
    def allowed(self) -> str:
        if self.above:
            return f"above {self.low:g} and at most {self.high:.12g} {self.unit}".rstrip()
        return f"{self.low:g} to {self.high:.12g} {self.unit}".rstrip()

    def check(self, value: float) -> float:
        if isinstance(value, float) and not math.isfinite(value):
            raise PydanticCustomError("not_finite", "must be a finite number", {"allowed": self.allowed})
        if value < self.low or value > self.high or (self.above and value == self.low):
            raise PydanticCustomError("out_of_range", "must be {allowed}", {"allowed": self.allowed})
        return value + 0  # -0.0 becomes 0.0

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchema:
        out: JsonSchema = dict(handler(schema))
        out["exclusiveMinimum" if self.above else "minimum"] = self.low
        out["maximum"] = self.high
        out["unit"] = self.unit
        return out


def _iso_date(value: object) -> date:
    if isinstance(value, date):
        return value
    if isinstance(value, str) and len(value) == 10:
        try:
            parsed = date.fromisoformat(value)
        except ValueError:
            parsed = None
        if parsed and date(2020, 1, 1) <= parsed <= date(2100, 12, 31):
            return parsed
    raise PydanticCustomError("not_a_date", "must be a date", {"allowed": "YYYY-MM-DD, 2020-01-01 to 2100-12-31"})


def _clean_text(value: str) -> str:
    text = value.strip()
    if not text:
        raise PydanticCustomError("empty_text", "must not be empty", {"allowed": "printable text"})
    if not all(c.isprintable() for c in text):
        raise PydanticCustomError("unprintable_text", "holds control characters", {"allowed": "printable text"})
    return text


IsoDate = Annotated[date, BeforeValidator(_iso_date)]
ShortText = Annotated[
    str, Field(min_length=1, max_length=200), BeforeValidator(lambda v: _clean_text(v) if isinstance(v, str) else v)
]


class Sourced(Part):
    """A figure of one's own says where it is from, where that is known; the report's sources repeat it."""

    source: ShortText | None = Field(None, description="Where it is from, such as a contract or a data sheet.")
    as_of: IsoDate | None = Field(None, description="Day from which it holds, or on which it was read.")


Loose = Field(strict=False)
"""On a tuple: JSON has only lists. Its entries stay strict."""

MAX_TOKENS = 10_000_000
Tokens = Annotated[int, Range(1, MAX_TOKENS, "tokens")]
MeanTokens = Annotated[float, Range(1, MAX_TOKENS, "tokens")]
LatencyMs = Annotated[float, Range(5, 3_600_000, "ms")]
TokenGapMs = Annotated[float, Range(0.5, 60_000, "ms")]
Ratio = Annotated[float, Range(0, 1, "(a ratio)", above=True)]
RateRps = Annotated[float, Range(0.0001, 10_000, "requests/s")]
