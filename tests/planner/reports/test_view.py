from datetime import date
from typing import Any

import pytest

from planner.reports import names
from planner.reports.computed import blended_how
from planner.reports.evidence import old_prices
from planner.reports.export_xlsx import report_xlsx
from planner.reports.numbers import tokens
from planner.reports.parts import Table
from planner.reports.sheet import sheet_view
from planner.reports.view import report_view, summary
from tests.planner.reports.example import example, infeasible_example

TODAY = date(2026, 11, 30)


def texts(table: Table | None) -> str:
    assert table is not None
    return "\n".join(" | ".join(f"{cell.text} {cell.note}" for cell in row.cells) for row in table.rows)


def test_the_verdict_keeps_every_word_of_its_sentence() -> None:
    for report in (example(), infeasible_example()):
        verdict = report_view(report, TODAY).verdict
        assert "".join(text for text, _ in verdict.pieces) == report["verdict"]["sentence"]
        assert any(strong for _, strong in verdict.pieces)


def test_key_figures_state_fleet_cost_bill_and_difference() -> None:
    report = example()
    figures = {figure.label: figure for figure in report_view(report, TODAY).figures}
    assert figures["Smallest fleet"].value.startswith(f"{report['recommended']['gpus']} × ")
    assert figures["Self-host"].value == f"${report['cost']['usd_per_month']['mid']:,.0f}"
    assert figures["Self-host"].mark is not None
    bill = next(api for api in report["api"] if api["provider"] == report["verdict"]["against"]["provider"])
    assert figures["Groq, same tokens"].value == f"${bill['usd_per_month']:,.0f}"
    assert "Self-hosting costs more by" in figures


def test_figures_that_are_compared_share_an_axis() -> None:
    figures = {figure.label: figure for figure in report_view(example(), TODAY).figures}
    ours, theirs = figures["Self-host"].mark, figures["Groq, same tokens"].mark
    assert ours is not None
    assert theirs is not None
    assert theirs.mid < ours.mid


def test_numbers_say_how_they_were_computed() -> None:
    for figure in report_view(example(), TODAY).figures[:3]:
        assert figure.how is not None
        assert figure.how.steps[-1][1].endswith((figure.value, figure.value.split(" ")[0]))


def test_a_target_that_is_met_says_so_and_whether_its_interval_reaches_past_it() -> None:
    table = report_view(example(), TODAY).slo
    assert table is not None
    for row, source in zip(table.rows, example()["slo"], strict=True):
        result = row.cells[-1]
        assert result.text == ("meets" if source["met"] else "misses")
        assert result.state == ("yes" if source["met"] else "no")
        if source["low"] < source["target"] < source["high"]:
            assert "reaches past" in result.note


def test_the_recommended_candidate_stands_first_and_the_ruled_out_have_reasons() -> None:
    report = example()
    table = report_view(report, TODAY).candidates
    assert len(table.rows) == len(report["candidates"])
    assert table.rows[0].kind == "pick"
    for row in table.rows:
        if row.kind == "off":
            assert row.cells[-1].note
            assert sum(cell.span for cell in row.cells) == len(table.columns)


def test_number_formats_stand_side_by_side_and_what_was_not_simulated_says_so() -> None:
    report = example()
    chosen = next(row for row in report["candidates"] if row["id"] == report["recommended"]["candidate"])
    other = next(row for row in report["candidates"] if row["feasible"] and row is not chosen)
    chosen |= {"precision": "FP8 weights, BF16 cache", "simulated": True}
    other |= {"precision": "BF16 weights, BF16 cache", "simulated": False}
    sides = ("precision", "gpu", "tp", "pp", "ep", "dp", "feasible", "simulated", "reason", "gpus", "usd_per_month")
    report["precisions"] = [
        {"candidate": row["id"], **{name: row.get(name) for name in sides}, "weights_gib": 67.7,
         "kv_tokens": row["kv_tokens"], "chosen": row is chosen}
        for row in (chosen, other)
    ]  # fmt: skip
    view = report_view(report, TODAY)
    assert view.precisions is not None
    assert [row.kind for row in view.precisions.rows] == ["pick", ""]
    assert "FP8 weights, BF16 cache · " in texts(view.candidates)
    assert "Meets, by the closed form Not simulated: it costs more." in texts(view.candidates)
    assert "1 of them by the closed form alone" in view.candidates_sentence
    assert report_view(example(), TODAY).precisions is None


def test_without_a_fleet_the_page_says_why_and_what_would_help() -> None:
    view = report_view(infeasible_example(), TODAY)
    assert not view.feasible
    assert view.verdict.css == "none"
    assert view.causes
    assert all(cause for _, cause, _ in view.causes)
    assert any(change for _, _, change in view.causes)
    assert view.slo is None
    assert view.break_even is None
    assert view.tornado is None
    assert view.cost is not None


def test_without_an_api_there_is_nothing_to_compare_with() -> None:
    report = example()
    report["api"] = []
    report["break_even"]["against"] = []
    for point in report["break_even"]["curve"]:
        point["api_usd_per_month"] = []
    report["verdict"] |= {"choice": "self_host_only", "against": None, "saving_usd_per_month": None}
    report["sensitivity"] = []
    view = report_view(report, TODAY)
    assert not view.has_api
    assert [figure.label for figure in view.figures] == ["Smallest fleet", "Self-host"]
    assert view.crossings is None
    assert view.break_even is not None


def test_a_hosted_model_without_a_price_is_a_dash_with_its_reason() -> None:
    report = example()
    report["api"][0] |= {"usd_per_month": None, "lines": [], "available": False}
    table = report_view(report, TODAY).cost
    assert table is not None
    row = next(row for row in table.rows if row.cells[0].text == "Amazon Bedrock")
    assert row.cells[2].missing
    assert row.cells[2].why


def test_percentiles_from_too_few_samples_are_dashes() -> None:
    report = example()
    report["slo"][0] |= {"predicted": None, "low": None, "high": None, "met": None}
    table = report_view(report, TODAY).slo
    assert table is not None
    cells = table.rows[0].cells
    assert cells[2].missing
    assert cells[2].why
    assert cells[-1].text == "unknown"


def test_unstable_loads_have_no_percentiles() -> None:
    report = example()
    report["curves"][-1] |= {"stable": False, "ttft_p95_ms": None, "ttft_p50_ms": None}
    chart = report_view(report, TODAY).latency[0]
    assert chart.table.rows[-1].cells[0].note == "unstable"
    assert len(chart.option["series"][0]["data"]) == len(report["curves"]) - 1


def test_sources_carry_date_and_age_and_listings_stand_apart() -> None:
    view = report_view(example(), TODAY)
    assert "1,110" in texts(view.sources)
    assert view.listings is not None
    assert len(view.listings.rows) > 10


@pytest.mark.parametrize(("as_of", "days"), [("2026-08-26", 96), ("2026-09-15", None)])
def test_prices_older_than_ninety_days_raise_a_banner(as_of: str, days: int | None) -> None:
    report: dict[str, Any] = {"provenance": {"sources": [{"what": "H100, price", "value": "", "as_of": as_of}]}}
    assert old_prices(report, TODAY) == ((("H100, price", days),) if days else ())


def test_a_list_shows_choice_fleet_cost_and_difference() -> None:
    said = summary(example())
    assert (said.label, said.state, said.against) == ("API", "dash", "Groq")
    assert said.fleet == f"{example()['recommended']['gpus']} × H200"
    assert said.difference_usd_per_month is not None
    assert said.difference_usd_per_month > 0
    assert summary(infeasible_example()).label == "None meets"


def test_a_layout_is_named_as_the_plan_names_it() -> None:
    """Ranks of attention data parallelism are part of it: DP8 EP8 is another server than EP8 alone."""
    assert names.layout({"tp": 1, "pp": 1, "dp": 8, "ep": 8}) == "TP1 DP8 EP8"
    assert names.layout({"tp": 4, "pp": 2, "dp": 1, "ep": 1}) == "TP4 PP2"


def test_a_split_that_is_the_verdict_is_on_the_page_the_sheet_and_in_the_workbook() -> None:
    report = example()
    report["verdict"] = report["verdict"] | {
        "choice": "hybrid",
        "hybrid": {
            "replicas": 3, "gpus": 6, "self_hosted_ratio": 0.9, "usd_per_month": 9000.0,
            "saving_usd_per_month": {"low": 100.0, "mid": 400.0, "high": 900.0}, "saves_against": "api",
            "probability_ratio": 0.8, "cheapest_gpu_usd_per_hour": {"low": 1.5, "high": 4.0},
        },
    }  # fmt: skip
    view = report_view(report, TODAY)
    figure = next(figure for figure in view.figures if figure.label == "Split of both")
    assert figure.value == "$9,000"
    assert "less than the API alone" in figure.note
    assert "80 %" in figure.note
    assert view.cost_chart is not None
    assert "the split $9,000" in view.cost_chart.title
    assert summary(report).label == "Split"
    facts = {fact.label: fact.note for fact in sheet_view(report, TODAY).rests_on}
    assert facts["GPU price"].startswith("the split is cheapest ")
    assert report_xlsx(report)


def test_tokens_of_the_month_follow_from_the_rate_and_the_lengths_as_drawn() -> None:
    report = example()
    how = blended_how(report)
    assert how is not None
    load, used = report["load"], report["cost"]["monthly_tokens"]
    steps = dict(how.steps)
    assert "1,154.70 in, 211.126 out" in steps.values()
    month = load["mean_rps"] * 3600 * 730
    assert month * (load["prompt_tokens_mean"] + load["output_tokens_mean"]) == pytest.approx(used["total"], rel=1e-5)
    assert steps["Requests × mean lengths"] == f"{tokens(used['input'])} in, {tokens(used['output'])} out"
