"""The money of a report as live formulas: change a price or the volume in a cell, and both bills, the replicas and the
break-even follow. Every formula is the one of docs/method.md, section 6, and gives the report's own value to the cent.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from planner.reports.xlsx_book import Book, absolute

MONEY, STAIRS = "Money", "Break-even"
LABEL, VALUE, UNIT, BASIS = range(4)
STEPS = 60
BEYOND = 3.0
MTOK = 1_000_000


@dataclass(frozen=True, slots=True)
class Hosting:
    """What the formulas start from, unrounded where the report is."""

    usd_per_gpu_hour: float
    gpus_per_replica: int
    spare_replicas: int
    hours_per_month: float
    peak_rps: float
    mean_rps: float
    capacity_rps: float
    input_tokens: int
    output_tokens: int
    serving_replicas: int
    usd_per_month: float
    paid_ratio: float
    mode: str

    @property
    def usd_per_replica_month(self) -> float:
        return self.gpus_per_replica * self.hours_per_month * self.usd_per_gpu_hour * self.paid_ratio


def hosting_of(report: Mapping[str, Any]) -> Hosting:
    """Of a report with a recommended fleet. A report rounds rates to six digits; the capacity is moved within that
    rounding so that ceil(peak / capacity) is the fleet that was simulated."""
    fleet, load, cost = report["recommended"], report["load"], report["cost"]
    row = next(row for row in report["candidates"] if row["id"] == fleet["candidate"])
    peak, serving = max(hour["rps"] for hour in load["week"]), fleet["serving_replicas"]
    capacity = row["capacity_rps"]["mid"]
    mode, hours = (fleet.get("billing") or {}).get("label", "Always on"), report["provenance"]["scenario"]["billing"]
    month, each = cost["usd_per_month"]["mid"], fleet["gpus"] // fleet["replicas"]
    always = (serving + fleet["spare_replicas"]) * each * hours["hours_per_month"] * row["usd_per_gpu_hour"]
    least = peak / serving * (1 + 1e-9)
    most = peak / (serving - 1) * (1 - 1e-9) if serving > 1 else math.inf
    return Hosting(
        usd_per_gpu_hour=row["usd_per_gpu_hour"],
        gpus_per_replica=each,
        spare_replicas=fleet["spare_replicas"],
        hours_per_month=hours["hours_per_month"],
        peak_rps=peak,
        mean_rps=load["mean_rps"],
        capacity_rps=min(max(capacity, least), most),
        input_tokens=cost["monthly_tokens"]["input"],
        output_tokens=cost["monthly_tokens"]["output"],
        serving_replicas=serving,
        usd_per_month=month,
        paid_ratio=1.0 if mode == "Always on" else month / always,
        mode=mode,
    )


class MoneySheet:
    """Writes rows of label, value, unit, basis, and names each value."""

    def __init__(self, book: Book, host: Hosting, report: Mapping[str, Any]) -> None:
        note = "Yellow cells are entries: change them and everything follows. Formulas use the names in column E."
        self.book, self.host, self.report = book, host, report
        self.sheet = book.sheet(MONEY, "Money", note)
        self.row = 3
        for column, width in enumerate((44, 20, 22, 70, 28)):
            self.sheet.set_column(column, column, width)

    def head(self, text: str) -> None:
        """A heading."""
        self.row += 1
        for column, word in enumerate((text, "value", "unit", "basis", "name")):
            self.sheet.write_string(self.row, column, word, self.book.style("head"))
        self.row += 1

    def entry(self, word: str, label: str, value: float, unit: str, basis: str, kind: str = "number") -> None:
        """A cell to change."""
        self.sheet.write_number(self.row, VALUE, value, self.book.style(kind, entry=True))
        self._rest(word, label, unit, basis)

    def live(self, word: str, label: str, formula: str, value: Any, unit: str, basis: str, kind: str = "usd") -> None:
        """A formula, with the value that a reader shows who does not calculate."""
        self.sheet.write_formula(self.row, VALUE, f"={formula}", self.book.style(kind, bold=True), value)
        self._rest(word, label, unit, basis)

    def _rest(self, word: str, label: str, unit: str, basis: str) -> None:
        self.sheet.write_string(self.row, LABEL, label)
        self.sheet.write_string(self.row, UNIT, unit)
        self.sheet.write_string(self.row, BASIS, basis)
        self.sheet.write_string(self.row, BASIS + 1, word)
        self.book.name(word, MONEY, self.row, VALUE)
        self.row += 1


def money_sheet(book: Book, report: Mapping[str, Any], host: Hosting) -> None:
    """Entries, the fleet's month, each API's month, the comparison, the break-even."""
    page = MoneySheet(book, host, report)
    _entries(page)
    _fleet(page)
    for place, api in enumerate(report["api"], 1):
        _api(page, place, api)
    if report["api"]:
        _comparison(page)


def _entries(page: MoneySheet) -> None:
    host = page.host
    page.head("Entries")
    page.entry("usd_per_gpu_hour", "GPU price", host.usd_per_gpu_hour, "USD per GPU-hour", "sheet Sources", "usd_unit")
    page.entry("load_ratio", "Volume", 1, "× the scenario's load", "1 is the scenario; 2 doubles every rate and token")
    page.entry("hours_per_month", "Hours per month", host.hours_per_month, "h", "scenario (730 = 365 × 24 / 12)")
    page.entry(
        "spare_replicas", "Spare replicas", host.spare_replicas, "replicas", "scenario; paid, not counted on", "whole"
    )
    page.entry("gpus_per_replica", "GPUs per replica", host.gpus_per_replica, "GPUs", "recommended candidate", "whole")
    basis = "every hour" if host.paid_ratio == 1 else "of the present load and price; kept when they change"
    page.entry("paid_ratio", f"Paid of all hours, {host.mode.lower()}", host.paid_ratio, "× all hours", basis)
    page.entry(
        "capacity_rps",
        "Capacity of a replica within the targets",
        host.capacity_rps,
        "requests/s",
        "simulated; see sheet Candidates",
    )
    page.entry("base_peak_rps", "Peak hour of the scenario", host.peak_rps, "requests/s", "scenario")
    page.entry("base_mean_rps", "Mean over the week of the scenario", host.mean_rps, "requests/s", "scenario")
    page.entry(
        "base_input_tokens",
        "Input tokens of the scenario",
        host.input_tokens,
        "tokens/month",
        "mean rate × seconds × mean prompt",
        "whole",
    )
    page.entry(
        "base_output_tokens",
        "Output tokens of the scenario",
        host.output_tokens,
        "tokens/month",
        "mean rate × seconds × mean output",
        "whole",
    )


def _fleet(page: MoneySheet) -> None:
    host = page.host
    replicas = host.serving_replicas + host.spare_replicas
    month = replicas * host.usd_per_replica_month
    tokens = host.input_tokens + host.output_tokens
    weighted = host.input_tokens + 4 * host.output_tokens
    page.head("Self-hosting")
    page.live("peak_rps", "Peak hour", "base_peak_rps*load_ratio", host.peak_rps, "requests/s", "", "number")
    page.live(
        "serving_replicas",
        "Serving replicas",
        "MAX(1,ROUNDUP(peak_rps/capacity_rps,0))",
        host.serving_replicas,
        "replicas",
        "whole replicas for the peak hour",
        "whole",
    )
    page.live("replicas", "Replicas paid", "serving_replicas+spare_replicas", replicas, "replicas", "", "whole")
    page.live("gpus", "GPUs paid", "replicas*gpus_per_replica", replicas * host.gpus_per_replica, "GPUs", "", "whole")
    page.live(
        "usd_per_replica_month",
        "A replica",
        "ROUND(gpus_per_replica*hours_per_month*usd_per_gpu_hour*paid_ratio,10)",
        host.usd_per_replica_month,
        "USD/month",
        host.mode.lower(),
    )
    page.live(
        "fleet_usd_per_month",
        "The fleet",
        "ROUND(replicas*usd_per_replica_month,2)",
        round(month, 2),
        "USD/month",
        "replicas × GPUs × hours × price × paid share",
    )
    page.live(
        "total_tokens",
        "Tokens",
        "(base_input_tokens+base_output_tokens)*load_ratio",
        tokens,
        "tokens/month",
        "in and out",
        "whole",
    )
    page.live(
        "fleet_usd_per_mtok",
        "Cost per million tokens",
        f"fleet_usd_per_month*{MTOK}/total_tokens",
        month * MTOK / tokens,
        "USD/Mtok",
        "blended at the scenario's mix",
        "usd_unit",
    )
    page.live(
        "fleet_usd_per_mtok_input",
        "… of input tokens",
        f"fleet_usd_per_month*{MTOK}/((base_input_tokens+4*base_output_tokens)*load_ratio)",
        month * MTOK / weighted,
        "USD/Mtok",
        "an output token counts as four input tokens",
        "usd_unit",
    )
    page.live(
        "fleet_usd_per_mtok_output",
        "… of output tokens",
        "4*fleet_usd_per_mtok_input",
        4 * month * MTOK / weighted,
        "USD/Mtok",
        "the same convention",
        "usd_unit",
    )
    page.live(
        "utilisation",
        "Utilisation",
        "peak_rps/(serving_replicas*capacity_rps)",
        host.peak_rps / (host.serving_replicas * host.capacity_rps),
        "of capacity in the peak hour",
        "",
        "ratio",
    )


def _api(page: MoneySheet, place: int, api: Mapping[str, Any]) -> None:
    page.head(f"API {place}: {api['model']} at {api['provider']}")
    parts = []
    for number, (line, price) in enumerate(_priced(api), 1):
        word = f"api_{place}_line_{number}"
        page.entry(f"{word}_usd_per_mtok", f"{line['label']}, price", price, "USD/Mtok", api["source"], "usd_unit")
        page.live(
            f"{word}_tokens",
            f"{line['label']}, tokens",
            f"{line['tokens']}*load_ratio",
            line["tokens"],
            "tokens/month",
            "",
            "whole",
        )
        parts.append(f"{word}_tokens*{word}_usd_per_mtok")
    total = "+".join(parts) or "0"
    basis = api["note"] if api["available"] else f"no longer offered; {api['note']}"
    formula = f"({total})/{MTOK}"
    if _minimum(api):
        page.entry(
            f"api_{place}_minimum_usd", "Least that a month costs", _minimum(api), "USD/month", "as agreed", "usd"
        )
        page.live(f"api_{place}_usage_usd", "The requests alone", formula, _usage_usd(api), "USD/month", "", "usd_unit")
        formula = f"MAX(api_{place}_minimum_usd,api_{place}_usage_usd)"
    page.live(f"api_{place}_usd_exact", "The API, not rounded", formula, _exact(api), "USD/month", "", "usd_unit")
    page.live(
        f"api_{place}_usd_per_month",
        "The API",
        f"ROUND(api_{place}_usd_exact,2)",
        api["usd_per_month"],
        "USD/month",
        basis,
    )


def _priced(api: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], float]]:
    """The lines of usage with their list prices, where these give the bill to the cent; else, as with a price of more
    than four decimals, a line whose amount they miss has the mean price that gives it.

    The bill decides, not the line: its cents are dealt so that the lines add up, and one may lie a cent off its price.
    """
    lines = [(line, float(line["usd_per_mtok"] or 0)) for line in _usage(api)]
    billed = sum(line["usd_per_month"] for line, _ in lines)
    if abs(round(sum(line["tokens"] * price for line, price in lines) / MTOK, 2) - billed) < 0.005:
        return lines
    return [(line, _mean_price(line, price)) for line, price in lines]


def _mean_price(line: Mapping[str, Any], price: float) -> float:
    if abs(price * line["tokens"] / MTOK - line["usd_per_month"]) > 0.006:
        return float(line["usd_per_month"]) * MTOK / int(line["tokens"])
    return price


def _minimum(api: Mapping[str, Any]) -> float:
    return float(api.get("minimum_usd_per_month") or 0)


def _usage(api: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The lines of tokens and requests; what is missing to a minimum follows from them."""
    return [line for line in api["lines"] if line["tokens"]]


def _usage_usd(api: Mapping[str, Any], ratio: float = 1.0) -> float:
    return float(ratio * sum(line["tokens"] * price for line, price in _priced(api)) / MTOK)


def _exact(api: Mapping[str, Any], ratio: float = 1.0) -> float:
    """The API's month at so many times the load, not rounded to cents."""
    return max(_minimum(api), _usage_usd(api, ratio))


def _comparison(page: MoneySheet) -> None:
    apis = page.report["api"]
    offered = [place for place, api in enumerate(apis, 1) if api["available"]]
    if not offered:
        return
    cheapest = min(apis[place - 1]["usd_per_month"] for place in offered)
    host, fleet = page.host, page.host.usd_per_month
    exact_usd = min(_exact(apis[place - 1]) for place in offered)
    names = ",".join(f"api_{place}_usd_exact" for place in offered)
    found = _break_even(host, exact_usd)
    page.head("Comparison with the cheapest API that is offered")
    page.live("api_usd_exact", "Cheapest API, not rounded", f"MIN({names})", exact_usd, "USD/month", "", "usd_unit")
    page.live("api_usd_per_month", "Cheapest API", "ROUND(api_usd_exact,2)", cheapest, "USD/month", "")
    page.live(
        "saving_usd_per_month",
        "Saving by self-hosting",
        "api_usd_per_month-fleet_usd_per_month",
        cheapest - fleet,
        "USD/month",
        "negative: the API is cheaper",
    )
    page.live(
        "flip_usd_per_gpu_hour",
        "GPU price at which the verdict turns",
        "api_usd_exact/(gpus*hours_per_month*paid_ratio)",
        exact_usd
        * host.usd_per_gpu_hour
        / ((host.serving_replicas + host.spare_replicas) * host.usd_per_replica_month),
        "USD per GPU-hour",
        "self-hosting is cheaper below it",
        "usd_unit",
    )
    if any(_minimum(apis[place - 1]) for place in offered):
        return  # no line through nothing: the crossings are in the report, and on the sheet of the break-even
    page.live(
        "api_usd_full_replica",
        "API for one replica's full load",
        "api_usd_exact*capacity_rps/peak_rps",
        exact_usd * host.capacity_rps / host.peak_rps,
        "USD/month",
        "in the shape of the scenario's week",
    )
    page.live(
        "gain_usd_full_replica",
        "Gain of a full replica",
        "api_usd_full_replica-usd_per_replica_month",
        found.gain,
        "USD/month",
        "never cheaper where it is not above zero",
    )
    never = '"never"'
    page.live(
        "break_even_step",
        "First step on which self-hosting is cheaper",
        f"IF(gain_usd_full_replica<=0,{never},"
        "ROUNDDOWN(spare_replicas*usd_per_replica_month/gain_usd_full_replica,0)+1)",
        found.step or "never",
        "serving replicas",
        "⌊spares × replica / gain⌋ + 1",
        "whole",
    )
    page.live(
        "break_even_usd_per_month",
        "Both bills there",
        f"IF(gain_usd_full_replica<=0,{never},ROUND((break_even_step+spare_replicas)*usd_per_replica_month,2))",
        found.usd if found.step else "never",
        "USD/month",
        "the fleet's cost on that step",
    )
    page.live(
        "break_even_tokens_per_month",
        "Break-even volume",
        f"IF(gain_usd_full_replica<=0,{never},ROUND(break_even_usd_per_month*total_tokens/api_usd_exact,0))",
        found.tokens if found.step else "never",
        "tokens/month",
        "first volume above which self-hosting is cheaper",
        "whole",
    )
    page.live(
        "break_even_mean_rps",
        "Break-even rate",
        f"IF(gain_usd_full_replica<=0,{never},break_even_usd_per_month*base_mean_rps*load_ratio/api_usd_exact)",
        found.usd * host.mean_rps / exact_usd if found.step else "never",
        "requests/s",
        "mean over the week",
        "number",
    )


@dataclass(frozen=True, slots=True)
class _Found:
    gain: float
    step: int
    usd: float
    tokens: int


def _break_even(host: Hosting, api_usd: float) -> _Found:
    """The first crossing, for readers that do not calculate; step 0: never."""
    replica = host.usd_per_replica_month
    gain = api_usd * host.capacity_rps / host.peak_rps - replica
    if gain <= 0:
        return _Found(gain, 0, 0.0, 0)
    step = math.floor(host.spare_replicas * replica / gain) + 1
    usd = round((step + host.spare_replicas) * replica, 2)
    return _Found(gain, step, usd, round(usd * (host.input_tokens + host.output_tokens) / api_usd))


def stairs_sheet(book: Book, report: Mapping[str, Any], host: Hosting) -> None:
    """The staircase against the lines, all formulas, with its chart."""
    apis = report["api"]
    sheet = book.sheet(STAIRS, "Break-even", "Whole replicas against the API's line; follows sheet Money.")
    heads = ["load_ratio", "mean_rps", "tokens_per_month", "replicas", "fleet_usd_per_month"]
    heads += [f"api_{place}_usd_per_month" for place in range(1, len(apis) + 1)]
    top = 3
    for column, word in enumerate(heads):
        sheet.write_string(top, column, word, book.style("head"))
        sheet.set_column(column, column, 22)
    replica = host.usd_per_replica_month
    for step in range(1, STEPS + 1):
        row, ratio = top + step, BEYOND * step / STEPS
        here = absolute(row, 0)
        replicas = max(1, math.ceil(ratio * host.peak_rps / host.capacity_rps)) + host.spare_replicas
        tokens = ratio * (host.input_tokens + host.output_tokens)
        sheet.write_number(row, 0, ratio, book.style("number"))
        _formula(book, sheet, row, 1, f"{here}*base_mean_rps", ratio * host.mean_rps, "number")
        _formula(book, sheet, row, 2, f"{here}*(base_input_tokens+base_output_tokens)", tokens, "whole")
        count = f"MAX(1,ROUNDUP({here}*base_peak_rps/capacity_rps,0))+spare_replicas"
        _formula(book, sheet, row, 3, count, replicas, "whole")
        _formula(book, sheet, row, 4, f"{absolute(row, 3)}*usd_per_replica_month", replicas * replica, "usd")
        for place, api in enumerate(apis, 1):
            word = f"api_{place}_usage_usd" if _minimum(api) else f"api_{place}_usd_exact"
            line = f"{here}*{word}/load_ratio"
            line = f"MAX(api_{place}_minimum_usd,{line})" if _minimum(api) else line
            _formula(book, sheet, row, 4 + place, line, _exact(api, ratio), "usd")
    sheet.freeze_panes(top + 1, 1)
    chart = book.workbook.add_chart({"type": "scatter", "subtype": "straight"})
    for column in range(4, 5 + len(apis)):
        label = "Self-hosting" if column == 4 else f"{apis[column - 5]['model']} at {apis[column - 5]['provider']}"
        chart.add_series(
            {
                "name": label,
                "categories": [STAIRS, top + 1, 2, top + STEPS, 2],
                "values": [STAIRS, top + 1, column, top + STEPS, column],
            }
        )
    chart.set_title({"name": "Monthly cost by volume"})
    chart.set_x_axis({"name": "tokens per month", "num_format": "0.0E+0"})
    chart.set_y_axis({"name": "USD per month", "num_format": "#,##0"})
    chart.set_size({"width": 900, "height": 420})
    sheet.insert_chart(top, len(heads) + 1, chart)


def _formula(book: Book, sheet: Any, row: int, column: int, formula: str, value: float, kind: str) -> None:
    sheet.write_formula(row, column, f"={formula}", book.style(kind), value)
