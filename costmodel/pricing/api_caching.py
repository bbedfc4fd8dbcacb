"""What providers keep of prompts: from what length on, for how long, and how often a request then finds it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources

import numpy as np


@dataclass(frozen=True, slots=True)
class CachingRule:
    """A provider's cache. Beginnings shorter than min_tokens are not kept, longer ones in whole step_tokens beyond it.
    lifetime_s: kept so long after the last use; long_lifetime_s: where a longer one can be asked for, at the price of
    an hour's write. basis: what the source leaves open."""

    provider: str
    model: str
    min_tokens: int
    lifetime_s: float
    source: str
    as_of: str
    step_tokens: int = 1
    long_lifetime_s: float | None = None
    basis: str = ""

    def kept_tokens(self, shared_tokens: int) -> int:
        """Tokens of a shared beginning that are kept."""
        if shared_tokens < self.min_tokens:
            return 0
        return self.min_tokens + (shared_tokens - self.min_tokens) // self.step_tokens * self.step_tokens


@lru_cache(maxsize=1)
def caching_rules() -> tuple[CachingRule, ...]:
    """Every rule of `data/api_caching.toml`, in its order."""
    table = resources.files("costmodel") / "data" / "api_caching.toml"
    return tuple(CachingRule(**row) for row in tomllib.loads(table.read_text(encoding="utf-8"))["rule"])


def caching_rule(provider: str, model: str) -> CachingRule | None:
    """The first rule that fits; None where nothing is known."""
    fitting = (rule for rule in caching_rules() if rule.provider == provider and re.fullmatch(rule.model, model))
    return next(fitting, None)


def found_ratio(rates_rps: Sequence[float], *, groups: int, lifetime_s: float) -> float:
    """Share of requests that come within `lifetime_s` of the last one with the same beginning.

    Requests of an hour at rate λ, dealt evenly over `groups`, come as a Poisson stream of rate λ/groups each; a gap
    exceeds the lifetime T with probability e^(−λT/groups). Over hours weighted by their requests:
    1 − Σ λ e^(−λT/G) / Σ λ. Every use renews the lifetime. Raises ValueError without load.
    """
    rates = np.asarray(rates_rps, dtype=np.float64)
    total = float(rates.sum())
    if total <= 0:
        raise ValueError("there must be load")
    return 1.0 - float((rates * np.exp(-rates * lifetime_s / groups)).sum()) / total
