"""The decimal and group marks of the reader a page is made for: "1,234.5", "1.234,5", "1 234,5"."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import lru_cache

NO_BREAK, NARROW_NO_BREAK, APOSTROPHE = "\u00a0", "\u202f", "\u2019"


@dataclass(frozen=True, slots=True)
class Separators:
    """What stands between whole and fraction, and between thousands."""

    decimal: str
    group: str

    def mark(self, english: str) -> str:
        """A number written the English way, "1,234.5", with these marks."""
        return english if self is ENGLISH else english.translate({0x2E: self.decimal, 0x2C: self.group})


ENGLISH = Separators(".", ",")
_COMMA_POINT = Separators(",", ".")
_COMMA_SPACE = Separators(",", NO_BREAK)
_COMMA_THIN = Separators(",", NARROW_NO_BREAK)
_POINT_APOSTROPHE = Separators(".", APOSTROPHE)

# Unicode CLDR 46, numbers in Latin digits; languages that are not named write as English does.
_WRITTEN: Mapping[Separators, str] = {
    _COMMA_POINT: "az bs ca da de el es eu gl hr id is it mk nl pt ro sl sr tr vi"
    " en-at en-be en-de en-dk en-es en-it en-nl en-pl en-si",
    _COMMA_SPACE: "af be bg cs et fi hu hy ka kk ky lt lv nb nn no pl ru sk sq sv uk uz"
    " de-at en-fi en-se en-za es-cr fr-ca pt-pt",
    _COMMA_THIN: "fr en-fr",
    _POINT_APOSTROPHE: "gsw rm de-ch de-li en-ch it-ch",
    ENGLISH: "es-419 es-cu es-do es-gt es-hn es-mx es-ni es-pa es-pe es-pr es-sv es-us",
}
_BY_LANGUAGE = {tag: marks for marks, tags in _WRITTEN.items() for tag in tags.split()}
_RANGE = re.compile(r"([a-z]{2,8}(?:-[a-z0-9]{1,8})*)(?:\s*;\s*q\s*=\s*([01](?:\.\d{0,3})?))?", re.IGNORECASE)
_MOST_CHARACTERS = 500

_current: ContextVar[Separators] = ContextVar("separators", default=ENGLISH)


def current() -> Separators:
    """The marks of whom is being answered; English outside of pages: in files, the API and commands."""
    return _current.get()


@contextmanager
def reading_with(marks: Separators) -> Iterator[None]:
    """Numbers are written with these marks until the end of the block."""
    token = _current.set(marks)
    try:
        yield
    finally:
        _current.reset(token)


@lru_cache(maxsize=256)
def separators_of(accept_language: str) -> Separators:
    """The marks of the language that is wanted most: "de-CH, en;q=0.5" -> those of Swiss German. A malformed entry is
    passed over; English without any."""
    found = (_RANGE.fullmatch(part.strip()) for part in accept_language[:_MOST_CHARACTERS].split(","))
    wanted = [(float(match[2] or 1), match[1].lower()) for match in found if match]
    if not wanted:
        return ENGLISH
    quality, tag = max(wanted, key=lambda pair: pair[0])  # the first of equals
    return _of_language(tag) if quality > 0 else ENGLISH


def _of_language(tag: str) -> Separators:
    """By the longest part of the tag that is known: sr-latn-rs, sr-latn, sr."""
    parts = tag.split("-")
    names = ("-".join(parts[:length]) for length in range(len(parts), 0, -1))
    return next((_BY_LANGUAGE[name] for name in names if name in _BY_LANGUAGE), ENGLISH)
