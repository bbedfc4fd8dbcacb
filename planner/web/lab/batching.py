"""Static against continuous batching."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate

from planner.planning import lab
from planner.planning.calculators import CalculatorInvalid
from planner.planning.lab import Batching, LessonRun
from planner.reports.numbers import DASH, number, percent, plain_decimal, significant
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
from planner.web.lab.timeline import MAX_DRAWN_STEPS, Timeline, busy_slots, happened, name_of, timeline

EXAMPLES: tuple[tuple[str, dict[str, str]], ...] = (
    ("Lesson example", {"b_load": "listed", "b_requests": "2, 8, 3, 3", "b_slots": "2"}),
    ("Exercise: 4, 1, 1, 4", {"b_load": "listed", "b_requests": "4, 1, 1, 4", "b_slots": "2"}),
    ("Same lengths, σ = 0", {"b_load": "drawn", "b_rate": "0", "b_sigma": "0", "b_count": "12", "b_slots": "4"}),
    ("Spread lengths, σ = 0.8",
     {"b_load": "drawn", "b_rate": "0", "b_sigma": "0.8", "b_count": "12", "b_slots": "4"}),
    ("Near capacity",
     {"b_load": "drawn", "b_rate": "0.15", "b_sigma": "0.8", "b_count": "60", "b_slots": "4"}),
    ("One long among short", {"b_load": "listed", "b_requests": "400, 50, 50, 50", "b_slots": "4"}),
    ("Staggered arrivals",
     {"b_load": "listed", "b_requests": "5, 3@1, 9@1, 1@4, 1@4, 6@12, 2@40", "b_slots": "3"}),
)  # fmt: skip
MAX_NAMED = 8


@dataclass(frozen=True, slots=True)
class BatchingPart:
    """The part as it is printed; without a run where a field is wrong."""

    fields: tuple[Field, ...]
    load: str
    fault: str
    sentence: str = ""
    question: Question | None = None
    clock: Clock | None = None
    static: Timeline | None = None
    continuous: Timeline | None = None
    results: Table | None = None
    requests: Table | None = None
    keys: tuple[tuple[str, str], ...] = ()
    unsteady: str = ""

    @property
    def hidden(self) -> bool:
        """Whether the answer is still to be guessed."""
        return self.question is not None and not self.question.shown

    @property
    def static_said(self) -> str:
        """The words of the static timeline at the present step."""
        return self.clock.said("static") if self.clock else ""

    @property
    def continuous_said(self) -> str:
        """The words of the continuous timeline at the present step."""
        return self.clock.said("continuous") if self.clock and not self.hidden else ""


def part(query: LabQuery, wrong: dict[str, str]) -> BatchingPart:
    """Run both policies on the address's requests."""
    faults = faults_of("b_", wrong)
    run: Batching | None = None
    if not faults:
        try:
            run = lab.batching(_requests(query), query.b_slots)
        except CalculatorInvalid as error:
            faults["b_requests" if query.b_load == "listed" else "b_count"] = error.detail
    fields = _fields(query, faults)
    if run is None:
        return BatchingPart(fields, query.b_load, FAULT)
    last = max(run.static.makespan_steps, run.continuous.makespan_steps)
    asked = _question(query, run)
    now = step_of(query.b_step, last)
    pictures = [
        timeline(found, last, now, f"{label} batching, slot by step; the table below has the same")
        for label, found in (("Static", run.static), ("Continuous", run.continuous))
    ]
    return BatchingPart(
        fields=fields,
        load=query.b_load,
        fault="",
        sentence=_sentence(query, run),
        question=asked,
        clock=None
        if last > MAX_DRAWN_STEPS
        else Clock(
            "b_step",
            now,
            last,
            {"static": _series(run.static, last), "continuous": _series(run.continuous, last)},
        ),
        static=pictures[0],
        continuous=pictures[1],
        results=_results(run, alone=not asked.shown),
        requests=_request_table(run, alone=not asked.shown),
        keys=_keys(run),
        unsteady=_unsteady(query, run),
    )


def _requests(query: LabQuery) -> tuple[lab.LessonRequest, ...]:
    if query.b_load == "listed":
        return lab.listed_requests(query.b_requests)
    return lab.drawn(
        count=query.b_count,
        arrivals_per_step=query.b_rate,
        mean_output_tokens=query.b_mean,
        sigma=query.b_sigma,
        seed=query.b_seed,
    )


def _fields(query: LabQuery, faults: dict[str, str]) -> tuple[Field, ...]:
    capacity, mean = significant(query.b_slots / query.b_mean), plain_decimal(query.b_mean)
    hint = f"capacity {capacity}: {query.b_slots} slots ÷ {mean} tokens"
    fields = (
        Field("b_slots", "Slots", query.b_slots, low=1, high=16),
        Field("b_requests", "Requests", query.b_requests, "tokens each", "text", ways="listed",
              hint="tokens to make; 3@4 arrives at step 4"),
        Field("b_rate", "Arrivals", query.b_rate, "requests/step", low=0, high=4, step="any", ways="drawn",
              hint=f"{hint}; 0: all at once"),
        Field("b_mean", "Mean length", query.b_mean, "tokens", low=1, high=400, step="any", ways="drawn"),
        Field("b_sigma", "Spread σ", query.b_sigma, low=0, high=1.5, step="any", ways="drawn",
              hint="of the logarithm; 0: all the same"),
        Field("b_count", "Requests", query.b_count, low=1, high=300, ways="drawn"),
        Field("b_seed", "Seed", query.b_seed, low=0, high=9999, ways="drawn"),
    )  # fmt: skip
    return with_faults(fields, faults)


def _sentence(query: LabQuery, run: Batching) -> str:
    if query.b_load == "drawn":
        way = f"at {plain_decimal(query.b_rate)} a step" if query.b_rate else "at step 0"
        mean = plain_decimal(query.b_mean)
        return f"{query.b_slots} slots, {query.b_count} requests {way}, {mean} tokens on average."
    if len(run.requests) <= MAX_NAMED:
        listed = ", ".join(
            f"{name_of(n)} {number(r.output_tokens)}" + (f" from step {r.arrival_step}" if r.arrival_step else "")
            for n, r in enumerate(run.requests)
        )
        return f"{query.b_slots} slots; tokens wanted: {listed}."
    return f"{query.b_slots} slots, {len(run.requests)} requests."


def _question(query: LabQuery, run: Batching) -> Question:
    static, continuous = run.static, run.continuous
    drawn = query.b_load == "drawn" and query.b_rate > 0
    shortest = min(r.output_tokens for r in run.requests)
    if len(run.requests) <= query.b_slots and not drawn and shortest < continuous.makespan_steps:
        idle = continuous.makespan_steps - shortest
        return question(
            "b",
            f"The last request ends at step {number(continuous.makespan_steps)}. For how many steps does the slot of a"
            " shortest one idle, under either policy?",
            "steps",
            right=idle,
            answer=f"{number(idle)} steps. Nothing waits, so no policy can fill the slots:"
            f" {percent(continuous.idle_ratio, 1)} of all slot-steps are idle.",
            guess=query.b_guess,
            shown=query.b_show,
        )
    if drawn:
        return question(
            "b",
            f"With static batches 95 of 100 requests end within {number(static.p95_latency_steps)} steps of their"
            " arrival. Within how many with continuous batching?",
            "steps",
            right=continuous.p95_latency_steps,
            answer=f"{number(continuous.p95_latency_steps)} steps: a request waits for a free slot, not for a whole"
            " batch to end.",
            guess=query.b_guess,
            shown=query.b_show,
        )
    gain = static.makespan_steps - continuous.makespan_steps
    why = (
        f"{number(gain)} fewer: a freed slot takes the next request at once."
        if gain
        else "the same. With equal lengths, or nobody waiting, no slot is freed early."
    )
    return question(
        "b",
        f"Static batching needs {number(static.makespan_steps)} steps for all {len(run.requests)}."
        " How many does continuous batching need?",
        "steps",
        right=continuous.makespan_steps,
        answer=f"{number(continuous.makespan_steps)} steps, {why}",
        guess=query.b_guess,
        shown=query.b_show,
    )


def _series(run: LessonRun, last: int) -> tuple[Series, ...]:
    busy = busy_slots(run)
    tokens = list(accumulate(busy, initial=0))
    idle = list(accumulate((run.slots - slots for slots in busy), initial=0))
    arrived = happened(run.arrival_steps, last)
    started = happened((start for _, start, _ in run.spans), last)
    after_end = last - run.makespan_steps
    return (
        Series("tokens", "tokens", tokens + [tokens[-1]] * after_end),
        Series("idle", "idle slot-steps", idle + [idle[-1]] * after_end),
        Series("waiting", "waiting", [come - taken for come, taken in zip(arrived, started, strict=True)]),
    )


def _keys(run: Batching) -> tuple[tuple[str, str], ...]:
    if len(run.requests) > MAX_NAMED:
        return ()
    return tuple((f"r{n % 4}", f"{name_of(n)}, {number(r.output_tokens)}") for n, r in enumerate(run.requests))


def _results(run: Batching, *, alone: bool) -> Table:
    named = len(run.requests) <= MAX_NAMED
    columns = (
        Column("Policy"),
        *(Column(f"{name_of(n)} ends", "step", numeric=True) for n in range(len(run.requests)) if named),
        Column("All done", "steps", numeric=True),
        Column("Throughput", "tokens/step", numeric=True),
        Column("Idle", "% of slot-steps", numeric=True),
        Column("Mean latency", "steps", numeric=True),
        Column("p95 latency", "steps", numeric=True),
    )
    rows = [_result("Static", run.static, named)]
    if not alone:
        rows.append(_result("Continuous", run.continuous, named))
    return Table("Results of both policies", columns, tuple(rows))


def _result(label: str, run: LessonRun, named: bool) -> Row:
    cells = (
        Cell(label),
        *(Cell(number(step)) for step in run.finish_steps if named),
        Cell(number(run.makespan_steps)),
        Cell(number(run.throughput_tokens_per_step, 2)),
        Cell(number(run.idle_ratio * 100, 1)),
        Cell(number(run.mean_latency_steps, 2)),
        Cell(number(run.p95_latency_steps)),
    )
    return Row(cells, "pick" if label == "Continuous" else "")


def _request_table(run: Batching, *, alone: bool) -> Table:
    columns = (
        Column("Request"),
        Column("Arrives", "step", numeric=True),
        Column("Wants", "tokens", numeric=True),
        *(
            column
            for label in ("static", "continuous")
            for column in (
                Column("Slot", label, numeric=True),
                Column("Starts", f"{label}, step", numeric=True),
                Column("Ends", f"{label}, step", numeric=True),
            )
        ),
    )
    rows = []
    for n, request in enumerate(run.requests):
        cells = [Cell(name_of(n)), Cell(number(request.arrival_step)), Cell(number(request.output_tokens))]
        for found in (run.static, run.continuous):
            slot, start, end = found.spans[n]
            hidden = alone and found is run.continuous
            cells += [Cell(DASH if hidden else number(v), why="predict first") for v in (slot + 1, start, end)]
        rows.append(Row(tuple(cells)))
    return Table("Requests in their slots", columns, tuple(rows), small=True, sheets=False)


def _unsteady(query: LabQuery, run: Batching) -> str:
    """Beyond capacity there is no steady state: what is shown is of this run alone."""
    if query.b_load != "drawn" or not query.b_rate:
        return ""
    capacity = query.b_slots / query.b_mean
    if query.b_rate < capacity:
        return ""
    growth = query.b_rate - capacity
    return (
        f"{plain_decimal(query.b_rate)} a step is at or beyond the capacity of {significant(capacity)}: the queue grows"
        f" by about {significant(growth)} requests a step for as long as the load lasts. The latencies are of these"
        f" {len(run.requests)} requests alone; with more of them they would be longer."
    )
