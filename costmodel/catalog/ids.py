"""Forgiving ids: what a user's spelling means in the catalog, or what it could mean."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from difflib import get_close_matches

from costmodel.deployment.problems import UnknownIdError

MAX_SUGGESTIONS = 6
QUANTISED_SUFFIX = re.compile(
    r"[-_. ]+(fp8[-_. ]?(dynamic|static|block|kv|tensor)?|nvfp4|mxfp4|fp4|awq([-_. ]?int4)?|gptq([-_. ]?int4)?"
    r"|int4|int8|w8a8|w8a16|w4a16|quantized([-_. ](w8a8|w4a16|w8a16))?|bnb[-_. ]4bit|bf16|fp16|turbo)$",
    re.IGNORECASE,
)


def folded(text: str) -> str:
    """Case, blanks and punctuation folded away: 'Llama 3.3-70B' -> 'llama3370b'."""
    return re.sub(r"[^a-z0-9]", "", text.lower())


def without_owner(text: str) -> str:
    return text.rsplit("/", 1)[-1]


def without_format(text: str) -> str:
    """A repository name without the suffixes that tell its number format ('...-FP8-dynamic')."""
    previous = ""
    while text != previous:
        previous, text = text, QUANTISED_SUFFIX.sub("", text)
    return text


def resolve(
    given: str,
    *,
    kind: str,
    ids: Collection[str],
    aliases: Mapping[str, str],
    ambiguous: Mapping[str, Collection[str]] | None = None,
) -> str:
    """The one id that `given` means: exactly, by alias, by folded spelling with or without its owner.

    A beginning that ends at a separator ('h100 sxm5', 'Llama-3.3') counts where only one id begins so. Raises
    UnknownIdError: `ambiguous_id` with the candidates where a name covers several, `unknown_id` with the nearest
    spellings where it fits none.
    """
    if given in ids:
        return given
    wanted = folded(given)
    short = folded(without_owner(given))
    for name, candidates in (ambiguous or {}).items():
        if folded(name) in (wanted, short):
            raise UnknownIdError(code="ambiguous_id", kind=kind, given=given, suggestions=list(candidates))
    found = _matches(wanted, short, ids, aliases)
    if len(found) == 1:
        return found[0]
    if found:
        raise UnknownIdError(code="ambiguous_id", kind=kind, given=given, suggestions=found[:MAX_SUGGESTIONS])
    raise UnknownIdError(code="unknown_id", kind=kind, given=given, suggestions=_suggestions(short, ids, aliases))


def _matches(wanted: str, short: str, ids: Collection[str], aliases: Mapping[str, str]) -> list[str]:
    """Ids of the first rule that matches any: whole name, alias, name without owner, beginning of a name."""
    if not short:
        return []
    whole = [known for known in ids if folded(known) == wanted]
    named = [target for alias, target in aliases.items() if folded(alias) in (wanted, short)]
    bare = [known for known in ids if folded(without_owner(known)) == short]
    begun = [known for known in ids if short in _beginnings(without_owner(known))]
    return next((list(dict.fromkeys(found)) for found in (whole, named, bare, begun) if found), [])


def _beginnings(name: str) -> set[str]:
    """Folded beginnings of a name that end before a separator, at least three characters long."""
    ends = (match.start() for match in re.finditer(r"[-_. ]", name))
    return {start for start in (folded(name[:end]) for end in ends) if len(start) >= 3}


def _suggestions(short: str, ids: Collection[str], aliases: Mapping[str, str]) -> list[str]:
    """Ids whose name holds what was given, then the nearest spellings."""
    if not short:
        return []
    names = {folded(without_owner(known)): known for known in reversed(list(ids))}
    names |= {folded(alias): target for alias, target in aliases.items() if folded(alias) not in names}
    holding = sorted((name for name in names if short in name), key=len) if len(short) >= 2 else []
    near = get_close_matches(short, names, n=MAX_SUGGESTIONS, cutoff=0.6)
    return list(dict.fromkeys(names[name] for name in [*holding, *near]))[:MAX_SUGGESTIONS]
