"""The whole report page from a report's dict: every section formatted, every chart with its options and its table."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from planner.reports import confidence, evidence, fleet, headline, memory, money, names, operation, performance
from planner.reports.classes import class_table
from planner.reports.numbers import tidy
from planner.reports.parts import Chart, Fact, Figure, State, Table

Report = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ReportView:
    """Sections in the order in which someone who doubts the verdict would ask. None or empty: nothing to show."""

    name: str
    verdict: headline.Verdict
    figures: tuple[Figure, ...]
    feasible: bool
    causes: tuple[tuple[str, str, str], ...]
    layout: tuple[Fact, ...]
    load: tuple[Fact, ...]
    binding: str
    engine: tuple[tuple[str, str], ...]
    commands: tuple[tuple[str, str], ...]
    slo: Table | None
    classes: Table | None
    interval_sentence: str
    slo_sentence: str
    confirmed_sentence: str
    cost_chart: Chart | None
    cost: Table | None
    cost_facts: tuple[Fact, ...]
    has_api: bool
    break_even: Chart | None
    crossings: Table | None
    latency: tuple[Chart, ...]
    week: Chart | None
    memory_chart: Chart | None
    memory: Table | None
    memory_of: str
    memory_facts: tuple[Fact, ...]
    candidates: Table
    candidates_sentence: str
    precisions: Table | None
    tornado: Chart | None
    confidence: confidence.Confidence | None
    operation: Table | None
    hybrid: Chart | None
    batch: str
    split: bool
    owned: Table | None
    sources: Table | None
    listings: Table | None
    assumptions: Table | None
    notes: tuple[str, ...]
    coverage: evidence.Coverage | None
    repeat: tuple[Fact, ...]
    old_prices: tuple[tuple[str, int], ...]
    flip_gpu_usd_per_hour: float | None

    @property
    def charts(self) -> tuple[Chart, ...]:
        """Every chart of the page."""
        costs = (self.cost_chart, self.break_even, self.hybrid)
        found = (*costs, *self.latency, self.week, self.memory_chart, self.tornado)
        return tuple(chart for chart in found if chart is not None)


def _commands(fleet_row: Mapping[str, Any], engine: str) -> tuple[tuple[str, str], ...]:
    """What starts a replica, of the planned engine first; of each pool where prompts and outputs are apart."""
    whole = {"role": "", "commands": fleet_row.get("commands") or {}}
    pools: Sequence[Mapping[str, Any]] = fleet_row.get("pools") or (whole,)
    rows = [
        (f"{ENGINE_NAMES.get(key, key)}{', ' if row['role'] else ''}{row['role']}", text, key != engine)
        for row in pools
        for key, text in row["commands"].items()
        if text
    ]
    return tuple((label, text) for label, text, _ in sorted(rows, key=lambda row: row[2]))


def report_view(report: Report, today: date) -> ReportView:
    """Format a report for reading. today: the day from which ages count; it is the page's, never the report's."""
    feasible = report.get("recommended") is not None
    meeting = sum(1 for row in report["candidates"] if row["feasible"])
    fleet_row = report.get("recommended") or {}
    engine = (fleet_row.get("engine") or {}).get("name", "")
    commands = _commands(fleet_row, engine)
    return ReportView(
        name=report["name"],
        verdict=headline.verdict(report),
        figures=headline.figures(report),
        feasible=feasible,
        causes=() if feasible else evidence.causes(report),
        layout=fleet.layout_facts(report) if feasible else (),
        load=fleet.load_facts(report) if feasible else (),
        binding=tidy((headline.candidate_of(report) or {}).get("binding") or ""),
        engine=fleet.engine_facts(report) if feasible else (),
        commands=commands,
        slo=performance.slo_table(report),
        classes=class_table(report),
        interval_sentence=evidence.interval_sentence(report),
        confirmed_sentence=tidy((report.get("confirmation") or {}).get("sentence") or ""),
        slo_sentence=tidy((report.get("uncertainty") or {}).get("slo_probability_sentence") or ""),
        cost_chart=money.cost_chart(report),
        cost=money.cost_table(report),
        cost_facts=money.cost_facts(report),
        has_api=bool(report.get("api")),
        break_even=money.break_even_chart(report),
        crossings=money.crossings_table(report),
        latency=performance.latency_charts(report),
        week=performance.week_chart(report),
        memory_chart=memory.memory_chart(report),
        memory=memory.memory_table(report),
        memory_of=memory.memory_of(report),
        memory_facts=memory.memory_facts(report),
        candidates=evidence.candidates_table(report),
        candidates_sentence=_tried(len(report["candidates"]), meeting, _not_simulated(report)),
        precisions=evidence.precisions_table(report),
        tornado=money.tornado_chart(report),
        confidence=confidence.confidence(report),
        operation=operation.operation_table(report),
        hybrid=operation.hybrid_chart(report),
        split=bool(report["verdict"].get("hybrid")),
        batch=tidy((report.get("batch") or {}).get("sentence", "")),
        owned=operation.owned_table(report),
        sources=evidence.sources_table(report, today),
        listings=evidence.listings_table(report, today),
        assumptions=evidence.assumptions_table(report),
        notes=tuple(map(tidy, (report.get("provenance") or {}).get("notes") or ())),
        coverage=evidence.coverage(report),
        repeat=evidence.repeat_facts(report),
        old_prices=evidence.old_prices(report, today),
        flip_gpu_usd_per_hour=report["verdict"].get("flip_gpu_usd_per_hour"),
    )


def _not_simulated(report: Report) -> int:
    return sum(1 for row in report["candidates"] if row["feasible"] and not row.get("simulated", True))


def _tried(tried: int, meeting: int, not_simulated: int) -> str:
    said = f"{tried} tried, {meeting or 'none'} meet{'s' if meeting == 1 else ''} the targets"
    if not not_simulated:
        return f"{said}."
    return f"{said}, {not_simulated} of them by the closed form alone: they would cost more than the best found."


ENGINE_NAMES = {"vllm": "vLLM", "sglang": "SGLang", "tensorrt_llm": "TensorRT-LLM"}


@dataclass(frozen=True, slots=True)
class Summary:
    """One line of a list of scenarios."""

    choice: str
    label: str
    state: State
    fleet: str
    usd_per_month: float | None
    difference_usd_per_month: float | None
    against: str
    load_rps: float | None
    model: str
    priced_at: str


VERDICTS: dict[str, tuple[str, State]] = {
    "self_host": ("Self-host", "yes"),
    "self_host_only": ("Self-host", "yes"),
    "api": ("API", "dash"),
    "hybrid": ("Split", "yes"),
    "none": ("None meets", "no"),
}


def summary(report: Report) -> Summary:
    """What a list shows of a report."""
    label, state = VERDICTS.get(report["verdict"]["choice"], (report["verdict"]["choice"], "dash"))
    fleet_row = report.get("recommended")
    saving = report["verdict"].get("saving_usd_per_month")
    opponent = report["verdict"].get("against")
    model = report["provenance"]["scenario"].get("model", {})
    return Summary(
        choice=report["verdict"]["choice"],
        label=label,
        state=state,
        fleet=f"{fleet_row['gpus']} × {names.gpu_short(fleet_row['gpu'])}" if fleet_row else "",
        usd_per_month=((report.get("cost") or {}).get("usd_per_month") or {}).get("mid"),
        difference_usd_per_month=-saving["mid"] if saving else None,
        against=names.provider(opponent["provider"]) if opponent else "",
        load_rps=(report.get("load") or {}).get("mean_rps"),
        model=str(model.get("id") or "custom").rpartition("/")[2],
        priced_at=report["provenance"]["priced_at"],
    )
