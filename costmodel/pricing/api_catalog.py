"""Which models can be bought where: both price sources joined, and forgiving names resolved to one entry."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from typing import TYPE_CHECKING

from costmodel.deployment.problems import UnknownIdError
from costmodel.pricing.api_second_source import TableRow, table_rows
from costmodel.pricing.price_book import PriceBook, prices_in_force

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, Provider

FIREWORKS_PREFIX = "accounts/fireworks/models/"
UNTABLED_PREFIXES = ("global.", "regional.")  # the table has one row per model, not one per routing of it
PROVIDER_ALIASES = {
    "amazon": "aws",
    "amazonbedrock": "aws",
    "awsbedrock": "aws",
    "azureopenai": "azure",
    "bedrock": "aws",
    "fireworksai": "fireworks",
    "gemini": "google",
    "grok": "x-ai",
    "lambdaai": "lambda",
    "lambdalabs": "lambda",
    "moonshot": "moonshotai",
    "togetherai": "together",
    "vertex": "google",
    "vertexai": "google",
}


@dataclass(frozen=True, slots=True)
class CatalogEntry:
    """One model of one provider: what each source has on it. At least one of the two is there.

    `listed_twice` says whether the table knows the model too, under this or a dated name; None where the table
    cannot tell. `lender` names the provider whose list is used when this one resells another's models.
    """

    provider: str
    model: str
    first: ModelInfo | None
    second: TableRow | None
    listed_twice: bool | None = None
    lender: str | None = None


def entries() -> Mapping[str, Mapping[str, CatalogEntry]]:
    """Provider id to model id to entry, both in alphabetical order. A table row that no model of the first source
    answers to becomes an entry of its own, unless its long-context rates are left out of the table."""
    return _entries(prices_in_force())


@lru_cache(maxsize=2)
def _entries(book: PriceBook) -> Mapping[str, Mapping[str, CatalogEntry]]:
    rows: dict[str, list[TableRow]] = {}
    for row in table_rows():
        rows.setdefault(row.provider, []).append(row)
    known = book.providers
    joined = {name: _join(name, known.get(name), rows.get(name, ())) for name in sorted({*known, *rows})}
    return {name: models for name, models in joined.items() if models}


def find_provider(name: str) -> str:
    """Provider id for a forgiving name (`Bedrock`, `together_ai`). Raises UnknownIdError with suggestions."""
    by_key = {_squash(provider): provider for provider in entries()}
    for provider_id, provider in prices_in_force().providers.items():
        if provider_id in entries():
            by_key.setdefault(_squash(provider.name), provider_id)
    for alias, provider_id in PROVIDER_ALIASES.items():
        by_key.setdefault(alias, provider_id)
    key = _squash(name)
    if key in by_key:
        return by_key[key]
    close = dict.fromkeys(by_key[match] for match in get_close_matches(key, by_key, n=5, cutoff=0.6))
    raise UnknownIdError(
        code="unknown_id", kind="API provider", given=name, suggestions=tuple(close) or tuple(entries())
    )


def find_entry(provider: str, model: str) -> CatalogEntry:
    """Entry for a forgiving model name at a provider: the id in any case or spelling, a name that the provider's own
    matching rules accept (regional and dated variants), the id without its owner, or a part of exactly one id.

    Raises UnknownIdError: `ambiguous_id` when several ids hold the name, else `unknown_id`.
    """
    provider_id = find_provider(provider)
    models = entries()[provider_id]
    by_key = {_squash(name): entry for name, entry in models.items()}
    if model in models or _squash(model) in by_key:
        return models.get(model) or by_key[_squash(model)]
    matched = _matched_by_rule(provider_id, model)
    if matched is not None:
        return matched
    named = [entry for name, entry in models.items() if _squash(name.rpartition("/")[2]) == _squash(model)]
    holding = named or [entry for name, entry in models.items() if _holds(name, model)]
    if len(holding) == 1:
        return holding[0]
    suggestions = tuple(entry.model for entry in holding[:8]) or _close_models(model, models)
    code = "ambiguous_id" if holding else "unknown_id"
    raise UnknownIdError(code=code, kind=f"model at {provider_id}", given=model, suggestions=suggestions)


def _join(provider_id: str, provider: Provider | None, rows: Sequence[TableRow]) -> Mapping[str, CatalogEntry]:
    models = {model.id: model for model in provider.models} if provider else {}
    by_key = {_squash(row.model): row for row in rows}
    paired = {name: by_key.pop(_squash(name), None) for name in models}
    joined: dict[str, CatalogEntry] = {}
    also_listed: set[str] = set()
    for row in by_key.values():
        variant_of = provider.find_model(row.model) if provider else None
        if variant_of is not None:
            also_listed.add(variant_of.id)
        elif not row.tiered:
            joined[row.model] = CatalogEntry(provider=provider_id, model=row.model, first=None, second=row)
    for name, model in models.items():
        comparable = bool(rows) and not name.startswith(UNTABLED_PREFIXES)
        twice = (paired[name] is not None or name in also_listed) if comparable else None
        joined[name] = CatalogEntry(
            provider=provider_id, model=name, first=model, second=paired[name], listed_twice=twice
        )
    return dict(sorted(joined.items()))


def _matched_by_rule(provider_id: str, model: str) -> CatalogEntry | None:
    provider = prices_in_force().providers.get(provider_id)
    if provider is None or not model.strip():
        return None
    own = provider.find_model(model)
    if own is not None:
        return entries()[provider_id][own.id]
    for lender in provider.fallback_model_providers or ():
        lent = prices_in_force().providers[lender].find_model(model)
        if lent is not None:
            return CatalogEntry(provider=provider_id, model=lent.id, first=lent, second=None, lender=lender)
    return None


def _squash(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold().removeprefix(FIREWORKS_PREFIX))


def _words(name: str) -> list[str]:
    return re.findall(r"\d+|[a-z]+", name.casefold())


def _holds(name: str, part: str) -> bool:
    """Whether the words of `part` stand together in `name`: `Llama-3.3-70B` in `meta.llama3-3-70b-instruct-v1:0`."""
    words, wanted = _words(name), _words(part)
    span = len(wanted)
    return span > 1 and any(words[start : start + span] == wanted for start in range(len(words) - span + 1))


def _close_models(model: str, names: Iterable[str]) -> tuple[str, ...]:
    """Most similar ids: by shared words first, as ids differ in prefixes and suffixes more than in letters."""
    wanted = set(_words(model))
    shared = sorted(names, key=lambda name: (-len(wanted & set(_words(name))), len(name), name))
    by_spelling = {name.casefold(): name for name in shared}
    spelled = [by_spelling[near] for near in get_close_matches(model.casefold(), by_spelling, n=3, cutoff=0.6)]
    related = [name for name in shared[:5] if wanted & set(_words(name)) - {"b", "v"}]
    return tuple(dict.fromkeys([*spelled, *related]))[:6]
