"""The answer in one sentence, with its range, and the GPU price at which it would change."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from costmodel.breakeven import flip_gpu_price
from planner.planning.candidates import Candidate
from planner.planning.load import Load
from planner.planning.money import FleetBill, Hosted
from planner.planning.plain import usd
from planner.planning.schema import Scenario


def no_fleet_verdict(candidates: Sequence[Candidate], api: Hosted | None) -> dict[str, Any]:
    """Nothing meets the targets: say why the nearest candidate does not."""
    nearest = _nearest(candidates)
    sentence = "No candidate meets the targets."
    if api is not None:
        sentence += f" {_name(api)} would cost {money(api.bill.exact_usd_per_month)} a month."
    detail = ""
    if nearest is not None and nearest.reason is not None:
        detail = f"{nearest.id}: {nearest.reason.detail} {nearest.reason.nearest_change}".strip()
    return {
        "sentence": sentence,
        "detail": detail,
        "choice": "none",
        "against": None if api is None else _against(api),
        "saving_usd_per_month": None,
        "flip_gpu_usd_per_hour": None,
    }


def verdict(scenario: Scenario, load: Load, best: Candidate, bill: FleetBill, api: Hosted | None) -> dict[str, Any]:
    """The best fleet against the cheapest API that is offered."""
    fleet_usd = bill.cost.exact_usd_per_month
    gpus = f"{bill.cost.gpus} {best.gpu.accelerator.id}"
    if api is None:
        spread = _spread(bill.low_usd, bill.high_usd, fleet_usd)
        return {
            "sentence": f"Self-hosting on {gpus} costs {money(fleet_usd)} a month{spread} and meets every target.",
            "detail": _fleet_detail(load, best, bill),
            "choice": "self_host_only",
            "against": None,
            "saving_usd_per_month": None,
            "flip_gpu_usd_per_hour": None,
        }
    api_usd = api.bill.exact_usd_per_month
    saving, low, high = api_usd - fleet_usd, api_usd - bill.high_usd, api_usd - bill.low_usd
    choice = "self_host" if saving > 0 else "api"
    flip = flip_gpu_price(
        api_usd_per_month=api_usd,
        replicas=bill.cost.replicas,
        gpus_per_replica=best.tp,
        hours_per_month=scenario.billing.hours_per_month,
    )
    return {
        "sentence": _sentence(choice, gpus, api, saving, low, high),
        "detail": f"{_fleet_detail(load, best, bill)} {_flip_detail(best, flip, fleet_usd, api, api_usd)}",
        "choice": choice,
        "against": _against(api),
        "saving_usd_per_month": {"low": usd(low), "mid": usd(saving), "high": usd(high)},
        "flip_gpu_usd_per_hour": None if flip is None else flip.quantize(Decimal("0.0001")),
    }


def money(amount: Decimal) -> str:
    """$812, $9.5k, $1.23M: as a sentence needs it."""
    value = abs(float(amount))
    if value >= 999_500:
        return f"${value / 1e6:,.2f}M"
    if value >= 9_995:
        return f"${value / 1e3:,.1f}k"
    return f"${value:,.0f}"


def _sentence(choice: str, gpus: str, api: Hosted, saving: Decimal, low: Decimal, high: Decimal) -> str:
    firm = (low > 0) == (high > 0)
    if choice == "self_host":
        first = f"Self-hosting on {gpus} is {money(saving)} a month cheaper than {_name(api)}"
        span = f"{money(low)} to {money(high)}" if firm else f"from {money(high)} cheaper to {money(low)} dearer"
    else:
        first = f"{_name(api)} is {money(saving)} a month cheaper than self-hosting on {gpus}"
        span = f"{money(high)} to {money(low)}" if firm else f"from {money(low)} cheaper to {money(high)} dearer"
    return f"{first} ({span})."


def _fleet_detail(load: Load, best: Candidate, bill: FleetBill) -> str:
    assert best.fleet is not None
    spare = bill.cost.replicas - best.fleet.serving
    serving = (
        f"{best.fleet.serving} serving {_plural('replica', best.fleet.serving)} of {best.tp} {_plural('GPU', best.tp)}"
    )
    return (
        f"{serving} and {spare} spare carry the peak hour of {load.peak_rps:.3g} requests/s within every target; "
        f"the fleet costs {money(bill.cost.exact_usd_per_month)} a month."
    )


def _flip_detail(best: Candidate, flip: Decimal | None, fleet_usd: Decimal, api: Hosted, api_usd: Decimal) -> str:
    if flip is None:
        return ""
    side = "below" if fleet_usd > api_usd else "up to"
    return (
        f"{_name(api)} costs {money(api_usd)}; self-hosting is cheaper {side} ${flip:.2f} per GPU-hour "
        f"(counted at ${best.gpu.price.usd_per_gpu_hour:.2f})."
    )


def _spread(low: Decimal, high: Decimal, mid: Decimal) -> str:
    return "" if low == high == mid else f" ({money(low)} to {money(high)})"


def _nearest(candidates: Sequence[Candidate]) -> Candidate | None:
    """The candidate that got farthest: simulated, then with memory, then the widest."""
    return max(
        candidates,
        key=lambda c: (c.capacity is not None, c.replica is not None, c.memory is not None and c.memory.fits, c.tp),
        default=None,
    )


def _name(api: Hosted) -> str:
    return f"{api.price.model} at {api.price.provider}"


def _against(api: Hosted) -> dict[str, str]:
    return {"provider": api.price.provider, "model": api.price.model}


def _plural(word: str, count: int) -> str:
    return word if count == 1 else f"{word}s"
