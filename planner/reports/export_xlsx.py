"""A report as a workbook: money as live formulas, tables with native charts, assumptions and sources."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from planner.reports import tables
from planner.reports.tables import Table
from planner.reports.xlsx_book import Book, rows_table
from planner.reports.xlsx_money import Hosting, hosting_of, money_sheet, stairs_sheet

MEDIA_TYPE = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
TOP = 3
_ASSUMED = ("what", "value", "basis")
_SOURCE = ("what", "value", "source", "as_of", "licence")
_SLO = ("metric", "percentile", "unit", "target", "predicted", "low", "high", "met", "samples")


def report_xlsx(report: Mapping[str, Any]) -> bytes:
    """The workbook of a report; equal reports give equal bytes."""
    book = Book(report["name"])
    host = hosting_of(report) if report["recommended"] else None
    _summary(book, report, host)
    if host is not None:
        money_sheet(book, report, host)
        stairs_sheet(book, report, host)
    else:
        _table(book, "API bills", "The month of each hosted model for the same tokens.", tables.api(report))
    _table(book, "Candidates", "Every fleet tried; targets' columns hold what is predicted.", tables.candidates(report))
    if host is not None:
        _table(book, "Targets", "The recommended fleet in the peak hour.", _targets(report))
        _curves(book, report)
        _week(book, report, host)
        _table(book, "Sensitivity", "What the saving becomes when one assumption changes.", tables.sensitivity(report))
    _memory(book, report)
    provenance = report["provenance"]
    _table(book, "Assumptions", "What was taken for granted.", rows_table(_ASSUMED, provenance["assumptions"]))
    _table(book, "Sources", "Where figures from outside come from.", rows_table(_SOURCE, provenance["sources"]))
    return book.bytes()


def _targets(report: Mapping[str, Any]) -> Table:
    """Every target, with the kind of requests that it is of where there are several."""
    columns = ("traffic_class", *_SLO) if report.get("classes") else _SLO
    return rows_table(columns, report["slo"])


def _table(book: Book, name: str, note: str, table: Table) -> Any:
    sheet = book.sheet(name, name, note)
    book.table(sheet, TOP, table)
    return sheet


def _summary(book: Book, report: Mapping[str, Any], host: Hosting | None) -> None:
    verdict, provenance, fleet = report["verdict"], report["provenance"], report["recommended"]
    sheet = book.sheet("Summary", report["name"], "Text is as simulated; figures in bold follow sheet Money.")
    sheet.set_column(0, 0, 30)
    sheet.set_column(1, 1, 100)
    rows = [("Verdict", verdict["sentence"]), ("In detail", verdict["detail"])]
    if split := verdict.get("hybrid"):
        saving, sure = split["saving_usd_per_month"], split["probability_ratio"]
        rows += [
            ("Split: replicas of our own", f"{split['replicas']}, {split['gpus']} GPUs, without spares"),
            ("Split: requests they serve", f"{split['self_hosted_ratio']:.1%}"),
            ("Split: USD per month", f"{split['usd_per_month']:,.2f}"),
            ("Split: saving, USD per month", f"{saving['mid']:,.2f} ({saving['low']:,.2f} to {saving['high']:,.2f})"),
            ("Split: cheapest with probability", "" if sure is None else f"{sure:.0%}"),
        ]
    if fleet is not None:
        rows.append(("Recommended", f"{fleet['replicas']} × {fleet['candidate']}, {fleet['gpus']} GPUs"))
        rows += [
            (
                f"{row['role'].capitalize()} pool",
                f"{row['serving_replicas']} serving + {row.get('spare_replicas', 0)} spare, {row['gpus']} GPUs",
            )
            for row in fleet.get("pools") or ()
        ]
        if router := fleet.get("router"):
            rows.append(("Router", router["sentence"]))
        rows += [(f"Start with {name}", command) for name, command in fleet["commands"].items()]
    rows += [
        ("Prices of", provenance["priced_at"]),
        ("Coverage by measurements", provenance["coverage"]["sentence"]),
        ("Scenario digest", provenance["scenario_digest"]),
        ("Versions", f"engine {provenance['engine_version']}, catalog {provenance['catalog_version']}"),
        ("Seed", str(provenance["seed"])),
    ]
    for place, (label, text) in enumerate(rows, TOP):
        sheet.write_string(place, 0, label, book.style(bold=True))
        sheet.write_string(place, 1, text, book.style("wrap"))
    if host is not None:
        _key_figures(book, sheet, TOP + len(rows) + 1, report, host)


def _key_figures(book: Book, sheet: Any, top: int, report: Mapping[str, Any], host: Hosting) -> None:
    figures = [("Fleet, USD per month", "fleet_usd_per_month", host.usd_per_month)]
    offered = [api["usd_per_month"] for api in report["api"] if api["available"]]
    if offered:
        figures.append(("Cheapest API, USD per month", "api_usd_per_month", min(offered)))
        figures.append(
            ("Saving by self-hosting, USD per month", "saving_usd_per_month", min(offered) - host.usd_per_month)
        )
    for place, (label, word, value) in enumerate(figures, top):
        sheet.write_string(place, 0, label)
        sheet.write_formula(place, 1, f"={word}", book.style("usd", bold=True), value)


def _curves(book: Book, report: Mapping[str, Any]) -> None:
    table = tables.curves(report)
    sheet = _table(book, "Curves", "The recommended fleet at rising load.", table)
    for place, (metric, column) in enumerate((("TTFT", 3), ("TPOT", 5))):
        chart = book.workbook.add_chart({"type": "scatter", "subtype": "straight_with_markers"})
        for offset, percentile in ((-1, "p50"), (0, "p95")):
            chart.add_series(
                {
                    "name": f"{metric} {percentile}",
                    "categories": ["Curves", TOP + 1, 0, TOP + len(table.rows), 0],
                    "values": ["Curves", TOP + 1, column + offset, TOP + len(table.rows), column + offset],
                }
            )
        chart.set_title({"name": f"{metric} by load"})
        chart.set_x_axis({"name": "requests/s"})
        chart.set_y_axis({"name": "ms"})
        sheet.insert_chart(TOP + len(table.rows) + 2, 8 * place, chart)


def _week(book: Book, report: Mapping[str, Any], host: Hosting) -> None:
    """Rates and replicas follow the volume and the capacity of sheet Money."""
    rows = report["load"]["week"]
    sheet = book.sheet("Week", "Load over the week", "Hours from Monday 0:00; follows the entries of sheet Money.")
    for column, word in enumerate(("hour", "base_rps", "rps", "replicas_needed")):
        sheet.write_string(TOP, column, word, book.style("head"))
        sheet.set_column(column, column, 16)
    for place, row in enumerate(rows, TOP + 1):
        sheet.write_number(place, 0, row["hour"])
        sheet.write_number(place, 1, row["rps"])
        sheet.write_formula(place, 2, f"=B{place + 1}*load_ratio", book.style("number"), row["rps"])
        sheet.write_formula(
            place, 3, f"=ROUNDUP(C{place + 1}/capacity_rps,0)", book.style("whole"), row["replicas_needed"]
        )
    sheet.freeze_panes(TOP + 1, 1)
    chart = book.workbook.add_chart({"type": "line"})
    last = TOP + len(rows)
    chart.add_series(
        {"name": "requests/s", "categories": ["Week", TOP + 1, 0, last, 0], "values": ["Week", TOP + 1, 2, last, 2]}
    )
    chart.add_series({"name": "replicas needed", "values": ["Week", TOP + 1, 3, last, 3], "y2_axis": True})
    chart.set_title({"name": "Load and replicas over the week"})
    chart.set_x_axis({"name": "hour from Monday 0:00", "interval_unit": 24})
    chart.set_y_axis({"name": "requests/s"})
    chart.set_y2_axis({"name": "replicas"})
    chart.set_size({"width": 900, "height": 380})
    sheet.insert_chart(TOP, 5, chart)


def _memory(book: Book, report: Mapping[str, Any]) -> None:
    table = tables.memory(report)
    if not table.rows:
        return
    sheet = _table(book, "Memory", "The subtraction of one GPU, GiB; the lines add up to the last one.", table)
    last = TOP + len(table.rows)
    sheet.write_string(last + 1, 0, "check: sum of the lines above the last, less it", book.style(bold=True))
    total = sum(row["gib"] for row in table.rows[:-1]) - table.rows[-1]["gib"]
    sheet.write_formula(
        last + 1, 1, f"=ROUND(SUM(B{TOP + 2}:B{last})-B{last + 1},3)", book.style("number"), round(total, 3)
    )
    chart = book.workbook.add_chart({"type": "bar"})
    chart.add_series(
        {"name": "GiB", "categories": ["Memory", TOP + 1, 0, last, 0], "values": ["Memory", TOP + 1, 1, last, 1]}
    )
    chart.set_title({"name": "Memory of one GPU"})
    chart.set_y_axis({"reverse": True})
    chart.set_legend({"none": True})
    sheet.insert_chart(last + 3, 0, chart)
