"""The sections of a report page in the order of a decision: the verdict stands above them, then the money, the fleet
that it buys, and what it rests on. On a phone all but the first ones are folded to their title and finding."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby

from planner.reports.numbers import usd
from planner.reports.parts import Table
from planner.reports.view import ReportView

MONEY, FLEET, GROUNDS = "The money", "The fleet", "What it rests on"


@dataclass(frozen=True, slots=True)
class Section:
    """A section's frame. `short` names it in the table of contents, `lead` says how to read it, `finding` what it says
    (shown where it is folded), `folds` whether a phone folds it, `paper` whether it is printed."""

    id: str
    group: str
    short: str
    title: str
    lead: str
    finding: str = ""
    folds: bool = True
    paper: bool = True

    @property
    def template(self) -> str:
        return f"report/{self.id.replace('-', '_')}.html"


@dataclass(frozen=True, slots=True)
class Group:
    """Sections that answer one question."""

    title: str
    sections: tuple[Section, ...]


def groups_of(report: ReportView, *, sliders: bool = False) -> tuple[Group, ...]:
    """The sections that have something to show. sliders: whether this page can answer what-if questions."""
    by_group = groupby(_sections(report, sliders=sliders), key=lambda section: section.group)
    return tuple(Group(title, tuple(sections)) for title, sections in by_group)


def _sections(report: ReportView, *, sliders: bool) -> Iterator[Section]:
    if report.causes:
        yield Section(
            "causes", "Why", "Causes", "Why nothing meets the targets",
            "The first reason of each kind of GPU, and the nearest change that would help.", folds=False,
        )  # fmt: skip
    yield from _money(report, sliders=sliders)
    yield from _fleet(report)
    yield from _grounds(report)


def _money(report: ReportView, *, sliders: bool) -> Iterator[Section]:
    if report.cost:
        title = "Cost against the API" if report.has_api else "Cost"
        yield Section(
            "cost", MONEY, "Cost", title, "A month, for the same tokens. US dollars, without tax.", folds=False
        )
    if report.break_even:
        lead = "Whole replicas, so the self-host cost climbs in steps; every crossing counts."
        yield Section("breakeven", MONEY, "Break-even", "Break-even", lead, report.break_even.title)
    if sliders:
        lead = "Answered at once by the closed form; a run confirms or corrects it."
        finding = "Move the load, the price, the lengths, the targets"
        yield Section("what-if", MONEY, "What if", "What if", lead, finding, paper=False)
    if report.operation or report.hybrid or report.owned:
        lead = "The recommended fleet by other clocks and terms, and beside an API."
        yield Section("operation", MONEY, "Other ways", "Other ways to run it", lead, _cheapest_way(report))


def _fleet(report: ReportView) -> Iterator[Section]:
    if report.feasible:
        lead = "Sized for the peak hour; spares are paid but not counted on."
        yield Section("fleet", FLEET, "Fleet", "Recommended fleet", lead, _layout(report))
    if report.slo:
        lead = "Predicted for the peak hour, with the serving replicas alone."
        yield Section("slo", FLEET, "Targets", "Latency targets", lead, _met(report.slo))
    if report.latency:
        lead = "The recommended serving replicas at rising load."
        finding = report.latency[0].title
        yield Section("latency", FLEET, "Latency", "Latency and throughput", lead, finding)
    if report.week:
        lead = "All replicas are paid for every hour."
        yield Section("week", FLEET, "Week", "Load over the week", lead, report.week.title)
    if report.memory:
        of = f" ({report.memory_of})" if report.memory_of else ""
        lead = f"The subtraction for one GPU of a replica{of}, in GiB."
        finding = report.memory_chart.title if report.memory_chart else ""
        yield Section("memory", FLEET, "Memory", "Memory", lead, finding)


def _grounds(report: ReportView) -> Iterator[Section]:
    lead = f"{report.candidates_sentence} Same load, seed and targets for each."
    yield Section("candidates", GROUNDS, "Candidates", "Candidates", lead, report.candidates_sentence)
    if report.tornado:
        lead = "One input moves, the rest stay."
        if report.flip_gpu_usd_per_hour:
            what = "Of both sides alone the cheaper" if report.split else "The answer"
            lead += f" {what} turns at {usd(report.flip_gpu_usd_per_hour, 2)} per GPU-hour."
        yield Section("sensitivity", GROUNDS, "Sensitivity", "Sensitivity", lead, report.tornado.title)
    if report.confidence:
        yield Section("confidence", GROUNDS, "How sure", "How sure", report.confidence.draws, report.confidence.title)
    lead = "Ages as of today; prices and data older than 90 days are marked."
    yield Section("assumptions", GROUNDS, "Assumptions", "Assumptions and sources", lead, _counted(report))


def _cheapest_way(report: ReportView) -> str:
    """The way that the table marks, with its cost."""
    rows = report.operation.rows if report.operation else ()
    for row in rows:
        if row.kind == "pick":
            return f"{row.cells[0].text}: ${row.cells[2].text} a month"
    return ""


def _layout(report: ReportView) -> str:
    facts = {fact.label: fact.value for fact in report.layout}
    return f"{facts['GPUs']} × {facts['GPU']}, {facts['Layout of a replica']}, {facts['Replicas']}"


def _met(slo: Table) -> str:
    """How many of the targets are met."""
    met = sum(1 for row in slo.rows if row.cells[-1].state == "yes")
    return f"{met} of {len(slo.rows)} met"


def _counted(report: ReportView) -> str:
    tables = ((report.sources, "source"), (report.assumptions, "assumption"))
    counts = ((len(table.rows), what) for table, what in tables if table)
    return ", ".join(f"{count} {what}{'' if count == 1 else 's'}" for count, what in counts)
