import json
import re
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.reports.chart_parts import LABEL_PX, USUAL_PLOT_PX, end_label, nice_axis, spread_end_labels
from planner.reports.view import report_view
from tests.planner.reports.example import example, infeasible_example

TODAY = date(2026, 11, 30)
ROLES = {"ink", "ink-2", "ink-3", "accent", "warn", "bg", "font-ui"}
FORMATS = {"usd0", "usd2", "usdk", "dusd0", "dusdk", "ms0", "ms1", "rps", "gib", "day"}


def strings(node: Any) -> list[str]:
    if isinstance(node, str):
        return [node]
    children = node.values() if isinstance(node, dict) else node if isinstance(node, list) else ()
    return [text for child in children for text in strings(child)]


@pytest.mark.parametrize("report", [example(), infeasible_example()], ids=["feasible", "infeasible"])
def test_options_are_plain_json_with_named_roles_and_formats_only(report: dict[str, Any]) -> None:
    for chart in report_view(report, TODAY).charts:
        assert json.loads(json.dumps(chart.option)) == chart.option
        for text in strings(chart.option):
            assert not re.search(r"#[0-9a-fA-F]{3,8}$|rgb\(|function", text)
            if text.startswith("@fmt."):
                assert text[5:] in FORMATS
            elif text.startswith("@"):
                assert text[1:] in ROLES or text[1:].startswith("c-")


def test_every_chart_has_its_data_as_a_table() -> None:
    for chart in report_view(example(), TODAY).charts:
        assert chart.table.rows
        assert chart.title


def test_cost_bars_add_up_to_their_totals() -> None:
    chart = report_view(example(), TODAY).cost_chart
    assert chart is not None
    for row in chart.table.rows:
        parts = [float(cell.text.replace(",", "")) for cell in row.cells[1:-1] if not cell.missing]
        assert sum(parts) == pytest.approx(float(row.cells[-1].text.replace(",", "")), abs=len(parts))


def test_memory_slices_fill_the_gpu() -> None:
    report = example()
    chart = report_view(report, TODAY).memory_chart
    assert chart is not None
    drawn = sum(series["data"][0] for series in chart.option["series"])
    assert drawn == pytest.approx(report["memory"]["lines"][0]["gib"], abs=0.02)


def test_the_staircase_never_falls() -> None:
    chart = report_view(example(), TODAY).break_even
    assert chart is not None
    costs = [y for _, y in chart.option["series"][0]["data"]]
    assert costs == sorted(costs)


def test_the_span_where_self_hosting_is_cheaper_lies_between_the_crossings() -> None:
    report = example()
    top = report["break_even"]["curve"][-1]["mean_rps"]
    against = report["break_even"]["against"][1]
    against |= {"never": False, "crossings": []}
    against["crossings"] = [
        {"mean_rps": 2.0, "tokens_per_month": 7e9, "cheaper_above": "self_host"},
        {"mean_rps": 3.0, "tokens_per_month": 1e10, "cheaper_above": "api"},
        {"mean_rps": 4.0, "tokens_per_month": 14e9, "cheaper_above": "self_host"},
    ]
    chart = report_view(report, TODAY).break_even
    assert chart is not None
    areas = chart.option["series"][0]["markArea"]["data"]
    assert [(a["xAxis"], b["xAxis"]) for a, b in areas] == [(2.0, 3.0), (4.0, top)]
    assert len(chart.option["series"][0]["markPoint"]["data"]) == 3


@given(st.floats(min_value=1e-6, max_value=1e9), st.floats(min_value=0, max_value=1e9))
def test_axes_hold_their_values_in_a_handful_of_steps(largest: float, below: float) -> None:
    axis = nice_axis(largest, smallest=-below)
    hair = axis["interval"] * 1e-6
    assert axis["max"] >= largest - hair
    assert axis["min"] <= -below + hair
    assert (axis["max"] - axis["min"]) / axis["interval"] < 12


@given(st.lists(st.floats(0, 100), min_size=1, max_size=6))
def test_labels_of_lines_that_end_together_do_not_cover_one_another(ends: list[float]) -> None:
    series = [{"data": [[0, 0], [1, end]], "endLabel": end_label("x", "@ink", 400)} for end in ends]
    spread_end_labels(series, 100.0)
    places = sorted(s["data"][-1][1] / 100 * USUAL_PLOT_PX - s["endLabel"]["offset"][1] for s in series)
    assert all(b - a >= LABEL_PX - 0.2 for a, b in pairwise(places))
