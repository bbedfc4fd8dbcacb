"""How sure a plan is, and other ways to run it: what the report has is shown, what it lacks is left out."""

from typing import Any

import pytest

from planner.planning.report.names import likely
from planner.reports import computed
from planner.reports.confidence import confidence
from planner.reports.numbers import chance
from planner.reports.operation import hybrid_chart, operation_table, owned_table
from planner.reports.parts import Table
from planner.reports.sheet import sheet_view
from planner.reports.view import report_view
from tests.planner.reports.example import example, infeasible_example
from tests.planner.reports.test_view import TODAY


def texts(table: Table | None) -> list[list[str]]:
    assert table is not None
    return [[cell.text for cell in row.cells] for row in table.rows]


def test_the_recommended_number_of_replicas_stands_out_among_its_chances() -> None:
    report = example()
    sure = confidence(report)
    assert sure is not None
    assert sure.replicas is not None
    (chosen,) = (row for row in sure.replicas.rows if row.kind == "pick")
    assert chosen.cells[0].text == str(report["recommended"]["serving_replicas"])
    chances = [float(text.rstrip("\N{NO-BREAK SPACE} %")) for _, text, *_ in texts(sure.replicas)]
    assert chances == sorted(chances)
    assert max(chances) < 100


def test_every_uncertain_input_and_every_trial_is_listed() -> None:
    report = example()
    known, sure = report["uncertainty"], confidence(report)
    assert sure is not None
    assert [row[0] for row in texts(sure.drivers)] == [row["label"] for row in known["drivers"]]
    assert [row[0] for row in texts(sure.trials)] == [row["what"] for row in known["trials"]]
    assert [row[0] for row in texts(sure.headlines)] == [row["label"] for row in known["headlines"]]


def test_an_input_that_turns_the_verdict_says_where_and_how_likely() -> None:
    report = example()
    report["uncertainty"]["drivers"][0] |= {"flip_at": 0.5, "flip_probability_ratio": 0.12}
    sure = confidence(report)
    assert sure is not None
    assert sure.drivers is not None
    turn = sure.drivers.rows[0].cells[-2]
    assert (turn.text, turn.note) == ("0.500", "12 % likely")


def test_without_an_api_inputs_have_no_saving() -> None:
    report = example()
    for row in report["uncertainty"]["drivers"]:
        row["saving_p10_usd_per_month"] = row["saving_p90_usd_per_month"] = row["variance_ratio"] = None
    sure = confidence(report)
    assert sure is not None
    assert sure.drivers is not None
    assert not any("Saving" in column.label for column in sure.drivers.columns)
    part = [column.label for column in sure.drivers.columns].index("Part of the spread")
    assert {(row.cells[part].text, row.cells[part].why) for row in sure.drivers.rows} == {
        ("", "no API to compare with")
    }


def test_reports_without_these_parts_leave_them_out() -> None:
    old = {key: value for key, value in example().items() if key not in ("operation", "hybrid", "owned")}
    old["uncertainty"] = {"step_time_p10_ratio": 0.8, "step_time_p90_ratio": 1.3, "basis": "residuals"}
    for report in (old, infeasible_example()):
        view = report_view(report, TODAY)
        assert (view.confidence, view.operation, view.hybrid, view.owned) == (None, None, None, None)


def test_the_cheapest_way_that_keeps_the_targets_is_marked() -> None:
    report = example()
    table = operation_table(report)
    assert table is not None
    (best,) = (row for row in table.rows if row.kind == "pick")
    meeting = [row for row in report["operation"] if row["meets_targets"]]
    assert best.cells[0].text == min(meeting, key=lambda row: row["usd_per_month"])["label"]
    assert all(
        row.kind == "off" for row, way in zip(table.rows, report["operation"], strict=True) if not way["meets_targets"]
    )


def test_the_split_with_an_api_adds_up_in_picture_and_table() -> None:
    report = example()
    chart = hybrid_chart(report)
    assert chart is not None
    points = report["hybrid"]["points"]
    ours, theirs = (
        next(s for s in chart.option["series"] if s["name"] == name)["data"] for name in ("Self-host", "API")
    )
    assert [a + b for a, b in zip(ours, theirs, strict=True)] == [p["usd_per_month"] for p in points]
    assert len(chart.table.rows) == len(points)


def test_owned_gpus_say_what_they_carry() -> None:
    owned = {
        "gpu": "H100-SXM5-80GB",
        "gpus": 8,
        "candidate": "H100-SXM5-80GB/tp2",
        "serving_replicas": 3,
        "spare_replicas": 1,
        "idle_gpus": 0,
        "capacity_rps": 9.7,
        "mean_rps": 4.0,
        "tokens_per_month": 1.4e10,
        "carries": True,
        "sentence": "Fits.",
    }
    nothing: dict[str, Any] = owned | {
        "candidate": None,
        "capacity_rps": None,
        "tokens_per_month": None,
        "carries": False,
    }
    rows = texts(owned_table(example() | {"owned": [owned, nothing]}))
    assert rows[0][2] == "3 + 1"
    assert rows[1][2] == "–"


def test_formulas_with_numbers_come_to_the_figure_that_they_explain() -> None:
    report = example()
    load = report["load"]
    hows = computed.load_hows(report)
    assert hows["how-utilisation"].steps[-1][1].endswith(f"= {load['utilisation_ratio'] * 100:.0f} %")
    assert hows["how-headroom"].steps[-1][1].endswith(f"= {load['headroom_ratio'] * 100:.0f} %")
    chosen = report["recommended"]["candidate"]
    row = next(row for row in report["candidates"] if row["id"] == chosen)
    how = computed.candidate_cost_how(row, report["provenance"]["scenario"]["billing"]["hours_per_month"])
    assert how is not None
    assert how.steps[-1][1] == f"${row['usd_per_month']['mid']:,.0f}"


def test_ids_of_explanations_are_unique() -> None:
    view = report_view(example(), TODAY)
    facts = [*view.layout, *view.load, *view.cost_facts, *view.memory_facts]
    cells = [cell for table in (view.slo, view.candidates) if table for row in table.rows for cell in row.cells]
    found = [item.how.id for item in (*view.figures, *facts, *cells) if item.how is not None]
    assert len(found) > 20
    assert len(set(found)) == len(found)


def test_one_sheet_names_the_year_and_what_is_left_out() -> None:
    report = example()
    sheet = sheet_view(report, TODAY)
    year = next(figure for figure in sheet.figures if figure.label == "Over 12 months")
    assert year.value == f"${abs(report['verdict']['saving_usd_per_month']['mid']) * 12:,.0f}"
    assert sheet.rests_on[-1].label == "Not included"
    assert sheet.changes is not None
    assert len(sheet.changes.rows) <= 4


@pytest.mark.parametrize(
    ("ratio", "said"),
    [
        (1.0, "over 99 %"),
        (0.9963, "over 99 %"),
        (0.994, "99 %"),
        (0.5, "50 %"),
        (0.0049, "under 1 %"),
        (0.0, "under 1 %"),
    ],
)
def test_no_draws_make_a_certainty(ratio: float, said: str) -> None:
    assert chance(ratio).replace("\N{NO-BREAK SPACE}", " ") == said
    assert likely(ratio) == said.replace(" %", "%")
