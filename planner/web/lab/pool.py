"""The paged KV cache: a pool of blocks, block tables, waste."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from planner.planning import lab
from planner.planning.calculators import CalculatorInvalid
from planner.planning.lab import KvComparison, LessonRequest, PoolRun
from planner.reports.numbers import number, percent
from planner.reports.parts import Cell, Column, Row, Table
from planner.web.lab.parts import FAULT, Clock, Field, Series, faults_of, step_of, with_faults
from planner.web.lab.query import LabQuery
from planner.web.lab.timeline import SHADES, name_of

PER_LINE, CELL_PX, GAP_PX = 10, 26, 3
EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("Growing into the pool", {"k_requests": "40+50, 60+80, 20+30, 30+90@5", "k_blocks": "20", "k_way": "paged"}),
    ("Room for all", {"k_requests": "73+20, 112+30, 36+40", "k_blocks": "40", "k_way": "paged"}),
    ("The longest reserved", {"k_requests": "40+50, 60+80, 20+30, 30+90@5", "k_blocks": "20", "k_way": "contiguous"}),
)


@dataclass(frozen=True, slots=True)
class Block:
    """A block of the pool in the picture: its place, who holds it, and how much of its width is kept but unused."""

    number: int
    x: int
    y: int
    kind: str
    label: str
    unused_px: float

    @property
    def unused_x(self) -> float:
        """Where the unused end begins."""
        return self.x + CELL_PX - self.unused_px

    @property
    def label_kind(self) -> str:
        """Which part the label stands on: the wider one."""
        return self.kind if self.unused_px <= CELL_PX / 2 else "waste"

    @property
    def label_x(self) -> float:
        """The middle of that part."""
        used = CELL_PX - self.unused_px
        return self.x + (used / 2 if self.unused_px <= CELL_PX / 2 else used + self.unused_px / 2)


@dataclass(frozen=True, slots=True)
class Line:
    """A sequence's line of the block table at the present step."""

    name: str
    wants: str
    state: str
    tokens: int
    blocks: str
    unused: int


@dataclass(frozen=True, slots=True)
class PoolPart:
    """The part as it is printed; without a run where a field is wrong."""

    fields: tuple[Field, ...]
    fault: str
    clock: Clock | None = None
    blocks: tuple[Block, ...] = ()
    width: int = 0
    height: int = 0
    lines: tuple[Line, ...] = ()
    title: str = ""
    outcome: str = ""
    history: Table | None = None
    comparison: Table | None = None

    @property
    def said(self) -> str:
        """The words of the picture at the present step."""
        return self.clock.said("pool") if self.clock else ""


def part(query: LabQuery, wrong: dict[str, str]) -> PoolPart:
    """Walk the sequences through the pool."""
    faults = faults_of("k_", wrong)
    run: PoolRun | None = None
    requests: tuple[LessonRequest, ...] = ()
    if not faults:
        try:
            requests = lab.listed_requests(query.k_requests)
            run = lab.pool(requests, blocks=query.k_blocks, block_tokens=int(query.k_block), allocation=query.k_way)
        except CalculatorInvalid as error:
            faults["k_blocks" if error.field == "blocks" else "k_requests"] = error.detail
    fields = with_faults(_fields(query), faults)
    if run is None:
        return PoolPart(fields, FAULT, comparison=_comparison())
    fullest = max(range(len(run.frames)), key=lambda step: run.frames[step].used_blocks)
    now = step_of(query.k_step, len(run.frames), fullest + 1)
    lines = (query.k_blocks + PER_LINE - 1) // PER_LINE
    return PoolPart(
        fields=fields,
        fault="",
        clock=Clock("k_step", now, len(run.frames), {"pool": _series(run)}, _frames(run, requests)),
        blocks=_blocks(run, now),
        width=PER_LINE * (CELL_PX + GAP_PX),
        height=lines * (CELL_PX + GAP_PX),
        lines=_lines(run, requests, now),
        outcome=_outcome(run, requests),
        history=_history(run, requests),
        comparison=_comparison(),
    )


def _fields(query: LabQuery) -> tuple[Field, ...]:
    return (
        Field("k_requests", "Sequences", query.k_requests, "prompt+tokens", "text", hint="30+90@5: arrives at step 5"),
        Field("k_blocks", "Pool", query.k_blocks, "blocks", low=1, high=120),
        Field("k_block", "Block", query.k_block, "tokens", "select", (("8", "8"), ("16", "16"), ("32", "32"))),
        Field("k_way", "Memory is given", query.k_way, kind="select",
              options=(("paged", "block by block"), ("contiguous", "the longest reserved"))),
    )  # fmt: skip


def _frame_at(run: PoolRun, step: int) -> tuple[Any, ...]:
    """(tables, waiting, preempted) after so many steps; nothing before the first."""
    if step == 0:
        return (), (), ()
    frame = run.frames[step - 1]
    return frame.tables, frame.waiting, frame.preempted


def _blocks(run: PoolRun, step: int) -> tuple[Block, ...]:
    owner: dict[int, tuple[int, float]] = {}
    for table in _frame_at(run, step)[0]:
        for place, block in enumerate(table.blocks):
            filled = min(max(table.tokens - place * run.block_tokens, 0), run.block_tokens)
            owner[block] = (table.sequence, (run.block_tokens - filled) / run.block_tokens * CELL_PX)
    found = []
    for n in range(run.blocks):
        sequence, unused = owner.get(n, (-1, 0.0))
        held = sequence >= 0
        found.append(
            Block(
                n,
                n % PER_LINE * (CELL_PX + GAP_PX) + 1,
                n // PER_LINE * (CELL_PX + GAP_PX) + 1,
                f"r{sequence % SHADES}" if held else "free",
                name_of(sequence) if held else "",
                unused,
            )
        )
    return tuple(found)


def _lines(run: PoolRun, requests: tuple[LessonRequest, ...], step: int) -> tuple[Line, ...]:
    tables, waiting, preempted = _frame_at(run, step)
    held = {table.sequence: table for table in tables}
    found = []
    for n, request in enumerate(requests):
        table = held.get(n)
        tokens, blocks = (table.tokens, table.blocks) if table else (0, ())
        state = _state(n, run, request, step, bool(table), waiting, preempted)
        unused = len(blocks) * run.block_tokens - tokens
        wants = f"{number(request.prompt_tokens)} + {number(request.output_tokens)}"
        found.append(Line(name_of(n), wants, state, tokens, " ".join(map(str, blocks)), unused))
    return tuple(found)


def _state(n: int, run: PoolRun, request: LessonRequest, step: int, running: bool, waiting: Any, preempted: Any) -> str:
    if running:
        return "ends" if step == run.finish_steps[n] else "runs"
    if n in preempted:
        return "preempted"
    if n in waiting:
        return "waits"
    return "ended" if step >= run.finish_steps[n] else "not here yet" if step <= request.arrival_step else "waits"


def _frames(run: PoolRun, requests: tuple[LessonRequest, ...]) -> list[Any]:
    """For each step: by sequence its tokens, blocks and state, for the script that plays them."""
    frames = []
    for step in range(len(run.frames) + 1):
        held = {table.sequence: table for table in _frame_at(run, step)[0]}
        frames.append(
            [
                [held[n].tokens if n in held else 0, list(held[n].blocks) if n in held else [], line.state]
                for n, line in enumerate(_lines(run, requests, step))
            ]
        )
    return frames


def _series(run: PoolRun) -> tuple[Series, ...]:
    used = [0, *(frame.used_blocks for frame in run.frames)]
    unused = [0, *(frame.used_blocks * run.block_tokens - frame.tokens for frame in run.frames)]
    return (
        Series("used", f"of {run.blocks} blocks in use", used),
        Series("unused", "token places kept but not used", unused),
        Series("waiting", "waiting", [0, *(len(frame.waiting) for frame in run.frames)]),
    )


def _outcome(run: PoolRun, requests: tuple[LessonRequest, ...]) -> str:
    held = sum(frame.used_blocks for frame in run.frames) * run.block_tokens
    used = sum(frame.tokens for frame in run.frames)
    lost = sum(run.preemptions)
    said = (
        f"All {len(requests)} end after {number(len(run.frames))} steps; of the memory held, {percent(used / held, 1)}"
    )
    said += " had a token in it, over all steps. "
    if lost:
        names = ", ".join(f"{name_of(n)} {count} ×" for n, count in enumerate(run.preemptions) if count)
        return said + f"The pool ran dry: preempted were {names}, and their tokens were computed again."
    return said + "Nothing was preempted."


def _history(run: PoolRun, requests: tuple[LessonRequest, ...]) -> Table:
    columns = (
        Column("After step"),
        Column("In use", "blocks", numeric=True),
        Column("Unused", "token places", numeric=True),
        *(Column(name_of(n), "blocks") for n in range(len(requests))),
        Column("Waiting"),
    )
    rows = []
    for step, frame in enumerate(run.frames, start=1):
        held = {table.sequence: table for table in frame.tables}
        changed = step == 1 or _shape(run.frames[step - 2]) != _shape(frame)
        if not changed:
            continue
        tables = (" ".join(map(str, held[n].blocks)) if n in held else "" for n in range(len(requests)))
        rows.append(
            Row(
                (
                    Cell(number(step)),
                    Cell(number(frame.used_blocks)),
                    Cell(number(frame.used_blocks * run.block_tokens - frame.tokens)),
                    *(Cell(text) for text in tables),
                    Cell(", ".join(name_of(n) for n in frame.waiting)),
                )
            )
        )
    return Table("The pool where its blocks change hands", columns, tuple(rows), small=True, sheets=False)


def _shape(frame: Any) -> Any:
    return [(table.sequence, table.blocks) for table in frame.tables], frame.waiting


def _comparison() -> Table:
    contiguous, paged = lab.reservations(
        kv_budget_bytes=40 * 10**9,
        bytes_per_token=131_072,
        mean_context_tokens=600,
        max_model_len=4096,
        block_tokens=16,
    )
    columns = (
        Column("Way"),
        Column("Held by a sequence", "tokens", numeric=True),
        Column("Held by a sequence", "MB", numeric=True),
        Column("Sequences at once", numeric=True),
        Column("Useful", "%", numeric=True),
    )
    rows = (
        Row(_comparison_cells("Contiguous, the longest reserved", contiguous)),
        Row(_comparison_cells(f"Paged, {paged.blocks_per_sequence} blocks", paged), "pick"),
    )
    return Table("Contiguous against paged", columns, rows)


def _comparison_cells(label: str, found: KvComparison) -> tuple[Cell, ...]:
    return (
        Cell(label),
        Cell(number(found.tokens_held)),
        Cell(number(found.bytes_per_sequence / 1e6, 1)),
        Cell(number(found.sequences)),
        Cell(number(found.useful_ratio * 100, 1)),
    )
