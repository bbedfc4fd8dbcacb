"""A slot timeline as places in an SVG: one bar per stay of a request in a slot, idle time between, ticks below."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate

from planner.planning.lab import LessonRun

LEFT_PX, TOP_PX, ROW_PX, BAR_PX, AXIS_PX, END_PX = 48, 6, 30, 26, 22, 10
WIDEST_STEP_PX, NARROWEST_STEP_PX = 46.0, 1.0
ROOM_PX = 506
LABEL_FROM_PX = 11
CELLS_FROM_PX = 14
MAX_DRAWN_STEPS = 3000
TICKS = 10
TICK_ROOM_PX = 24
SHADES = 4


@dataclass(frozen=True, slots=True)
class Bar:
    """A rectangle; kind "r0" to "r3" decodes, "prefill" computes a prompt, "idle" is an empty slot."""

    x: float
    y: float
    width: float
    kind: str
    label: str = ""

    @property
    def middle(self) -> tuple[float, float]:
        """Where the label stands."""
        return (self.x + self.width / 2, self.y + BAR_PX / 2)


@dataclass(frozen=True, slots=True)
class Timeline:
    """The picture of a run. `step_px` and `left` let a script place the clock."""

    width: float
    height: float
    left: int
    step_px: float
    bars: tuple[Bar, ...]
    lines: tuple[float, ...]
    ticks: tuple[tuple[float, int], ...]
    slots: tuple[tuple[float, str], ...]
    now_step: int
    words: str

    @property
    def now_x(self) -> float:
        """Where the clock stands."""
        return self.left + self.now_step * self.step_px

    @property
    def plot_height(self) -> float:
        """Height above the ticks."""
        return self.height - AXIS_PX

    @property
    def tick_y(self) -> float:
        """Base line of the ticks' numbers."""
        return self.height - 6

    @property
    def scrolls(self) -> bool:
        """Whether it is wider than its place, so that it keeps its own scale."""
        return self.width > LEFT_PX + ROOM_PX + END_PX + 1


def name_of(number: int) -> str:
    """A, B, ... Z, then 27, 28, ..."""
    return chr(65 + number) if number < 26 else str(number + 1)


def timeline(run: LessonRun, last_step: int, now_step: int, words: str, *, prefill: bool = False) -> Timeline | None:
    """None where it would be longer than a picture can be."""
    if last_step > MAX_DRAWN_STEPS:
        return None
    step_px = min(WIDEST_STEP_PX, max(NARROWEST_STEP_PX, ROOM_PX / last_step))
    bars = [bar for slot in range(run.slots) for bar in _idle(run, slot, step_px)]
    for number, (slot, start, end) in enumerate(run.spans):
        bars += _bars(number, slot, start, run.first_token_steps[number] if prefill else start, end, step_px)
    every = next(n for n in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000) if n * TICKS >= last_step or n == 1000)
    marked = [step for step in range(0, last_step, every) if (last_step - step) * step_px > TICK_ROOM_PX]
    ticks = tuple((LEFT_PX + step * step_px, step) for step in (*marked, last_step))
    lines = tuple(LEFT_PX + step * step_px for step in range(1, last_step)) if step_px >= CELLS_FROM_PX else ()
    height = TOP_PX + run.slots * ROW_PX + AXIS_PX
    rows = tuple((TOP_PX + slot * ROW_PX + BAR_PX / 2, f"slot {slot + 1}") for slot in range(run.slots))
    width = LEFT_PX + last_step * step_px + END_PX
    return Timeline(width, height, LEFT_PX, step_px, tuple(bars), lines, ticks, rows, now_step, words)


def _bars(number: int, slot: int, start: int, first: int, end: int, step_px: float) -> list[Bar]:
    y, shade = TOP_PX + slot * ROW_PX, f"r{number % SHADES}"
    parts = [("prefill", start, first), (shade, first, end)] if first > start else [(shade, start, end)]
    found = []
    for kind, begin, stop in parts:
        width = (stop - begin) * step_px
        if width > 0:
            name = name_of(number)
            label = name if width >= LABEL_FROM_PX * len(name) else ""
            found.append(Bar(LEFT_PX + begin * step_px, y, width, kind, label))
    return found


def _idle(run: LessonRun, slot: int, step_px: float) -> list[Bar]:
    taken = sorted((start, end) for place, start, end in run.spans if place == slot)
    edges = [0, *(edge for span in taken for edge in span), run.makespan_steps]
    y = TOP_PX + slot * ROW_PX
    return [
        Bar(LEFT_PX + begin * step_px, y, (end - begin) * step_px, "idle")
        for begin, end in zip(edges[::2], edges[1::2], strict=True)
        if end > begin
    ]


def busy_slots(run: LessonRun) -> list[int]:
    """Occupied slots in each step of the run."""
    started = happened((start for _, start, _ in run.spans), run.makespan_steps)
    ended = happened((end for _, _, end in run.spans), run.makespan_steps)
    return [begun - over for begun, over in zip(started, ended, strict=True)][: run.makespan_steps]


def happened(steps: Iterable[int], last: int) -> list[int]:
    """How many of what happens at these steps has happened, at each step from 0 to the last."""
    counts = Counter(steps)
    return list(accumulate(counts[step] for step in range(last + 1)))
