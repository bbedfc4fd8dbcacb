"""Texts of so many tokens.

With a blank before it, each of these words is one token in the vocabularies of today's models, and four bytes, which
the simulated server counts as a token.
"""

from __future__ import annotations

import random

_WORDS = (
    "the and for are but not you all any can her was one our out day get has him his how man new now old see two way "
    "who boy did its let put say she too use dad mom sun run big red hot end far few got own set sit six ten top try "
    "war yes yet ago air arm art ask bad bag bed bit box bus buy car cat cup cut dog dry due eat egg eye fit fly fun "
    "gas god gun guy hat hit ice job key kid law lay leg lie lot low map met mix oil pay pen pet pop raw sad sea sky"
)
WORDS = tuple(_WORDS.split())


def words(count: int, rng: random.Random) -> str:
    """So many words, a blank before each."""
    return "".join(f" {word}" for word in rng.choices(WORDS, k=count))


def answer(tokens: int, start: int = 0) -> str:
    """The tokens of every simulated answer from its place `start` on: the words in turn."""
    return "".join(f" {WORDS[(start + place) % len(WORDS)]}" for place in range(tokens))
