"""What a month of the load comes to: requests, and tokens in and out."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from costmodel.pricing.money import exact
from planner.planning.traffic.load import BatchLoad, Load

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Tokens:
    """A month of the load: requests, and whole tokens in and out, those with a deadline included. batch_requests: of
    these."""

    requests: Fraction
    input: int
    output: int
    batch_requests: Fraction = Fraction(0)

    @property
    def total(self) -> int:
        return self.input + self.output


def monthly_tokens(load: Load, hours_per_month: float) -> Tokens:
    """Mean rate × 3600 × hours, times the mean lengths of the mix (exact, then rounded to whole tokens)."""
    requests = exact(load.mean_rps) * SECONDS_PER_HOUR * exact(hours_per_month)
    count = len(load.mix.prompt_tokens)
    total_in = round(int(load.mix.prompt_tokens.sum()) * requests / count)
    total_out = round(int(load.mix.output_tokens.sum()) * requests / count)
    if load.batch is None:
        return Tokens(requests, total_in, total_out)
    mix, more = load.batch.mix, batch_requests_per_month(load.batch, hours_per_month)
    total_in += round(int(mix.prompt_tokens.sum()) * more / len(mix.prompt_tokens))
    total_out += round(int(mix.output_tokens.sum()) * more / len(mix.prompt_tokens))
    return Tokens(requests, total_in, total_out, more)


def batch_requests_per_month(batch: BatchLoad, hours_per_month: float) -> Fraction:
    """Those of a week, as many weeks as the month has hours for."""
    return exact(batch.requests_per_week) * exact(hours_per_month) / len(batch.week_requests)
