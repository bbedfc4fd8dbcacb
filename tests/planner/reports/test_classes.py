"""Kinds of requests in a report: their table on the page, in the workbook and beside another plan."""

import io
from typing import Any

from openpyxl import load_workbook

from planner.reports.classes import class_table
from planner.reports.comparison import results
from planner.reports.export_xlsx import report_xlsx
from tests.planner.reports.example import example


def classed() -> dict[str, Any]:
    """The sample's report as if its targets were those of chats, and summaries had none."""
    report = example()
    bills = [{"provider": bill["provider"], "model": bill["model"], "usd_per_month": 12.5} for bill in report["api"]]
    own = {
        "name": "chat", "share_ratio": 0.75, "priority": 0, "requests_per_month": 3_000_000, "peak_rps": 9.0,
        "prompt_tokens_mean": 1155.0, "output_tokens_mean": 211.0, "prefix_tokens": 0, "goodput_ratio": 0.98,
        "goodput_rps": 8.82, "binding": True, "api": bills,
    }  # fmt: skip
    report["classes"] = [own, own | {"name": "summaries", "share_ratio": 0.25, "goodput_ratio": None, "binding": False}]
    report["slo"] = [row | {"traffic_class": "chat"} for row in report["slo"]]
    return report


def test_the_page_has_a_row_for_each_target_of_each_kind() -> None:
    report = classed()
    table = class_table(report)
    assert table is not None
    targets = len(report["slo"])
    assert [row.cells[0].text for row in table.rows] == ["chat"] * targets + ["summaries"]
    assert table.rows[0].cells[5].note.endswith(" req/s")
    assert [cell.text for cell in table.rows[0].cells[5:]] == ["98.0 %", "12.50"]
    assert table.rows[-1].cells[2].text == "those of all requests"
    assert class_table(example()) is None


def test_a_comparison_puts_targets_of_a_kind_beside_those_of_the_same_kind() -> None:
    rows = {row.name: row for row in results([classed(), example()])}
    assert rows["ttft_p95_ms:chat"].label == "TTFT p95, chat"
    assert [value is None for value in rows["ttft_p95_ms:chat"].values] == [False, True]
    assert [value is None for value in rows["ttft_p95_ms"].values] == [True, False]


def test_the_workbook_says_of_which_kind_a_target_is() -> None:
    sheet = load_workbook(io.BytesIO(report_xlsx(classed())))["Targets"]
    assert "chat" in {cell.value for row in sheet.iter_rows() for cell in row}
