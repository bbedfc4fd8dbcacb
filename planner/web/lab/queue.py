"""Little's law on a live queue, and on the numbers of a service."""

from __future__ import annotations

import math
from dataclasses import dataclass

from planner.planning import calculators, lab
from planner.planning.calculators import CalculatorInvalid
from planner.planning.lab import Batching
from planner.reports.numbers import DASH, number, plain_decimal, significant
from planner.reports.parts import Cell, Column, Figure, Row, Table
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
from planner.web.lab.timeline import happened

REQUESTS, SIGMA, SEED = 200, 0.8, 1
WIDTH, HEIGHT, LEFT, AXIS = 900, 170, 40, 22
MAX_POINTS = 900


@dataclass(frozen=True, slots=True)
class QueuePicture:
    """Requests in the system at each step, as a line; the clock moves over it."""

    width: int
    height: int
    left: int
    step_px: float
    path: str
    mean_y: float
    ticks: tuple[tuple[float, int], ...]
    levels: tuple[tuple[float, int], ...]
    now_step: int
    words: str

    @property
    def now_x(self) -> float:
        """Where the clock stands."""
        return self.left + self.now_step * self.step_px

    @property
    def plot_height(self) -> int:
        """Height above the ticks."""
        return self.height - AXIS


@dataclass(frozen=True, slots=True)
class QueuePart:
    """The part as it is printed; without a run where a field is wrong."""

    fields: tuple[Field, ...]
    fault: str
    service_fields: tuple[Field, ...]
    service: tuple[Figure, ...] = ()
    question: Question | None = None
    clock: Clock | None = None
    picture: QueuePicture | None = None
    figures: tuple[Figure, ...] = ()
    unsteady: str = ""
    table: Table | None = None

    @property
    def said(self) -> str:
        """The words of the picture at the present step."""
        return self.clock.said("queue") if self.clock else ""


def part(query: LabQuery, wrong: dict[str, str]) -> QueuePart:
    """Run the queue, and multiply."""
    faults = faults_of("l_", wrong)
    run: Batching | None = None
    if not faults:
        try:
            requests = lab.drawn(
                count=REQUESTS,
                arrivals_per_step=query.l_arrivals,
                mean_output_tokens=query.l_mean,
                sigma=SIGMA,
                seed=SEED,
            )
            run = lab.batching(requests, query.l_slots)
        except CalculatorInvalid as error:
            faults["l_arrivals"] = error.detail
    fields, service_fields = with_faults(_fields(query), faults), with_faults(_service_fields(query), faults)
    if run is None:
        return QueuePart(fields, FAULT, service_fields)
    inside = run.continuous_in_system
    mean = sum(inside) / len(inside)
    rate, wait = REQUESTS / len(inside), run.continuous.mean_latency_steps
    now = step_of(query.l_step, len(inside))
    asked = question(
        "l",
        f"{number(rate, 3)} requests came a step, and one spent {number(wait, 1)} steps here on average. How many were"
        " here on average, waiting or in a slot?",
        "requests",
        right=round(mean, 1),
        answer=f"{number(rate, 3)} × {number(wait, 1)} = {number(rate * wait, 1)}; counted step by step:"
        f" {number(mean, 1)}. The law needs no assumption about arrivals or lengths.",
        guess=query.l_guess,
        shown=query.l_show,
        digits=1,
    )
    return QueuePart(
        fields=fields,
        fault="",
        service_fields=service_fields,
        service=_service(query),
        question=asked,
        clock=Clock("l_step", now, len(inside), {"queue": _series(run)}),
        picture=_picture(inside, mean, now),
        figures=_figures(rate, wait, mean) if asked.shown else (),
        unsteady=_unsteady(query),
        table=_table(inside),
    )


def _fields(query: LabQuery) -> tuple[Field, ...]:
    capacity = query.l_slots / query.l_mean
    return (
        Field("l_arrivals", "Arrivals", query.l_arrivals, "requests/step", "slider", low=0.02, high=0.4, step=0.005,
              hint=f"capacity {significant(capacity)}: {query.l_slots} slots ÷ {plain_decimal(query.l_mean)} tokens"),
        Field("l_slots", "Slots", query.l_slots, low=1, high=16),
        Field("l_mean", "Mean length", query.l_mean, "tokens", low=1, high=60, step="any"),
    )  # fmt: skip


def _service_fields(query: LabQuery) -> tuple[Field, ...]:
    return (
        Field("l_rps", "Arrivals", query.l_rps, "req/s", low=0, high=10_000, step="any"),
        Field("l_time_s", "Time in the system", query.l_time_s, "s", low=0, high=10_000, step="any"),
    )


def _service(query: LabQuery) -> tuple[Figure, ...]:
    inside = calculators.littles_law_of(arrival_rps=query.l_rps, e2e_s=query.l_time_s).result["concurrency_mean"]
    return (
        Figure(
            "In the system",
            number(inside, 2),
            "requests",
            f"{plain_decimal(query.l_rps)}/s × {plain_decimal(query.l_time_s)} s: a batch, and KV cache, for at least"
            f" {math.ceil(inside)}",
        ),
    )


def _series(run: Batching) -> tuple[Series, ...]:
    inside = run.continuous_in_system
    return (
        Series("inside", "in the system", [*inside, 0]),
        Series("arrived", "have come", happened(run.continuous.arrival_steps, len(inside))),
        Series("ended", "have ended", happened(run.continuous.finish_steps, len(inside))),
    )


def _figures(rate: float, wait: float, mean: float) -> tuple[Figure, ...]:
    return (
        Figure("Arrivals, λ", number(rate, 3), "requests/step", f"{REQUESTS} requests over the run"),
        Figure("Time in the system, W", number(wait, 1), "steps", "mean, wait and decode"),
        Figure("λ × W", number(rate * wait, 2), "requests", "what the law says"),
        Figure("Counted, L", number(mean, 2), "requests", "mean over all steps", tone="accent"),
    )


def _unsteady(query: LabQuery) -> str:
    capacity = query.l_slots / query.l_mean
    if query.l_arrivals < capacity:
        return ""
    rate = plain_decimal(query.l_arrivals)
    return (
        f"{rate} a step is at or beyond the capacity of {significant(capacity)}: while requests keep coming, the queue"
        f" grows by about {significant(query.l_arrivals - capacity)} a step. There is no steady"
        " state, and the longer it lasts the longer everyone waits."
    )


def _picture(inside: tuple[int, ...], mean: float, now: int) -> QueuePicture:
    most = max(inside)
    step_px = (WIDTH - LEFT - 8) / len(inside)
    plot = HEIGHT - AXIS - 8

    def y(value: float) -> float:
        return round(HEIGHT - AXIS - value / most * plot, 1)

    stride = max(1, math.ceil(len(inside) / MAX_POINTS))
    points = [(LEFT + step * step_px, y(max(inside[step : step + stride]))) for step in range(0, len(inside), stride)]
    path = f"M{points[0][0]:.1f} {points[0][1]}" + "".join(f"H{x:.1f}V{height}" for x, height in points[1:])
    every = next(n for n in (10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10_000, 50_000) if n * 10 >= len(inside))
    ticks = tuple((LEFT + step * step_px, step) for step in range(0, len(inside) + 1, every))
    levels = tuple((y(value), value) for value in sorted({0, most // 2, most}))
    words = f"Requests in the system over {len(inside)} steps: {number(mean, 1)} on average, {most} at most"
    return QueuePicture(WIDTH, HEIGHT, LEFT, step_px, path, y(mean), ticks, levels, now, words)


def _table(inside: tuple[int, ...]) -> Table:
    """Twenty equal parts of the run."""
    columns = (
        Column("Steps"),
        Column("Fewest", "requests", numeric=True),
        Column("Mean", "requests", numeric=True),
        Column("Most", "requests", numeric=True),
    )
    size = max(1, math.ceil(len(inside) / 20))
    rows = []
    for start in range(0, len(inside), size):
        piece = inside[start : start + size]
        span = f"{number(start)} {DASH} {number(start + len(piece) - 1)}"
        rows.append(
            Row(
                (
                    Cell(span),
                    Cell(number(min(piece))),
                    Cell(number(sum(piece) / len(piece), 1)),
                    Cell(number(max(piece))),
                )
            )
        )
    return Table("Requests in the system", columns, tuple(rows), small=True, sheets=False)
