"""What a provider's cache does to a month's bill: tokens read from it and written to it, request by request."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from costmodel.pricing.api_caching import CachingRule, caching_rule, found_ratio
from costmodel.pricing.api_rates import ApiPrice
from planner.planning.schema import Scenario
from planner.planning.schema.api import ApiAlternative
from planner.planning.traffic.lengths import IntArray
from planner.planning.traffic.load import Load

NOT_WORTH_IT = "its cache is not used: writing to it would cost more than it saves"
ASSUMED = "assumes that every shared prefix is read from the provider's cache"


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Tokens of each request of the sample, in the API's count, that are read from the cache and written to it.
    for_an_hour: at the rate of an hour's write."""

    read_tokens: IntArray
    written_tokens: IntArray
    for_an_hour: bool
    note: str


def kept_ways(scenario: Scenario, load: Load, choice: ApiAlternative, price: ApiPrice) -> tuple[Kept, ...]:
    """The ways to use the cache that the alternative allows and the provider sells, at least one."""
    rates = price.standard.rates
    if choice.caching == "off" or not load.mix.shares_prefixes or rates.cached_read_usd_per_mtok is None:
        return (without_cache(load),)
    rule = caching_rule(price.provider, price.model)
    usual = _kept(scenario, load, rule, price, for_an_hour=False)
    long_sold = rates.cached_write_1h_usd_per_mtok is not None and rule is not None and rule.long_lifetime_s is not None
    longer = _kept(scenario, load, rule, price, for_an_hour=True) if long_sold else usual
    if choice.caching == "default":
        return (usual,)
    if choice.caching == "1h":
        return (longer,)
    if rates.cached_write_usd_per_mtok is None:
        return (usual,)
    return (usual, longer, without_cache(load, NOT_WORTH_IT))


def without_cache(load: Load, note: str = "") -> Kept:
    """Every token at the input price."""
    none = np.zeros(len(load.mix.prompt_tokens), dtype=np.int64)
    return Kept(none, none, False, note)


def _kept(scenario: Scenario, load: Load, rule: CachingRule | None, price: ApiPrice, *, for_an_hour: bool) -> Kept:
    """Of a shared prefix the share of requests that find it read it, evenly over the sample, the others write it where
    writing has a price. Of recorded content what an earlier request had is read, the rest of the prompt written."""
    mix, ratio = load.mix, scenario.costs.api_token_ratio
    reused = np.floor(mix.reused_tokens * ratio).astype(np.int64)
    kept = reused if rule is None else _of_whole_steps(reused, rule)
    if not kept.any():
        assert rule is not None
        longest = int(reused.max())
        note = f"shared prefixes of {longest:,} tokens are too short for its cache, which keeps {rule.min_tokens:,}"
        return without_cache(load, f"{note} and more")
    writes = price.standard.rates.cached_write_usd_per_mtok is not None
    if mix.recorded is not None:
        prompt = mix.prompt_tokens if ratio == 1.0 else (mix.prompt_tokens * ratio + 0.5).astype(np.int64)
        least = rule.min_tokens if rule else 0
        written = np.where(prompt >= least, prompt - kept, 0) if writes else np.zeros_like(kept)
        note = "assumes that content which comes again is still in the provider's cache"
        return Kept(kept, written, for_an_hour, f"{note}; the rest of each prompt is written to it" if writes else note)
    if rule is None:
        return Kept(kept, np.zeros_like(kept), False, ASSUMED)
    lifetime_s = rule.long_lifetime_s if for_an_hour and rule.long_lifetime_s else rule.lifetime_s
    finds, found = _finders(load, lifetime_s, len(kept))
    written = np.where(finds, 0, kept) if writes else np.zeros_like(kept)
    return Kept(np.where(finds, kept, 0), written, for_an_hour, _note(rule, found, lifetime_s, writes=writes))


def _finders(load: Load, lifetime_s: float, count: int) -> tuple[np.ndarray, float]:
    """Which requests of the sample find their prefix, and their share; of classes each by its own rate and prefixes."""
    mix, rates = load.mix, load.week_rps
    if mix.class_of is None:
        found = found_ratio(rates.tolist(), groups=mix.prefix_groups, lifetime_s=lifetime_s)
        return _evenly(count, found), found
    finds = np.zeros(count, dtype=bool)
    for place, own in enumerate(mix.classes):
        inside = mix.class_of == place
        rate = (rates * own.share_ratio).tolist()
        found = found_ratio(rate, groups=own.prefix_groups, lifetime_s=lifetime_s)
        finds[inside] = _evenly(int(inside.sum()), found)
    shares = mix.reused_tokens > 0
    return finds, float(finds[shares].mean())


def _of_whole_steps(reused: IntArray, rule: CachingRule) -> IntArray:
    sizes, place = np.unique(reused, return_inverse=True)
    return np.array([rule.kept_tokens(int(size)) for size in sizes], dtype=np.int64)[place]


def _evenly(count: int, share: float) -> np.ndarray:
    """Which of `count` places are among a share of them that is spread evenly over them."""
    passed = np.floor(np.arange(1, count + 1) * share + 1e-9)
    return np.asarray(np.diff(passed, prepend=0.0) > 0)


def _note(rule: CachingRule, found: float, lifetime_s: float, *, writes: bool) -> str:
    kept = f"{lifetime_s / 60:g} minutes" if lifetime_s < 3600 else f"{lifetime_s / 3600:g} h"
    others = ", the others write it" if writes else ""
    out = (
        f"{100 * found:.4g} % of the requests find their shared prefix in the provider's cache, kept {kept} after its "
        f"last use{others} ({rule.source}, {rule.as_of})"
    )
    return out + (f"; {rule.basis}" if rule.basis else "")
