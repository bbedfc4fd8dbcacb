"""What a fleet of one's own costs: the month's lines, the cost of a million tokens, and the identity between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from costmodel.catalog.display_names import counted
from costmodel.pricing.money import (
    HOURS_PER_MONTH,
    MTOK,
    Number,
    checked_hours,
    exact,
    split_to_cents,
    to_cents,
    to_decimal,
)

OUTPUT_TO_INPUT_COST_RATIO = 4  # convention of the GKE Inference Quickstart, see split_usd_per_mtok


@dataclass(frozen=True, slots=True)
class CostLine:
    """One line of the month: quantity x usd_per_unit, in cents such that the lines add up to the bill."""

    label: str
    quantity: Decimal
    unit: str
    usd_per_unit: Decimal
    usd_per_month: Decimal
    basis: str


@dataclass(frozen=True, slots=True)
class UsdPerMtok:
    """The bill per million tokens, four ways; None where there are no tokens to divide by.

    `output_alone` charges everything to output tokens, `blended` to all tokens in and out. `input` and `output` split
    the same bill between them: input x input tokens + output x output tokens = the bill.
    """

    output_alone: Decimal | None
    blended: Decimal | None
    input: Decimal | None
    output: Decimal | None


@dataclass(frozen=True, slots=True)
class SelfHostCost:
    """A month of the fleet, USD. Cents in `lines` and `usd_per_month`; the exact bill beside them.

    `allocation_usd_per_mtok` is the bill over all tokens; `usage_usd_per_mtok` counts only the busy part of the paid
    hours, so it shows efficiency and must not be compared with an API bill. None without tokens (or busy share).
    """

    lines: tuple[CostLine, ...]
    usd_per_month: Decimal
    exact_usd_per_month: Decimal
    usd_per_replica_hour: Decimal
    replicas: int
    gpus: int
    usd_per_mtok: UsdPerMtok
    allocation_usd_per_mtok: Decimal | None
    usage_usd_per_mtok: Decimal | None


@dataclass(frozen=True, slots=True)
class CostIdentity:
    """Cost per token = price of a replica hour / (SLO-feasible tokens of a replica hour x utilisation).

    Utilisation is tokens served over what all paid replicas, spares included, could serve within the SLOs in the paid
    hours; so the identity returns the bill exactly. It and the cost are None without tokens.
    """

    usd_per_replica_hour: Decimal
    slo_tokens_per_replica_hour: Decimal
    utilisation_ratio: Decimal
    usd_per_mtok: Decimal | None


def self_host_cost(
    *,
    usd_per_gpu_hour: Number,
    gpus_per_replica: int,
    serving_replicas: int,
    spare_replicas: int = 0,
    hours_per_month: Number = HOURS_PER_MONTH,
    input_tokens_per_month: Number = 0,
    output_tokens_per_month: Number = 0,
    busy_ratio: Number | None = None,
) -> SelfHostCost:
    """Cost of a fleet that is paid for every hour of the month, whatever its utilisation.

    `busy_ratio` is the share of the paid GPU time that serves requests; without it no usage-based cost is given.
    Raises ValueError for negative prices, counts or tokens, and hours outside (0, 744].
    """
    hours, price = checked_hours(hours_per_month), exact(usd_per_gpu_hour)
    tokens_in, tokens_out = exact(input_tokens_per_month), exact(output_tokens_per_month)
    negative = any(value < 0 for value in (price, tokens_in, tokens_out, serving_replicas, spare_replicas))
    if negative or gpus_per_replica < 1:
        raise ValueError("prices, replicas and tokens must not be negative, and a replica has at least one GPU")
    counts = {"Serving GPUs": serving_replicas, "Spare GPUs": spare_replicas}
    shown = [(label, replicas) for label, replicas in counts.items() if replicas or label == "Serving GPUs"]
    return hour_lines_cost(
        [
            HourLine(
                label=label,
                gpu_hours=replicas * gpus_per_replica * hours,
                usd_per_gpu_hour=price,
                basis=f"{counted(replicas, 'replica')} x {counted(gpus_per_replica, 'GPU')} x {to_decimal(hours):f} h",
            )
            for label, replicas in shown
        ],
        usd_per_replica_hour=gpus_per_replica * price,
        gpus_per_replica=gpus_per_replica,
        replicas=serving_replicas + spare_replicas,
        input_tokens_per_month=tokens_in,
        output_tokens_per_month=tokens_out,
        busy_ratio=busy_ratio,
    )


@dataclass(frozen=True, slots=True)
class HourLine:
    """GPU-hours of a month at one price, exact."""

    label: str
    gpu_hours: Fraction
    usd_per_gpu_hour: Fraction
    basis: str


def hour_lines_cost(
    hour_lines: Sequence[HourLine],
    *,
    usd_per_replica_hour: Number,
    gpus_per_replica: int,
    replicas: int,
    input_tokens_per_month: Number,
    output_tokens_per_month: Number,
    busy_ratio: Number | None = None,
    elsewhere: CostLine | None = None,
) -> SelfHostCost:
    """Cost of a fleet by the hours that it is paid. replicas: the most that are on at once. elsewhere: what others
    bill for the part of the load that comes while the fleet is closed, exact; its cents are taken in."""
    tokens_in, tokens_out = exact(input_tokens_per_month), exact(output_tokens_per_month)
    amounts = [line.gpu_hours * line.usd_per_gpu_hour for line in hour_lines]
    if elsewhere is not None:
        amounts.append(exact(elsewhere.usd_per_month))
    cents = split_to_cents([to_decimal(amount) for amount in amounts])
    lines = [
        CostLine(
            label=line.label,
            quantity=to_decimal(line.gpu_hours),
            unit="GPU-hour",
            usd_per_unit=to_decimal(line.usd_per_gpu_hour),
            usd_per_month=usd,
            basis=line.basis,
        )
        for line, usd in zip(hour_lines, cents, strict=False)
    ]
    if elsewhere is not None:
        lines.append(replace(elsewhere, usd_per_month=cents[-1]))
    bill = sum(amounts, Fraction(0))
    return SelfHostCost(
        lines=tuple(lines),
        usd_per_month=to_cents(to_decimal(bill)),
        exact_usd_per_month=to_decimal(bill),
        usd_per_replica_hour=to_decimal(usd_per_replica_hour),
        replicas=replicas,
        gpus=replicas * gpus_per_replica,
        usd_per_mtok=split_usd_per_mtok(to_decimal(bill), tokens_in, tokens_out),
        allocation_usd_per_mtok=_per_mtok(bill, tokens_in + tokens_out),
        usage_usd_per_mtok=None if busy_ratio is None else _per_mtok(bill * _share(busy_ratio), tokens_in + tokens_out),
    )


def split_usd_per_mtok(
    usd: Number,
    input_tokens: Number,
    output_tokens: Number,
    *,
    output_to_input_cost_ratio: Number = OUTPUT_TO_INPUT_COST_RATIO,
) -> UsdPerMtok:
    """Cost of a million tokens when `usd` served so many input and output tokens.

    The split takes an output token to cost `output_to_input_cost_ratio` input tokens: 4 by the convention of
    https://cloud.google.com/python/docs/reference/google-cloud-gkerecommender/latest/google.cloud.gkerecommender_v1.types.Cost
    """
    tokens_in, tokens_out, ratio = exact(input_tokens), exact(output_tokens), exact(output_to_input_cost_ratio)
    per_input = _per_mtok(exact(usd), tokens_in + ratio * tokens_out)
    return UsdPerMtok(
        output_alone=_per_mtok(exact(usd), tokens_out),
        blended=_per_mtok(exact(usd), tokens_in + tokens_out),
        input=per_input,
        output=_per_mtok(exact(usd) * ratio, tokens_in + ratio * tokens_out),
    )


def cost_identity(
    *,
    usd_per_replica_hour: Number,
    slo_tokens_per_replica_hour: Number,
    replicas: int,
    tokens_per_month: Number,
    hours_per_month: Number = HOURS_PER_MONTH,
    paid_replica_hours: Number | None = None,
) -> CostIdentity:
    """The identity for a fleet of so many paid replicas; tokens in the same sense (output or total) on both sides.

    paid_replica_hours: of a fleet that is not paid all hours; the price is then the mean of an hour paid.
    Raises ValueError when the capacity is not above zero.
    """
    capacity, price, tokens = exact(slo_tokens_per_replica_hour), exact(usd_per_replica_hour), exact(tokens_per_month)
    if capacity <= 0 or replicas < 1:
        raise ValueError("the identity needs at least one replica that can serve tokens within the SLOs")
    paid = replicas * checked_hours(hours_per_month) if paid_replica_hours is None else exact(paid_replica_hours)
    utilisation = tokens / (capacity * paid)
    return CostIdentity(
        usd_per_replica_hour=to_decimal(price),
        slo_tokens_per_replica_hour=to_decimal(capacity),
        utilisation_ratio=to_decimal(utilisation),
        usd_per_mtok=usd_per_mtok_at(price, capacity, utilisation),
    )


def usd_per_mtok_at(usd_per_hour: Number, tokens_per_hour: Number, utilisation_ratio: Number) -> Decimal | None:
    """Cost of a million tokens at a utilisation: usd_per_hour / (tokens_per_hour x utilisation). None at zero."""
    return _per_mtok(exact(usd_per_hour), exact(tokens_per_hour) * exact(utilisation_ratio))


def paid_hours_per_month(
    hours_per_month: Number, mode: Literal["always_on", "scale_to_zero"], *, active_ratio: Number = 1
) -> Decimal:
    """Hours of a GPU that are paid. A GPU that is always on is paid for idle hours too: utilisation does not discount
    the bill. Only with scale to zero is `active_ratio`, the share of hours with the GPU held, a factor."""
    hours = checked_hours(hours_per_month)
    return to_decimal(hours if mode == "always_on" else hours * _share(active_ratio))


def _share(ratio: Number) -> Fraction:
    share = exact(ratio)
    if not 0 <= share <= 1:
        raise ValueError(f"a share must lie between 0 and 1, not {ratio}")
    return share


def _per_mtok(usd: Fraction, tokens: Fraction) -> Decimal | None:
    return to_decimal(usd * MTOK / tokens) if tokens else None
