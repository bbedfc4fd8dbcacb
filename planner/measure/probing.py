"""Before a load test: does the server answer, does it count, and how many tokens does a word make?"""

from __future__ import annotations

import asyncio
from dataclasses import replace

from planner.measure.asking import LENGTH_FIELDS, Asker, Tuning
from planner.planning.measuring.answers import Answer
from planner.planning.measuring.asked import Asked

SHORT_TOKENS = 32
PROBE_OUTPUT_TOKENS = 8
LEAST_TOKENS_PER_WORD, MOST_TOKENS_PER_WORD = 0.2, 10.0


class ProbeFailed(Exception):  # noqa: N818 - the name says what happened
    """The server does not answer as a load test needs it; the message says how."""


async def probe(asker: Asker, longest_tokens: int) -> tuple[Asker, list[str]]:
    """The asker with prompts' and answers' lengths as this server takes them, and what to know about it.

    longest_tokens: a usual prompt, which the server should take. Raises ProbeFailed.
    """
    asker, first, notes = await _first(asker)
    if first.output_tokens is None or first.prompt_tokens is None:
        return asker, [*notes, "lengths of prompts are nominal: a word is taken for a token"]
    if first.output_tokens != PROBE_OUTPUT_TOKENS:
        notes.append("the server ends answers when its model does: they may be shorter than asked for")
    return await _tuned(asker, first.prompt_tokens, max(2 * SHORT_TOKENS, longest_tokens)), notes


async def _first(asker: Asker) -> tuple[Asker, Answer, list[str]]:
    notes: list[str] = []
    for place, fields in enumerate(LENGTH_FIELDS):
        asker = asker.with_tuning(replace(asker.tuning, length_fields=fields))
        answer = await _ask(asker, SHORT_TOKENS, place)
        if answer.error not in ("http_400", "http_422"):
            break
        notes = ["the server does not take ignore_eos and min_tokens"]
    if answer.error:
        raise ProbeFailed(f"{answer.detail} [{answer.error}]")
    return asker, answer, notes


async def _tuned(asker: Asker, short_tokens: int, longest_tokens: int) -> Asker:
    """Two lengths give tokens a word, and what a prompt has besides."""
    answer = await _ask(asker, longest_tokens, len(LENGTH_FIELDS))
    if answer.error or answer.prompt_tokens is None:
        raise ProbeFailed(f"a prompt of {longest_tokens} words: {answer.detail or 'no usage'} [{answer.error}]")
    per_word = (answer.prompt_tokens - short_tokens) / (longest_tokens - SHORT_TOKENS)
    if not LEAST_TOKENS_PER_WORD <= per_word <= MOST_TOKENS_PER_WORD:
        raise ProbeFailed(f"its count of prompt tokens does not follow the prompts: {per_word:.3g} tokens a word")
    base = short_tokens - per_word * SHORT_TOKENS
    return asker.with_tuning(Tuning(base, per_word, asker.tuning.length_fields))


async def _ask(asker: Asker, words: int, number: int) -> Answer:
    asked = Asked(number, 0.0, words, PROBE_OUTPUT_TOKENS, -1, 0)
    answer = Answer(0.0, words, PROBE_OUTPUT_TOKENS)
    await asker.ask(asker.body(asked, 0), answer, asyncio.get_running_loop().time())
    return answer
