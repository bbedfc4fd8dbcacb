"""The workbook of a report: live money, recalculated by LibreOffice and held to the engine."""

import io
from fractions import Fraction
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from costmodel import break_even, replicas_for_peak, self_host_cost, staircase
from planner.reports.export_xlsx import report_xlsx
from planner.reports.tables import Table
from planner.reports.xlsx_book import workbook_of_table
from planner.reports.xlsx_money import Hosting, hosting_of
from tests.libreoffice import recalculated
from tests.planner.reports.example import example, infeasible_example

CHANGES: dict[str, dict[str, float]] = {
    "as it is": {},
    "cheap GPUs": {"usd_per_gpu_hour": 0.93},
    "dear GPUs": {"usd_per_gpu_hour": 11.37},
    "twice the load": {"load_ratio": 2},
    "a trickle": {"load_ratio": 0.01, "usd_per_gpu_hour": 0.5},
    "no spare, cheap": {"spare_replicas": 0, "usd_per_gpu_hour": 1.21},
    "two spares, 720 h, dear API": {"spare_replicas": 2, "hours_per_month": 720, "api_2_line_1_usd_per_mtok": 1.73,
                                    "api_1_line_1_usd_per_mtok": 2.5},
}  # fmt: skip


def cells_of(workbook: Any) -> dict[str, Any]:
    """Values by the names of their cells."""
    found = {}
    for name, defined in workbook.defined_names.items():
        ((sheet, place),) = defined.destinations
        found[name] = workbook[sheet][place.replace("$", "")].value
    return found


@pytest.fixture(scope="module")
def books(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The example's workbook with some entries changed, each calculated anew."""
    before, after = (tmp_path_factory.mktemp(name) for name in ("changed", "calculated"))
    paths = []
    for place, entries in enumerate(CHANGES.values()):
        workbook = openpyxl.load_workbook(io.BytesIO(report_xlsx(example())))
        for name, value in entries.items():
            ((sheet, cell),) = workbook.defined_names[name].destinations
            workbook[sheet][cell.replace("$", "")].value = value
        path = Path(before) / f"{place}.xlsx"
        workbook.save(path)
        paths.append(path)
    done = recalculated(paths, Path(after))
    return {name: openpyxl.load_workbook(path, data_only=True) for name, path in zip(CHANGES, done, strict=True)}


def test_calculated_anew_it_says_what_the_report_says(books: dict[str, Any]) -> None:
    report, cells = example(), cells_of(books["as it is"])
    assert cells["fleet_usd_per_month"] == report["cost"]["usd_per_month"]["mid"]
    assert cells["replicas"] == report["recommended"]["replicas"]
    assert cells["saving_usd_per_month"] == pytest.approx(report["verdict"]["saving_usd_per_month"]["mid"], abs=0.005)
    assert cells["flip_usd_per_gpu_hour"] == pytest.approx(report["verdict"]["flip_gpu_usd_per_hour"], abs=5e-5)
    for word, key in (("", "blended"), ("_input", "input"), ("_output", "output")):
        assert cells[f"fleet_usd_per_mtok{word}"] == pytest.approx(report["cost"]["usd_per_mtok"][key], abs=5e-5)
    for place, api in enumerate(report["api"], 1):
        assert cells[f"api_{place}_usd_per_month"] == api["usd_per_month"]
    assert cells["break_even_tokens_per_month"] == "never"


def test_a_monthly_minimum_is_the_larger_of_both_and_turns_the_line_level() -> None:
    report = example()
    (api, *_) = report["api"]
    missing = {"label": "Up to the monthly minimum", "tokens": 0, "usd_per_mtok": 0, "usd_per_month": 1000.0}
    agreed = api | {"minimum_usd_per_month": api["usd_per_month"] + 1000, "lines": [*api["lines"], missing],
                    "usd_per_month": api["usd_per_month"] + 1000}  # fmt: skip
    data = report_xlsx(report | {"api": [agreed]})
    cells = cells_of(openpyxl.load_workbook(io.BytesIO(data), data_only=True))
    assert cells["api_1_usd_per_month"] == cells["api_1_minimum_usd"] == agreed["usd_per_month"]
    assert cells["api_1_usage_usd"] == pytest.approx(api["usd_per_month"], abs=0.005)
    formulas = cells_of(openpyxl.load_workbook(io.BytesIO(data)))
    assert formulas["api_1_usd_exact"] == "=MAX(api_1_minimum_usd,api_1_usage_usd)"
    assert "break_even_step" not in formulas


def test_prices_to_change_are_the_list_prices_and_mean_prices_only_where_those_miss_the_bill() -> None:
    report = example()
    (api, *_) = report["api"]
    lines = [{"label": "Input", "tokens": 3_153_456_774, "usd_per_mtok": 0.05, "usd_per_month": 157.68},
             {"label": "Output", "tokens": 1_051_159_792, "usd_per_mtok": 0.08, "usd_per_month": 84.09}]  # fmt: skip
    dealt = api | {"lines": lines, "usd_per_month": 241.77}
    finer = api | {"lines": [lines[0] | {"usd_per_mtok": 0.0312, "usd_per_month": 98.55}], "usd_per_month": 98.55}
    cells = cells_of(openpyxl.load_workbook(io.BytesIO(report_xlsx(report | {"api": [dealt, finer]})), data_only=True))
    assert (cells["api_1_line_1_usd_per_mtok"], cells["api_1_line_2_usd_per_mtok"]) == (0.05, 0.08)
    assert cells["api_1_usd_exact"] == pytest.approx(241.76562206)
    assert cells["api_2_line_1_usd_per_mtok"] == pytest.approx(0.03125, abs=1e-5)


def test_the_values_stored_are_those_that_a_reader_calculates(books: dict[str, Any]) -> None:
    """Readers that do not calculate show the same numbers, on every sheet."""
    stored = openpyxl.load_workbook(io.BytesIO(report_xlsx(example())), data_only=True)
    compared = 0
    for sheet in stored:
        for row in sheet.iter_rows():
            for cell in row:
                if isinstance(cell.value, int | float):
                    compared += 1
                    assert books["as it is"][sheet.title][cell.coordinate].value == pytest.approx(cell.value, rel=1e-9)
    assert compared > 700


@pytest.mark.parametrize("name", CHANGES)
def test_every_change_gives_the_engines_value_to_the_cent(books: dict[str, Any], name: str) -> None:
    cells, host, entries = cells_of(books[name]), hosting_of(example()), CHANGES[name]
    ratio, spares = Fraction(str(entries.get("load_ratio", 1))), int(entries.get("spare_replicas", host.spare_replicas))
    price, hours = entries.get("usd_per_gpu_hour", host.usd_per_gpu_hour), entries.get("hours_per_month", 730)
    serving = replicas_for_peak(Fraction(host.peak_rps) * ratio, host.capacity_rps)
    fleet = self_host_cost(usd_per_gpu_hour=price, gpus_per_replica=host.gpus_per_replica, serving_replicas=serving,
                           spare_replicas=spares, hours_per_month=hours)  # fmt: skip
    assert cells["serving_replicas"] == serving
    assert cells["fleet_usd_per_month"] == pytest.approx(float(fleet.usd_per_month), abs=0.001)
    apis = []
    for place, api in enumerate(example()["api"], 1):
        rates = [Fraction(str(cells[f"api_{place}_line_{n}_usd_per_mtok"])) for n in range(1, len(api["lines"]) + 1)]
        lines = zip(rates, api["lines"], strict=True)
        apis.append(sum((rate * line["tokens"] for rate, line in lines), Fraction(0)) / 10**6 * ratio)
        assert cells[f"api_{place}_usd_per_month"] == pytest.approx(float(apis[-1]), abs=0.0051)
    assert_break_even(cells, host, min(apis), ratio, spares=spares, price=price, hours=hours)


def assert_break_even(
    cells: dict[str, Any], host: Hosting, api_usd: Fraction, ratio: Fraction, *, spares: int, price: float, hours: float
) -> None:
    """The first crossing of the engine's own staircase, at the cheapest API's mean cost of a token."""
    tokens = (host.input_tokens + host.output_tokens) * ratio
    seconds = Fraction(str(hours)) * 3600
    per_request = tokens / (Fraction(host.mean_rps) * ratio * seconds)
    stairs = staircase(
        capacity_rps=host.capacity_rps,
        usd_per_replica_hour=Fraction(str(price)) * host.gpus_per_replica,
        tokens_per_request=per_request,
        peak_to_mean_ratio=Fraction(host.peak_rps) / Fraction(host.mean_rps),
        spare_replicas=spares,
        hours_per_month=hours,
    )
    found = break_even(stairs, api_usd / tokens * per_request)
    if found.never:
        assert cells["break_even_usd_per_month"] == cells["break_even_tokens_per_month"] == "never"
        return
    first = found.crossings[0]
    assert cells["break_even_usd_per_month"] == pytest.approx(float(stairs.usd_per_month(first.mean_rps)), abs=0.005)
    assert cells["break_even_tokens_per_month"] == pytest.approx(float(first.tokens_per_month), rel=2e-6)
    assert cells["break_even_mean_rps"] == pytest.approx(float(first.mean_rps), rel=2e-6)


def test_the_staircase_and_the_week_follow_the_entries(books: dict[str, Any]) -> None:
    plain, twice, cheap = (books[name] for name in ("as it is", "twice the load", "cheap GPUs"))
    host = hosting_of(example())
    for row in range(5, 65):
        load = plain["Break-even"].cell(row, 1).value
        needed = max(1, replicas_for_peak(load * host.peak_rps, host.capacity_rps)) + host.spare_replicas
        assert plain["Break-even"].cell(row, 4).value == pytest.approx(needed, abs=1)
        ratio = cheap["Break-even"].cell(row, 5).value / plain["Break-even"].cell(row, 5).value
        assert ratio == pytest.approx(0.93 / host.usd_per_gpu_hour)
        assert plain["Break-even"].cell(row, 6).value == pytest.approx(twice["Break-even"].cell(row, 6).value)
    for row in range(5, 173):
        assert twice["Week"].cell(row, 3).value == pytest.approx(2 * plain["Week"].cell(row, 3).value)
    needed = [plain["Week"].cell(row, 4).value for row in range(5, 173)]
    assert needed == [hour["replicas_needed"] for hour in example()["load"]["week"]]


def test_nothing_calculates_to_an_error(books: dict[str, Any]) -> None:
    for workbook in books.values():
        for sheet in workbook:
            assert not [c.value for row in sheet.iter_rows() for c in row if str(c.value).startswith(("#", "Err:"))]


@pytest.mark.parametrize("report", [example(), infeasible_example()], ids=["fleet", "none"])
def test_equal_reports_give_equal_bytes(report: dict[str, Any]) -> None:
    assert report_xlsx(report) == report_xlsx(report)


def test_a_report_without_a_fleet_has_its_reasons() -> None:
    workbook = openpyxl.load_workbook(io.BytesIO(report_xlsx(infeasible_example())))
    assert {"Summary", "Candidates", "API bills", "Assumptions", "Sources"} <= set(workbook.sheetnames)
    assert "Money" not in workbook.sheetnames


def test_the_charts_are_native() -> None:
    workbook = openpyxl.load_workbook(io.BytesIO(report_xlsx(example())))
    with_charts = {sheet.title for sheet in workbook if sheet._charts}
    assert with_charts == {"Break-even", "Curves", "Week", "Memory"}


def test_no_text_of_a_report_becomes_a_formula() -> None:
    report = example()
    report["name"] = "=1+1"
    report["verdict"]["sentence"] = "=HYPERLINK(0)"
    report["candidates"][0]["binding"] = "@x"
    report["api"][0]["model"] = "+1"
    workbook = openpyxl.load_workbook(io.BytesIO(report_xlsx(report)))
    texts = {cell.value: cell.data_type for sheet in workbook for row in sheet.iter_rows() for cell in row}
    assert texts["=1+1"] == texts["=HYPERLINK(0)"] == texts["@x"] == "s"


def test_a_table_is_a_workbook_too() -> None:
    content = workbook_of_table("runs", Table(("a", "b"), [{"a": "=1", "b": 2.5}, {"a": None, "b": True}]))
    sheet = openpyxl.load_workbook(io.BytesIO(content)).active
    assert [[cell.value for cell in row] for row in sheet.iter_rows()] == [["a", "b"], ["=1", 2.5], [None, True]]
    assert sheet["A2"].data_type == "s"
