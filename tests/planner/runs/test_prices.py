"""Runs on the prices of another day, and what says that prices have moved."""

from datetime import date

import pytest

from planner import planning
from planner.runs.services import version_run
from planner.scenarios.services import scenario_edit
from planner.teams.models import User
from tests.factories import make_scenario, parsed_scenario
from tests.planner.reports.example import example


def test_a_run_as_it_stands_has_the_versions_prices(user: User) -> None:
    version = make_scenario(user)
    run = version_run(version=version, user=user)
    assert (run.body, run.priced_at) == (version.body, date(2026, 11, 30))
    assert run.result_version == planning.result_version()
    assert not run.repriced
    assert version_run(version=version, user=user) == run


def test_a_run_on_other_prices_leaves_the_version_alone(user: User) -> None:
    version = make_scenario(user)
    run = version_run(version=version, user=user, priced_at=date(2026, 12, 24))
    assert run.scenario_version == version
    assert planning.parse_scenario(run.body).priced_at == date(2026, 12, 24)
    assert run.repriced
    version.refresh_from_db()
    assert planning.parse_scenario(version.body) == parsed_scenario()
    assert version_run(version=version, user=user) != run


def test_an_old_version_runs_as_it_was(user: User) -> None:
    first = make_scenario(user)
    scenario_edit(scenario=first.scenario, user=user, parsed=parsed_scenario(seed=5), base_number=1)
    assert version_run(version=first, user=user).body == first.body


def test_prices_of_the_same_day_have_not_moved() -> None:
    assert planning.price_moves(example(), date(2026, 11, 30)) == []


def test_a_price_that_moved_is_told_with_both_values() -> None:
    report = example()
    for row in report["candidates"]:
        if row["gpu"] == "H100-SXM5-80GB":
            row["usd_per_gpu_hour"] /= 1.2
    (move,) = planning.price_moves(report, date(2026, 11, 30))
    assert (move["kind"], move["id"]) == ("gpu", "H100-SXM5-80GB")
    assert move["change_ratio"] == pytest.approx(0.2, rel=1e-3)
    assert move["now_usd"] == pytest.approx(1.2 * move["then_usd"])


def test_the_recommended_gpu_comes_first() -> None:
    report = example()
    for row in report["candidates"]:
        row["usd_per_gpu_hour"] *= 2
    moves = planning.price_moves(report, date(2026, 11, 30))
    assert moves[0]["id"] == report["recommended"]["gpu"]
    assert len(moves) > 1


def test_a_price_of_ones_own_does_not_move() -> None:
    report = example()
    report["provenance"]["scenario"]["hardware"]["price_overrides"] = {"H100-SXM5-80GB": {"usd_per_gpu_hour": 1.0}}
    for row in report["candidates"]:
        row["usd_per_gpu_hour"] = 1.0 if row["gpu"] == "H100-SXM5-80GB" else row["usd_per_gpu_hour"]
    assert planning.price_moves(report, date(2026, 11, 30)) == []


def test_what_has_no_price_today_is_left_out() -> None:
    assert all(move["kind"] != "gpu" for move in planning.price_moves(example(), date(2099, 1, 1)))


def test_prices_are_those_of_the_providers_that_count() -> None:
    report = example()
    report["provenance"]["scenario"]["hardware"]["providers"] = ["aws"]
    narrowed = planning.parse_scenario(report["provenance"]["scenario"])
    cells = planning.estimate_scenario(narrowed)["candidates"]
    prices = {row["gpu"]: row["usd_per_gpu_hour"] for row in cells}
    for row in report["candidates"]:
        row["usd_per_gpu_hour"] = prices[row["gpu"]]
    assert planning.price_moves(report, date(2026, 11, 30)) == []
