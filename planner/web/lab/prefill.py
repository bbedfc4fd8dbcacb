"""Whole prompts against chunks."""

from __future__ import annotations

from dataclasses import dataclass

from planner.planning import lab
from planner.planning.calculators import CalculatorInvalid
from planner.planning.lab import LessonRun, Prefill
from planner.reports.numbers import DASH, number
from planner.reports.parts import Cell, Column, Row, Table
from planner.web.lab.parts import (
    FAULT,
    Clock,
    Field,
    Question,
    Series,
    faults_of,
    question,
    step_of,
    with_faults,
)
from planner.web.lab.query import LabQuery
from planner.web.lab.timeline import MAX_DRAWN_STEPS, Timeline, happened, name_of, timeline

EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("One long prompt", {"p_requests": "200+10, 200+10, 200+10, 7680+5@2, 100+6@3", "p_slots": "4", "p_chunk": "256"}),
    ("Short prompts", {"p_requests": "256+2, 256+8, 256+3, 256+3", "p_slots": "2", "p_chunk": "256"}),
    ("Prompts at once", {"p_requests": "1000+4, 300+4, 50+2@1, 513+3@1", "p_slots": "3", "p_chunk": "256"}),
)


@dataclass(frozen=True, slots=True)
class PrefillPart:
    """The part as it is printed; without a run where a field is wrong."""

    fields: tuple[Field, ...]
    fault: str
    question: Question | None = None
    clock: Clock | None = None
    unchunked: Timeline | None = None
    chunked: Timeline | None = None
    results: Table | None = None
    requests: Table | None = None

    @property
    def hidden(self) -> bool:
        """Whether the answer is still to be guessed."""
        return self.question is not None and not self.question.shown

    @property
    def unchunked_said(self) -> str:
        """The words of the whole prompts' timeline at the present step."""
        return self.clock.said("unchunked") if self.clock else ""

    @property
    def chunked_said(self) -> str:
        """The words of the chunks' timeline at the present step."""
        return self.clock.said("chunked") if self.clock and not self.hidden else ""


def part(query: LabQuery, wrong: dict[str, str]) -> PrefillPart:
    """Run the prompts both ways."""
    faults = faults_of("p_", wrong)
    run: Prefill | None = None
    if not faults:
        try:
            run = lab.prefill(lab.listed_requests(query.p_requests), query.p_slots, query.p_chunk)
        except CalculatorInvalid as error:
            faults["p_requests"] = error.detail
    fields = with_faults(
        (
            Field("p_requests", "Requests", query.p_requests, "prompt+tokens", "text", hint="7680+5@2: at step 2"),
            Field("p_slots", "Slots", query.p_slots, low=1, high=16),
            Field("p_chunk", "Chunk", query.p_chunk, "tokens/step", low=16, high=16384),
        ),
        faults,
    )
    if run is None:
        return PrefillPart(fields, FAULT)
    last = max(run.unchunked.makespan_steps, run.chunked.makespan_steps)
    now = step_of(query.p_step, last)
    asked = question(
        "p",
        f"With whole prompts the first token takes {number(run.unchunked.mean_ttft_steps, 1)} steps on average."
        f" How many with chunks of {number(query.p_chunk)} tokens?",
        "steps",
        right=round(run.chunked.mean_ttft_steps, 1),
        answer=f"{number(run.chunked.mean_ttft_steps, 1)} steps: a prompt takes only its own slot, and the others go"
        " on decoding.",
        guess=query.p_guess,
        shown=query.p_show,
        digits=1,
    )
    runs = (("Whole prompts", run.unchunked), ("Chunked", run.chunked))
    pictures = [
        timeline(found, last, now, f"{label}, slot by step; the table below has the same", prefill=True)
        for label, found in runs
    ]
    return PrefillPart(
        fields=fields,
        fault="",
        question=asked,
        clock=None
        if last > MAX_DRAWN_STEPS
        else Clock(
            "p_step",
            now,
            last,
            {"unchunked": _series(run.unchunked, last), "chunked": _series(run.chunked, last)},
        ),
        unchunked=pictures[0],
        chunked=pictures[1],
        results=_results(runs if asked.shown else runs[:1]),
        requests=_requests(run, alone=not asked.shown),
    )


def _series(run: LessonRun, last: int) -> tuple[Series, ...]:
    return (
        Series("first", "have their first token", happened(run.first_token_steps, last)),
        Series("ended", "ended", happened(run.finish_steps, last)),
    )


def _results(runs: tuple[tuple[str, LessonRun], ...]) -> Table:
    columns = (
        Column("Prefill"),
        Column("Mean TTFT", "steps", numeric=True),
        Column("p95 TTFT", "steps", numeric=True),
        Column("Mean latency", "steps", numeric=True),
        Column("p95 latency", "steps", numeric=True),
        Column("All done", "steps", numeric=True),
    )
    rows = tuple(
        Row(
            (
                Cell(label),
                Cell(number(run.mean_ttft_steps, 2)),
                Cell(number(run.p95_ttft_steps)),
                Cell(number(run.mean_latency_steps, 2)),
                Cell(number(run.p95_latency_steps)),
                Cell(number(run.makespan_steps)),
            ),
            "pick" if label == "Chunked" else "",
        )
        for label, run in runs
    )
    return Table("Results of both ways to prefill", columns, rows)


def _requests(run: Prefill, *, alone: bool) -> Table:
    columns = (
        Column("Request"),
        Column("Arrives", "step", numeric=True),
        Column("Prompt", "tokens", numeric=True),
        Column("Wants", "tokens", numeric=True),
        Column("First token", "whole, step", numeric=True),
        Column("Ends", "whole, step", numeric=True),
        Column("First token", "chunked, step", numeric=True),
        Column("Ends", "chunked, step", numeric=True),
    )
    rows = []
    for n, request in enumerate(run.requests):
        whole = (run.unchunked.first_token_steps[n], run.unchunked.finish_steps[n])
        chunked = (run.chunked.first_token_steps[n], run.chunked.finish_steps[n])
        cells = [Cell(name_of(n))]
        cells += [Cell(number(v)) for v in (request.arrival_step, request.prompt_tokens, request.output_tokens, *whole)]
        cells += [Cell(DASH if alone else number(v), why="predict first") for v in chunked]
        rows.append(Row(tuple(cells)))
    return Table("Prompts and their first tokens", columns, tuple(rows), small=True, sheets=False)
