"""How long prompts and outputs are, in tokens of the served model."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from planner.planning.schema.fields import MAX_TOKENS, Loose, MeanTokens, Part, Range, Tokens

MAX_EMPIRICAL_VALUES = 50_000


class Fixed(Part):
    """Every request has the same length."""

    kind: Literal["fixed"]
    tokens: Tokens = Field(description="Length of every request.")


class Lognormal(Part):
    """Lognormal lengths by their mean and one percentile."""

    kind: Literal["lognormal"]
    mean: MeanTokens = Field(description="Mean length, with any shared prefix.")
    p95: MeanTokens | None = Field(
        None, description="95th percentile; p95 / mean above 1 and at most 3.868 (no lognormal lies beyond)."
    )
    p50: MeanTokens | None = Field(None, description="Median, instead of p95; at most the mean.")


Quantile = Annotated[
    tuple[Annotated[float, Range(0, 1, "(a ratio)")], Annotated[float, Range(1, MAX_TOKENS, "tokens")]],
    Loose,
]


class Empirical(Part):
    """Lengths as observed: values to draw from, or points of the distribution function."""

    kind: Literal["empirical"]
    values: Annotated[tuple[Tokens, ...], Field(min_length=1, max_length=MAX_EMPIRICAL_VALUES), Loose] | None = Field(
        None, description="Observed lengths; each is equally likely."
    )
    quantiles: Annotated[tuple[Quantile, ...], Field(min_length=2, max_length=201), Loose] | None = Field(
        None,
        description="Pairs [ratio, tokens] from 0 to 1, rising; lengths are drawn on the straight lines between them.",
    )


Lengths = Annotated[Fixed | Lognormal | Empirical, Field(discriminator="kind")]
