"""The sliders of a report, read and answered by the closed form."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from planner.planning import Scenario
from planner.planning.what_if import Change, targets_of, what_if
from planner.reports import names
from planner.reports.numbers import DASH, number, requests_per_s, tidy, usd, usd_signed
from planner.reports.separators import ENGLISH, reading_with
from planner.scenarios.estimating import cells

Report = Mapping[str, Any]
LOAD, OUTPUT, PRICE = "load_pct", "output_pct", "usd_per_gpu_hour"
MOST_TARGETS = 3
PCT_LOW, PCT_HIGH, PCT_STEP = 20.0, 300.0, 5.0


@dataclass(frozen=True, slots=True)
class Slider:
    """One input that can be moved. shown: what 1 % or one unit of it is worth in `unit`, for the words beside it."""

    name: str
    label: str
    base: float
    value: float
    low: float
    high: float
    step: float
    unit: str
    shown: float = 1.0
    digits: int = 0

    @property
    def id(self) -> str:
        """Id of the input."""
        return f"what-if-{self.name}"

    @property
    def moved(self) -> bool:
        """Whether it stands elsewhere than in the report."""
        return not math.isclose(self.value, self.base, rel_tol=1e-9)

    @property
    def text(self) -> str:
        """The value in words: "2.88 req/s"."""
        prefix, unit = ("$", "") if self.unit == "$" else ("", f" {self.unit}")
        return f"{prefix}{number(self.value * self.shown, self.digits)}{unit}"

    @property
    def note(self) -> str:
        """Where it stands, for a version's note: "Load 2.88 req/s mean"."""
        return f"{self.label} {self.text}"


def sliders_of(report: Report) -> tuple[Slider, ...]:
    """What can be moved: load, output length, price of the GPU, and the first percentile targets. Nothing is parsed: a
    scenario may carry a trace of megabytes."""
    load = report.get("load") or {}
    mean_rps, output_tokens = load.get("mean_rps"), load.get("output_tokens_mean")
    found = [
        _percent(LOAD, "Load", mean_rps, "req/s mean", 2),
        _percent(OUTPUT, "Output length", output_tokens, "tokens mean", 0),
    ]
    priced = _gpu_price(report)
    if priced is not None:
        gpu, price = priced
        step = 0.01 if price < 20 else 0.1
        low, high = max(step, round(price * 0.25, 2)), round(price * 2.5, 2)
        label = f"{names.gpu_short(gpu)}, per GPU-hour"
        found.append(Slider(PRICE, label, price, price, low, high, step, "$", digits=2))
    for field, target_ms in targets_of(report["provenance"]["scenario"])[:MOST_TARGETS]:
        metric, percentile, _ = field.split("_")
        step = _nice_step(target_ms)
        low, high = max(step, target_ms * 0.25), target_ms * 3
        label = f"{metric.upper()} {percentile} target"
        digits = 1 if step < 1 else 0
        found.append(Slider(field, label, target_ms, target_ms, low, high, step, "ms", digits=digits))
    return tuple(found)


def _percent(name: str, label: str, base: float | None, unit: str, digits: int) -> Slider:
    """A share of the report's value; where the report has none (nothing meets the targets), of itself."""
    if base is None:
        return Slider(name, label, 100, 100, PCT_LOW, PCT_HIGH, PCT_STEP, "% of the scenario's")
    return Slider(name, label, 100, 100, PCT_LOW, PCT_HIGH, PCT_STEP, unit, base / 100, digits)


def _nice_step(value: float) -> float:
    return float(10.0 ** (math.floor(math.log10(value)) - 1))


def _gpu_price(report: Report) -> tuple[str, float] | None:
    """The recommended accelerator, else that of the first candidate with a price; a custom one has its price in the
    scenario and cannot be moved here."""
    gpus = report["provenance"]["scenario"]["hardware"]["gpus"]
    custom = {gpu["id"] for gpu in gpus if not isinstance(gpu, str)}
    chosen = (report.get("recommended") or {}).get("gpu")
    rows = sorted(report["candidates"], key=lambda row: row["gpu"] != chosen)
    for row in rows:
        if row["usd_per_gpu_hour"] and row["gpu"] not in custom:
            return row["gpu"], float(row["usd_per_gpu_hour"])
    return None


def read(sliders: Sequence[Slider], texts: Mapping[str, str]) -> tuple[tuple[Slider, ...], tuple[str, ...]]:
    """The sliders as the address has them, and what is wrong with it."""
    found, wrong = [], []
    for slider in sliders:
        text = texts.get(slider.name, "").strip()
        value = slider.base if not text else _number(text)
        if value is None or not slider.low - 1e-9 <= value <= slider.high + 1e-9:
            wrong.append(f"{slider.label} must be a number from {slider.low:g} to {slider.high:g}.")
            value = slider.base
        found.append(replace(slider, value=value))
    return tuple(found), tuple(wrong)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def change_of(report: Report, sliders: Sequence[Slider]) -> Change:
    """The sliders that were moved, as a change of the scenario."""
    moved = {slider.name: slider.value for slider in sliders if slider.moved}
    priced = _gpu_price(report)
    prices = {priced[0]: moved[PRICE]} if priced and PRICE in moved else {}
    targets = {name: value for name, value in moved.items() if name.endswith("_ms")}
    return Change(moved.get(LOAD, 100) / 100, moved.get(OUTPUT, 100) / 100, prices, targets)


@dataclass(frozen=True, slots=True)
class Line:
    """One figure as planned and as moved."""

    label: str
    now: str
    then: str
    strong: bool = False

    @property
    def differs(self) -> bool:
        """Whether moving changed what is shown."""
        return self.now != self.then


@dataclass(frozen=True, slots=True)
class Answer:
    """Both estimates side by side, and the sentence of the moved one."""

    lines: tuple[Line, ...]
    sentence: str
    why: str
    moved: bool


def answer(report: Report, scenario: Scenario, sliders: Sequence[Slider]) -> Answer:
    """The closed form of the scenario as it is and as the sliders have it. planning.ScenarioInvalid: a value is not
    possible, or the scenario cannot be planned any more."""
    now = cells(scenario)
    moved = any(slider.moved for slider in sliders)
    then = what_if(scenario, change_of(report, sliders)) if moved else now
    specs = (
        ("Fleet", _fleet, True),
        ("Replicas", _replicas, False),
        ("One replica carries", lambda row: f"{requests_per_s(row['capacity_rps'])} req/s", False),
        ("Self-host, a month", lambda row: usd(row["monthly_cost_usd"]), True),
        ("API, a month", lambda row: usd(row["api_monthly_cost_usd"]), False),
        ("Self-host − API", _difference, True),
    )
    lines = [Line(label, text(now), text(then), strong) for label, text, strong in specs]
    if now["api_monthly_cost_usd"] is None:
        lines = [line for line in lines if "API" not in line.label]
    reason = "" if then["feasible"] else tidy(then["reason"] or "")
    return Answer(tuple(lines), tidy(then["verdict"]), reason, moved)


def _fleet(row: Mapping[str, Any]) -> str:
    return f"{row['gpus']} × {names.gpu_short(row['gpu'])}" if row["feasible"] else "none meets the targets"


def _replicas(row: Mapping[str, Any]) -> str:
    if not row["feasible"]:
        return DASH
    spare = row["replicas"] - row["serving_replicas"]
    return f"{row['serving_replicas']} + {spare} of TP{row['tp']}"


def _difference(row: Mapping[str, Any]) -> str:
    saving = row["monthly_saving_usd"]
    return DASH if saving is None else usd_signed(-saving)


def note_of(sliders: Sequence[Slider]) -> str:
    """What was moved, as the note of a new version: kept for every reader, so in English marks."""
    with reading_with(ENGLISH):
        return "What if: " + ", ".join(slider.note for slider in sliders if slider.moved)
