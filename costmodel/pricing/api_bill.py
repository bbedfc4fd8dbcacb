"""A month's API bill: every request priced at its own size, totals exact to the token."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from costmodel.pricing.api_rates import TOKEN_KINDS, ApiPrice, RateCard, TokenKind, TokenRates
from costmodel.pricing.money import MTOK, Number, PriceUnknownError, exact, split_to_cents, to_cents

LABELS: dict[TokenKind, str] = {
    "input": "Input",
    "cached_read": "Cached input, read",
    "cached_write": "Cached input, written",
    "cached_write_1h": "Cached input, written for an hour",
    "output": "Output",
}


@dataclass(frozen=True, slots=True)
class ApiTraffic:
    """A sample of requests and how many such requests a month has. Build it with `api_traffic`.

    Arrays are int64 of one length, one entry per sampled request. `prompt_tokens` is the whole input, cached tokens
    included; reads and writes are parts of it. Reasoning tokens are output tokens.
    """

    prompt_tokens: NDArray[np.int64]
    output_tokens: NDArray[np.int64]
    cached_read_tokens: NDArray[np.int64]
    cached_write_tokens: NDArray[np.int64]
    requests_per_month: Fraction
    hour_writes: bool = False
    """Whether what is written is kept for an hour, at that rate."""


@dataclass(frozen=True, slots=True)
class BillPart:
    """Traffic at the rates of one card; its lines end with the label, where it has one."""

    card: RateCard
    traffic: ApiTraffic
    label: str = ""


@dataclass(frozen=True, slots=True)
class ApiBillLine:
    """One kind of token at one rate. For a charge per request `kind` is None, `tokens` counts requests, and the rate is
    per million of them."""

    label: str
    kind: TokenKind | None
    above_input_tokens: int | None
    tokens: int
    usd_per_mtok: Decimal
    usd_per_month: Decimal


@dataclass(frozen=True, slots=True)
class ApiBill:
    """The month's bill. Lines are in cents and add up to `usd_per_month`; the exact sum stands beside it.

    `usd_per_request` is what one request more costs beyond the minimum; `minimum_usd` is billed where the requests come
    to less.
    `usd_per_mtok_blended` is the bill over all tokens in and out, None without tokens.
    """

    provider: str
    model: str
    lines: tuple[ApiBillLine, ...]
    usd_per_month: Decimal
    exact_usd_per_month: Decimal
    usd_per_request: Fraction
    tokens_per_month: int
    usd_per_mtok_blended: Decimal | None
    minimum_usd: Decimal = Decimal(0)


def api_traffic(
    prompt_tokens: ArrayLike,
    output_tokens: ArrayLike,
    *,
    requests_per_month: Number,
    cached_read_tokens: ArrayLike = 0,
    cached_write_tokens: ArrayLike = 0,
    hour_writes: bool = False,
) -> ApiTraffic:
    """Traffic from per-request token counts (1-D, one length; a scalar cached count holds for every request).

    Raises ValueError for an empty sample, negative or fractional counts, or cached tokens beyond the prompt.
    """
    prompt = _counts("prompt_tokens", prompt_tokens)
    if prompt.ndim != 1 or prompt.size == 0:
        raise ValueError("prompt_tokens must be a non-empty list of counts")
    others = {
        "output_tokens": output_tokens,
        "cached_read_tokens": cached_read_tokens,
        "cached_write_tokens": cached_write_tokens,
    }
    output, read, written = (np.broadcast_to(_counts(name, counts), prompt.shape) for name, counts in others.items())
    if bool(np.any(read + written > prompt)):
        raise ValueError("cached tokens are part of the prompt and cannot exceed it")
    requests = exact(requests_per_month)
    if requests < 0:
        raise ValueError(f"requests_per_month cannot be negative: {requests_per_month}")
    return ApiTraffic(prompt, output, read, written, requests, hour_writes)


def api_bill(price: ApiPrice, traffic: ApiTraffic, *, batch: bool = False) -> ApiBill:
    """Bill of a month of such traffic, USD: tier by the size of each sampled request, then scaled to the month.

    The month's tokens of a line are its sampled tokens x requests_per_month / sampled requests, rounded to a whole
    token; tokens x rate is exact. Raises PriceUnknownError when `batch` is asked for and no batch price is listed.
    """
    card = price.batch if batch else price.standard
    if card is None:
        raise PriceUnknownError(
            f"batch processing of {price.model} at {price.provider}",
            detail="no batch price is listed",
            needed="Use the standard price",
        )
    return bill_of(price, [BillPart(card, traffic)])


def bill_of(price: ApiPrice, parts: Sequence[BillPart]) -> ApiBill:
    """One bill of traffic that is billed at several cards, such as those of the hours of a day."""
    counted = [
        (_labelled(label, part.label), kind, threshold, round(sampled * _scale(part.traffic)), rate)
        for part in parts
        for label, kind, threshold, sampled, rate in _sampled_lines(part.card, part.traffic)
    ]
    amounts = [tokens * rate / MTOK for *_, tokens, rate in counted]
    requests = sum((part.traffic.requests_per_month for part in parts), Fraction(0))
    fee = round(requests) * price.usd_per_1k_requests / 1000
    total = sum(amounts, fee)
    cents = split_to_cents([*amounts, fee])
    lines = [
        ApiBillLine(label, kind, threshold, tokens, rate, usd)
        for (label, kind, threshold, tokens, rate), usd in zip(counted, cents, strict=False)
    ]
    if price.usd_per_1k_requests:
        lines.append(ApiBillLine("Requests", None, None, round(requests), price.usd_per_1k_requests * 1000, cents[-1]))
    tokens_per_month = sum(line.tokens for line in lines if line.kind is not None)
    each = [_usd_per_request(part.card, price, part.traffic) for part in parts]
    weights = [part.traffic.requests_per_month for part in parts] if requests else [Fraction(1)] * len(parts)
    return ApiBill(
        provider=price.provider,
        model=price.model,
        lines=tuple(lines),
        usd_per_month=to_cents(total),
        exact_usd_per_month=total,
        usd_per_request=sum((usd * weight for usd, weight in zip(each, weights, strict=True)), Fraction(0))
        / sum(weights),
        tokens_per_month=tokens_per_month,
        usd_per_mtok_blended=total * MTOK / tokens_per_month if tokens_per_month else None,
    )


def with_minimum(bill: ApiBill, minimum_usd: Decimal) -> ApiBill:
    """The bill of an agreement under which a month costs at least so much; what is missing is a line of its own."""
    missing = minimum_usd - bill.exact_usd_per_month
    if missing <= 0:
        return replace(bill, minimum_usd=minimum_usd)
    line = ApiBillLine(
        "Up to the monthly minimum", None, None, 0, Decimal(0), to_cents(minimum_usd) - bill.usd_per_month
    )
    return replace(
        bill,
        lines=(*bill.lines, line),
        usd_per_month=to_cents(minimum_usd),
        exact_usd_per_month=minimum_usd,
        usd_per_mtok_blended=minimum_usd * MTOK / bill.tokens_per_month if bill.tokens_per_month else None,
        minimum_usd=minimum_usd,
    )


def joined_bill(bill: ApiBill, more: ApiBill, label: str, *, requests_per_month: Number) -> ApiBill:
    """One bill of two: lines of the second are labelled. usd_per_request: of both, per one of requests_per_month."""
    lines = [*bill.lines, *(replace(line, label=f"{label}: {line.label}") for line in more.lines)]
    cents = split_to_cents([line.tokens * line.usd_per_mtok / MTOK for line in lines])
    total = bill.exact_usd_per_month + more.exact_usd_per_month
    tokens, requests = bill.tokens_per_month + more.tokens_per_month, exact(requests_per_month)
    return ApiBill(
        provider=bill.provider,
        model=bill.model,
        lines=tuple(replace(line, usd_per_month=usd) for line, usd in zip(lines, cents, strict=True)),
        usd_per_month=to_cents(total),
        exact_usd_per_month=total,
        usd_per_request=exact(total) / requests if requests else Fraction(0),
        tokens_per_month=tokens,
        usd_per_mtok_blended=total * MTOK / tokens if tokens else None,
    )


def _sampled_lines(card: RateCard, traffic: ApiTraffic) -> Iterator[tuple[str, TokenKind, int | None, int, Decimal]]:
    """Label, kind, threshold, tokens in the sample and rate of every line that has tokens."""
    thresholds = [tier.above_input_tokens for tier in card.tiers]
    tier_of = np.searchsorted(np.array(thresholds, dtype=np.int64), traffic.prompt_tokens, side="left")
    uncached = traffic.prompt_tokens - traffic.cached_read_tokens - traffic.cached_write_tokens
    columns: dict[TokenKind, NDArray[np.int64]] = {
        "input": uncached,
        "cached_read": traffic.cached_read_tokens,
        "cached_write_1h" if traffic.hour_writes else "cached_write": traffic.cached_write_tokens,
        "output": traffic.output_tokens,
    }
    for index, rates in enumerate([card.rates, *(tier.rates for tier in card.tiers)]):
        threshold = thresholds[index - 1] if index else None
        for kind in TOKEN_KINDS:
            sampled = int(columns[kind][tier_of == index].sum()) if kind in columns else 0
            if sampled:
                yield _label(kind, threshold, rates), kind, threshold, sampled, rates.usd_per_mtok(kind)


def _usd_per_request(card: RateCard, price: ApiPrice, traffic: ApiTraffic) -> Fraction:
    """Mean cost of a sampled request, exact: the slope of the bill against volume at this mix."""
    sampled_usd = sum((sampled * Fraction(rate) for *_, sampled, rate in _sampled_lines(card, traffic)), Fraction(0))
    return sampled_usd / MTOK / traffic.prompt_tokens.size + Fraction(price.usd_per_1k_requests) / 1000


def _scale(traffic: ApiTraffic) -> Fraction:
    """Requests of the month for each one of the sample."""
    return traffic.requests_per_month / traffic.prompt_tokens.size


def _labelled(label: str, part: str) -> str:
    return f"{label}, {part}" if part else label


def _label(kind: TokenKind, threshold: int | None, rates: TokenRates) -> str:
    full_price = kind == "cached_read" and rates.cached_read_usd_per_mtok is None
    label = f"{LABELS[kind]} at the full input price" if full_price else LABELS[kind]
    return label if threshold is None else f"{label}, requests above {threshold:,} input tokens"


def _counts(name: str, values: ArrayLike) -> NDArray[np.int64]:
    given = np.asarray(values)
    if given.size and not (np.issubdtype(given.dtype, np.integer) and int(given.min()) >= 0):
        raise ValueError(f"{name} must be whole numbers, zero or more")
    return given.astype(np.int64)
