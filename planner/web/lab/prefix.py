"""The prefix cache, block by block."""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning import lab
from planner.planning.calculators import CalculatorInvalid
from planner.planning.lab import PrefixLookup
from planner.reports.numbers import number
from planner.reports.parts import Figure
from planner.web.lab.parts import FAULT, Field, Question, faults_of, question, with_faults
from planner.web.lab.query import LabQuery

PER_LINE, CELL_PX, GAP_PX = 34, 7.0, 2.6
BLOCKS = (("16", "16"), ("32", "32"), ("64", "64"))
EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("Same beginning", {"x_shared": "2000", "x_own": "200", "x_changed": ""}),
    ("A date at the start", {"x_shared": "2000", "x_own": "200", "x_changed": "3"}),
    ("A date at the end", {"x_shared": "2000", "x_own": "200", "x_changed": "1990"}),
)


@dataclass(frozen=True, slots=True)
class PrefixBlock:
    """A block of the second prompt and whether it was found."""

    x: float
    y: float
    kind: str


@dataclass(frozen=True, slots=True)
class PrefixPart:
    """The part as it is printed; without a lookup where a field is wrong."""

    fields: tuple[Field, ...]
    fault: str
    question: Question | None = None
    title: str = ""
    words: str = ""
    blocks: tuple[PrefixBlock, ...] = ()
    width: float = 0
    height: float = 0
    figures: tuple[Figure, ...] = ()


def part(query: LabQuery, wrong: dict[str, str]) -> PrefixPart:
    """Look the second prompt up."""
    faults = faults_of("x_", wrong)
    found: PrefixLookup | None = None
    if not faults:
        try:
            found = lab.prefix_lookup(
                shared_tokens=query.x_shared,
                own_tokens=query.x_own,
                changed_token=query.x_changed,
                block_tokens=int(query.x_block),
                requests=query.x_count,
            )
        except CalculatorInvalid as error:
            faults["x_shared"] = error.detail
    fields = with_faults(_fields(query), faults)
    if found is None:
        return PrefixPart(fields, FAULT)
    whole = query.x_shared + query.x_own
    asked = question(
        "x",
        f"The prompt has {number(whole)} tokens in {number(found.blocks)} blocks. How many blocks does the second"
        " request find in the cache?",
        "blocks",
        right=found.found_blocks,
        answer=f"{number(found.found_blocks)} blocks; {number(found.computed_tokens)} of {number(whole)} tokens are"
        f" computed. {_reason(query, found)}",
        guess=query.x_guess,
        shown=query.x_show,
    )
    return PrefixPart(
        fields=fields,
        fault="",
        question=asked,
        title=f"Found: {number(found.found_blocks)} of {number(found.blocks)} blocks,"
        f" {number(found.computed_tokens)} tokens to compute instead of {number(whole)}",
        words=f"{number(found.blocks)} blocks: the first {number(found.found_blocks)} found, the others computed",
        blocks=tuple(_block(n, found) for n in range(found.blocks)),
        width=PER_LINE * (CELL_PX + GAP_PX) + 1,
        height=((found.blocks + PER_LINE - 1) // PER_LINE) * (CELL_PX + GAP_PX) + 1,
        figures=_figures(query, found),
    )


def _fields(query: LabQuery) -> tuple[Field, ...]:
    return (
        Field("x_shared", "Shared beginning", query.x_shared, "tokens", low=0, high=4000),
        Field("x_own", "Of its own", query.x_own, "tokens", low=1, high=2000),
        Field("x_changed", "Token that differs", "" if query.x_changed is None else query.x_changed,
              low=1, high=4000, hint="its number inside the shared part; empty: none"),
        Field("x_block", "Block", query.x_block, "tokens", "select", BLOCKS),
        Field("x_count", "Requests", query.x_count, low=1, high=10_000),
    )  # fmt: skip


def _block(n: int, found: PrefixLookup) -> PrefixBlock:
    x, y = n % PER_LINE * (CELL_PX + GAP_PX) + 0.75, n // PER_LINE * (CELL_PX + GAP_PX) + 0.75
    return PrefixBlock(round(x, 2), round(y, 2), "hit" if n < found.found_blocks else "miss")


def _reason(query: LabQuery, found: PrefixLookup) -> str:
    if query.x_changed is not None and query.x_changed <= query.x_shared:
        return "A block's name covers all before it, so nothing behind the changed token is found."
    if not found.found_blocks:
        return "Only whole blocks are found again."
    return "Whole blocks only, from the start to the first miss."


def _figures(query: LabQuery, found: PrefixLookup) -> tuple[Figure, ...]:
    whole = query.x_shared + query.x_own
    return (
        Figure("Prefill saved by a hit", number(found.saving_ratio * 100, 1), "%", "of the second prompt's tokens"),
        Figure(
            f"{number(query.x_count)} requests, input",
            number(found.prompt_tokens),
            "tokens",
            f"{number(query.x_count)} × {number(whole)}",
        ),
        Figure("of which cached", number(found.cached_tokens), "tokens", "the first one fills the cache"),
        Figure("Hit rate", number(found.hit_ratio * 100, 1), "%", "of input tokens"),
    )
