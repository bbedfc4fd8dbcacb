"""Tokens by kind, each token counted once: what the accounting dialects of providers say, made comparable."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from costmodel.pricing.api_rates import TOKEN_KINDS, TokenKind, TokenRates
from costmodel.pricing.money import MTOK


@dataclass(frozen=True, slots=True)
class Usage:
    """A partition of tokens: no kind holds tokens of another. `uncached_input_tokens` were neither read from a cache
    nor written to one. `requests` may be zero when unknown; the means are then None."""

    uncached_input_tokens: int
    output_tokens: int
    cached_read_tokens: int = 0
    cached_write_tokens: int = 0
    cached_write_1h_tokens: int = 0
    requests: int = 0

    def __post_init__(self) -> None:
        negative = [name for name in self.__slots__ if getattr(self, name) < 0]
        if negative:
            raise ValueError(f"token counts cannot be negative: {', '.join(negative)}")

    @property
    def input_tokens(self) -> int:
        """All tokens sent to the model, cached or not."""
        written = self.cached_write_tokens + self.cached_write_1h_tokens
        return self.uncached_input_tokens + self.cached_read_tokens + written

    @property
    def total_tokens(self) -> int:
        """All tokens in and out, each once: the ones that a server of one's own would process."""
        return self.input_tokens + self.output_tokens

    @property
    def cache_hit_ratio(self) -> Fraction | None:
        """Share of input tokens read from a cache; None without input."""
        return Fraction(self.cached_read_tokens, self.input_tokens) if self.input_tokens else None

    @property
    def mean_input_tokens(self) -> Fraction | None:
        """Input tokens per request, cached ones included."""
        return Fraction(self.input_tokens, self.requests) if self.requests else None

    @property
    def mean_output_tokens(self) -> Fraction | None:
        """Output tokens per request."""
        return Fraction(self.output_tokens, self.requests) if self.requests else None

    def tokens(self, kind: TokenKind) -> int:
        """Tokens of one kind of `TOKEN_KINDS`."""
        counts: dict[TokenKind, int] = {
            "input": self.uncached_input_tokens,
            "cached_read": self.cached_read_tokens,
            "cached_write": self.cached_write_tokens,
            "cached_write_1h": self.cached_write_1h_tokens,
            "output": self.output_tokens,
        }
        return counts[kind]


def usage_cost_usd(rates: TokenRates, usage: Usage) -> Decimal:
    """Exact cost of these tokens at these rates, USD. The caller picks the rates of the request's size."""
    return sum((usage.tokens(kind) * rates.usd_per_mtok(kind) for kind in TOKEN_KINDS), Decimal(0)) / MTOK


def inclusive_usage(
    *,
    input_tokens: int,
    output_tokens: int,
    cached_read_tokens: int = 0,
    cached_write_tokens: int = 0,
    requests: int = 0,
) -> Usage:
    """Usage of a dialect whose input count contains the cached tokens (OpenAI, most gateways and agent logs).

    Raises ValueError when the cached tokens exceed the input: the counts are then of the other dialect.
    """
    cached = cached_read_tokens + cached_write_tokens
    if cached > input_tokens:
        raise ValueError(
            f"cached tokens ({cached}) exceed input tokens ({input_tokens}): this dialect's input excludes cached ones?"
        )
    return Usage(
        uncached_input_tokens=input_tokens - cached,
        output_tokens=output_tokens,
        cached_read_tokens=cached_read_tokens,
        cached_write_tokens=cached_write_tokens,
        requests=requests,
    )


def openai_usage(record: Mapping[str, object]) -> Usage:
    """Usage of an OpenAI-style record: a usage bucket, a Responses or a Chat Completions `usage` object.

    Input includes cached tokens. A record without `num_model_requests` is one request.
    Raises ValueError for missing or impossible counts.
    """
    details = record.get("input_tokens_details") or record.get("prompt_tokens_details")
    in_details = _count(details, "cached_tokens", default=0) if isinstance(details, Mapping) else 0
    return inclusive_usage(
        input_tokens=_first_count(record, "input_tokens", "prompt_tokens"),
        output_tokens=_first_count(record, "output_tokens", "completion_tokens"),
        cached_read_tokens=_count(record, "input_cached_tokens", default=in_details),
        requests=_count(record, "num_model_requests", default=1),
    )


def anthropic_usage(record: Mapping[str, object]) -> Usage:
    """Usage of an Anthropic `usage` object, one request. Input excludes cache reads and writes.

    `cache_creation` splits the writes into five-minute and one-hour ones where present; without it all are
    five-minute writes. Raises ValueError for missing or impossible counts.
    """
    written = _count(record, "cache_creation_input_tokens", default=0)
    split = record.get("cache_creation")
    one_hour = _count(split, "ephemeral_1h_input_tokens", default=0) if isinstance(split, Mapping) else 0
    if one_hour > written:
        raise ValueError(f"one-hour cache writes ({one_hour}) exceed all cache writes ({written})")
    return Usage(
        uncached_input_tokens=_count(record, "input_tokens"),
        output_tokens=_count(record, "output_tokens"),
        cached_read_tokens=_count(record, "cache_read_input_tokens", default=0),
        cached_write_tokens=written - one_hour,
        cached_write_1h_tokens=one_hour,
        requests=1,
    )


def _first_count(record: Mapping[str, object], *names: str) -> int:
    present = next((name for name in names if record.get(name) is not None), None)
    if present is None:
        raise ValueError(f"usage has none of {', '.join(names)}")
    return _count(record, present)


def _count(record: Mapping[str, object], name: str, default: int | None = None) -> int:
    value = record.get(name)
    if value is None and default is not None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{name} must be a whole number of tokens, zero or more, not {value!r}")
    return value
