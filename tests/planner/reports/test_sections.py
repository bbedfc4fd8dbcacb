"""The order and the findings of a report's sections."""

from datetime import date

from planner.reports.sections import groups_of
from planner.reports.view import report_view
from tests.planner.reports.example import SECTIONS, example, infeasible_example

TODAY = date(2026, 11, 30)


def test_the_money_stands_before_the_fleet_and_what_it_rests_on() -> None:
    groups = groups_of(report_view(example(), TODAY), sliders=True)
    assert [group.title for group in groups] == ["The money", "The fleet", "What it rests on"]
    sections = [section for group in groups for section in group.sections]
    assert {section.title for section in sections} == {*SECTIONS, "What if"}
    assert all(section.finding for section in sections if section.folds)
    assert [section.id for section in sections if not section.folds] == ["cost"]
    assert [section.id for section in sections if not section.paper] == ["what-if"]


def test_without_a_fleet_the_causes_come_first() -> None:
    groups = groups_of(report_view(infeasible_example(), TODAY))
    assert groups[0].sections[0].id == "causes"
    assert "fleet" not in {section.id for group in groups for section in group.sections}
