"""The answer in one sentence, with its range, and the GPU price at which it would change."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from costmodel.pricing.money import rounded, to_cents, to_decimal
from planner.planning.money.bills import FleetBill
from planner.planning.money.further import Further
from planner.planning.money.hosted import Hosted
from planner.planning.money.hybrid import Split
from planner.planning.report.names import (
    amount,
    api_model_name,
    counted,
    exact_usd,
    gpu_name,
    gpus_name,
    hosted_name,
    likely,
    model_name,
    possessive,
    provider_name,
)
from planner.planning.report.plain import usd
from planner.planning.search.candidates import Candidate
from planner.planning.traffic.load import Load

NOTHING_FURTHER = Further(Decimal(0), Decimal(0), (), ())
A_CENT = Decimal("0.01")
"""Below it a GPU price at which the verdict turns is none that anybody is asked for."""
CONSTRAINTS = {"beyond_budget": "budget", "beyond_quota": "quota"}


def no_fleet_verdict(candidates: Sequence[Candidate], api: Hosted | None) -> dict[str, Any]:
    """Nothing meets the targets: say why the nearest candidate does not."""
    nearest = nearest_candidate(candidates)
    sentence = _nothing(candidates)
    if api is not None:
        sentence += f" {_api_name(api)} would cost {money(api.bill.exact_usd_per_month)} a month."
    detail = ""
    if nearest is not None and nearest.reason is not None:
        name = nearest.name
        change = nearest.reason.nearest_change
        detail = f"Nearest is {name}: {nearest.reason.detail}" + (f" What would help: {change}" if change else "")
    return {
        "sentence": sentence,
        "detail": detail,
        "choice": "none",
        "against": None if api is None else _against(api),
        "saving_usd_per_month": None,
        "flip_gpu_usd_per_hour": None,
        "hybrid": None,
    }


def _nothing(candidates: Sequence[Candidate]) -> str:
    """Fleets that only quota or budget rule out do meet the targets, and it is not they that are to be changed."""
    kept_out = sorted({c.reason.code for c in candidates if c.reason and c.reason.code in CONSTRAINTS})
    if not kept_out:
        return "No candidate meets the targets."
    return (
        f"No candidate that meets the targets keeps to the {' and the '.join(CONSTRAINTS[code] for code in kept_out)}."
    )


def verdict(
    load: Load, best: Candidate, serving: int, bill: FleetBill, api: Hosted | None,
    *, estimated: bool = False, further: Further | None = None, split: Split | None = None,
    split_ratio: float | None = None,
) -> dict[str, Any]:  # fmt: skip
    """The best fleet of `serving` replicas against the cheapest API that is offered, and against their split.

    saving_usd_per_month and flip_gpu_usd_per_hour are of fleet and API, each alone, whatever is chosen. estimated: by
    the closed form, so that nothing is said of targets. split_ratio: probability that the split is the cheapest.
    """
    fleet_detail = _fleet_detail(load, best, serving, bill, estimated)
    more = further or NOTHING_FURTHER
    fleet_usd = bill.cost.exact_usd_per_month + more.self_host_usd
    low_usd, high_usd = bill.low_usd + more.self_host_usd, bill.high_usd + more.self_host_usd
    gpus = gpus_name(bill.cost.gpus, best.gpu.accelerator.id)
    assert best.deployment is not None
    hosting = f"{model_name(best.deployment.model.id)} on {gpus}"
    if api is None:
        spread = _spread(low_usd, high_usd, fleet_usd)
        return {
            "sentence": f"Self-hosting {hosting} costs {money(fleet_usd)} a month{spread}"
            + ("." if estimated else " and meets every target."),
            "detail": " ".join((fleet_detail, more.sentence)),
            "choice": "self_host_only",
            "against": None,
            "saving_usd_per_month": None,
            "flip_gpu_usd_per_hour": None,
            "hybrid": None,
        }
    api_usd = api.bill.exact_usd_per_month + more.api_usd
    saving, low, high = api_usd - fleet_usd, api_usd - high_usd, api_usd - low_usd
    choice = "self_host" if saving > 0 else "api"
    flip = bill.flip_gpu_usd_per_hour(best.gpu, api_usd - more.self_host_usd)
    sentence = _sentence(choice, hosting, api, saving, low, high)
    detail = [fleet_detail, _api_detail(best, flip, choice, api), more.sentence]
    hybrid = None
    if split is not None and split.is_verdict:
        choice, hybrid = "hybrid", _hybrid(split, split_ratio)
        model = model_name(best.deployment.model.id)
        detail = [sentence, _split_prices(split, best), *detail]
        sentence = _split_sentence(split, model, gpus_name(split.gpus, best.gpu.accelerator.id), split_ratio)
    elif split is not None and split.wins and choice == "self_host":
        detail.insert(1, f"With {provider_name(api.price.provider)} in place of the spare it would cost "
                         f"{money(to_decimal(split.saving_usd))} a month less.")  # fmt: skip
    return {
        "sentence": sentence,
        "detail": " ".join(detail),
        "choice": choice,
        "against": _against(api),
        "saving_usd_per_month": {"low": usd(low), "mid": usd(api_usd) - usd(fleet_usd), "high": usd(high)},
        "flip_gpu_usd_per_hour": None if flip is None else flip.quantize(Decimal("0.0001")),
        "hybrid": hybrid,
    }


def _hybrid(split: Split, probability: float | None) -> dict[str, Any]:
    """saving_usd_per_month: against the cheaper of both alone, which saves_against names."""
    upper = split.cheapest_to
    return {
        "replicas": split.best.replicas,
        "gpus": split.gpus,
        "self_hosted_ratio": split.best.self_hosted_ratio,
        "usd_per_month": usd(split.usd),
        "saving_usd_per_month": {"low": usd(split.low_usd), "mid": usd(split.saving_usd), "high": usd(split.high_usd)},
        "saves_against": "api" if split.api_usd <= split.fleet_usd else "self_host",
        "probability_ratio": probability,
        "cheapest_gpu_usd_per_hour": {
            "low": split.cheapest_from.quantize(Decimal("0.0001")),
            "high": None if upper is None else upper.quantize(Decimal("0.0001")),
        },
    }


def _split_sentence(split: Split, model: str, gpus: str, probability: float | None) -> str:
    low, mid, high = (to_cents(to_decimal(value)) for value in (split.low_usd, split.saving_usd, split.high_usd))
    rest = f"{_api_name(split.against)} for the rest"
    alone = "the API alone" if split.api_usd <= split.fleet_usd else "self-hosting alone"
    if low >= 0:
        span = "" if low == high else f" (range: {money_range(low, high)})"
    else:
        span = f" (range: from {money(high)} cheaper to {money(low)} dearer)"
    sure = "" if probability is None else f", and the cheapest of the three with a probability of {likely(probability)}"
    return (
        f"A split is cheapest: {model} on {gpus} for {_share(split.best.self_hosted_ratio)} of the requests and {rest} "
        f"is {money(mid)} a month cheaper than {alone}{span}{sure}."
    )


def _share(ratio: float) -> str:
    """Never 100 % of what is split."""
    return f"{ratio:.0%}" if ratio < 0.995 else f"{min(ratio, 0.9999):.2%}"


def _split_prices(split: Split, best: Candidate) -> str:
    low, high = split.cheapest_from, split.cheapest_to
    counts = f"{_counted_price(best)} is counted"
    if high is None:
        return f"The split costs {money(to_decimal(split.usd))} a month."
    where = f"below {price(high)}" if low <= 0 else f"between {price(low)} and {price(high)}"
    return (
        f"The split costs {money(to_decimal(split.usd))} a month and is the cheapest at {where} per GPU-hour; {counts}."
    )


def money(amount: Decimal) -> str:
    """$0.04, $812, $9.5k, $1.23M: as a sentence needs it."""
    value = abs(amount)
    if 0 < value < Decimal("0.995"):
        return "less than a cent" if value < Decimal("0.005") else f"${rounded(value, 2)}"
    if value >= 999_500:
        return f"${rounded(value / 1_000_000, 2):,}M"
    if value >= 9_995:
        return f"${rounded(value / 1_000, 1):,}k"
    return f"${rounded(value, 0):,}"


def with_detail(said: dict[str, Any], *sentences: str) -> dict[str, Any]:
    """The verdict with further sentences; empty ones leave nothing."""
    return said | {"detail": " ".join(part for part in (said["detail"], *sentences) if part)}


def withdrawn_sentence(hosted: Sequence[Hosted]) -> str:
    """Which of the APIs asked for are no longer offered, so that the verdict leaves them out; "" when all are."""
    gone = [hosted_name(api.price.provider, api.price.model) for api in hosted if not api.price.available]
    if not gone:
        return ""
    verb = "is" if len(gone) == 1 else "are"
    return f"Left out of the comparison: {' and '.join(gone)}, which {verb} no longer offered."


def price(usd_per_hour: Decimal) -> str:
    """$2.28; small prices to two significant digits, as $0.00 would be another answer."""
    value = float(usd_per_hour)
    return f"${rounded(usd_per_hour, 2)}" if value >= 0.1 or value == 0 else f"${Decimal(f'{value:.1e}'):f}"


def _counted_price(best: Candidate) -> str:
    """$3.945: the price that was counted with all its digits, at most four, as its source has it."""
    return exact_usd(rounded(best.gpu.price.usd_per_gpu_hour, 4))


def money_range(low: Decimal, high: Decimal) -> str:
    """$6.5k to $37.7k: both ends in the unit of the larger, unless one is far smaller."""
    ends = sorted((abs(low), abs(high)))
    if ends[1] < 9_995 or ends[0] * 100 < ends[1]:
        return f"{money(low)} to {money(high)}"
    if ends[1] >= 999_500:
        return f"${rounded(abs(low) / 1_000_000, 2):,}M to ${rounded(abs(high) / 1_000_000, 2):,}M"
    return f"${rounded(abs(low) / 1_000, 1):,}k to ${rounded(abs(high) / 1_000, 1):,}k"


def _sentence(choice: str, hosting: str, api: Hosted, saving: Decimal, low: Decimal, high: Decimal) -> str:
    firm = (low > 0) == (high > 0)
    if choice == "self_host":
        first = f"Self-hosting {hosting} is {money(saving)} a month cheaper than {_api_name(api)}"
        span = money_range(low, high) if firm else f"from {money(high)} cheaper to {money(low)} dearer"
    else:
        first = f"{_api_name(api)} is {money(saving)} a month cheaper than self-hosting {hosting}"
        span = money_range(high, low) if firm else f"from {money(low)} cheaper to {money(high)} dearer"
    return f"{first}." if low == saving == high else f"{first} (range: {span})."


def _fleet_detail(load: Load, best: Candidate, serving: int, bill: FleetBill, estimated: bool) -> str:
    spare = bill.running.terms.spare_replicas
    carry = "carries" if serving == 1 else "carry"
    how = "by the closed form; percentiles under load need a run" if estimated else "within every target"
    return (
        f"{counted(serving, 'serving replica')} of {counted(best.gpus_per_replica, 'GPU')} "
        f"({gpu_name(best.gpu.accelerator.id)}){_pools(best)} {carry} the peak hour of {amount(load.peak_rps)} "
        f"requests/s {how}; "
        f"{_waiting(bill)}{_with(spare, best.pools)} the fleet costs {money(bill.cost.exact_usd_per_month)} a month."
    )


def _pools(best: Candidate) -> str:
    split = best.split
    return "" if split is None else f", {split[0]:,} for prompts and {split[1]:,} for outputs,"


def _waiting(bill: FleetBill) -> str:
    part = bill.month.batch
    return f"with {part.bought:,} more for requests that may wait, and " if part and part.bought else ""


def _with(spare: int, pools: int) -> str:
    if not spare:
        return "without a spare,"
    each = "" if pools == 1 else f", {spare // pools:,} in each pool,"
    return f"with {counted(spare, 'spare replica')}{each}"


def _api_detail(best: Candidate, flip: Decimal | None, choice: str, api: Hosted) -> str:
    detail = (
        f"The same tokens cost {money(api.bill.exact_usd_per_month)} a month at {provider_name(api.price.provider)}."
    )
    if flip is None:
        return detail
    if flip <= 0:
        return f"{detail} No GPU price would make self-hosting cheaper: its further lines alone cost more."
    change = "Self-hosting would be cheaper below" if choice == "api" else "Self-hosting stays cheaper up to"
    at = price(flip) if flip >= A_CENT else "a cent"
    return f"{detail} {change} {at} per GPU-hour; {_counted_price(best)} is counted."


def _spread(low: Decimal, high: Decimal, mid: Decimal) -> str:
    return "" if low == high == mid else f" (range: {money_range(low, high)})"


def nearest_candidate(candidates: Sequence[Candidate]) -> Candidate | None:
    """The one that comes nearest to the targets: simulated under load, then alone, then fitting into memory; of those
    the one that misses its target by least, then the widest."""

    def nearness(candidate: Candidate) -> tuple[bool, bool, bool, float, int]:
        fits = candidate.memory is not None and candidate.memory.fits
        miss_ratio = candidate.reason.miss_ratio if candidate.reason else 1.0
        return (
            candidate.capacity is not None,
            candidate.replica is not None,
            fits,
            -miss_ratio,
            candidate.gpus_per_replica,
        )

    return max(candidates, key=nearness, default=None)


def _api_name(api: Hosted) -> str:
    return f"{possessive(provider_name(api.price.provider))} {api_model_name(api.price.model)}"


def _against(api: Hosted) -> dict[str, str]:
    return {"provider": api.price.provider, "model": api.price.model}
