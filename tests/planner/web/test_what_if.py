"""The sliders of a report: answers, refusals, and the run they start."""

import json
from typing import Any

import pytest
from django.test import Client

from planner.runs.models import Run
from planner.runs.services import run_submit
from tests.factories import make_user, parsed_scenario, team_of
from tests.planner.reports.example import example
from tests.planner.web.support import Office, make_office, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def office() -> Office:
    return make_office()


def address(run: Run) -> str:
    return f"/reports/{run.pk}/what-if/"


def ask(client: Client, run: Run, **sliders: object) -> Any:
    return client.post(address(run), sliders, headers={"HX-Request": "true"})


def cells(page: str, label: str) -> list[str]:
    row = page.split(f'<th scope="row">{label}</th>')[1].split("</tr>")[0]
    return [part.split(">")[-1] for part in row.split("</td>")[:-1]]


def test_the_report_offers_the_sliders(office: Office) -> None:
    page = signed_in(office.viewer).get(f"/reports/{office.done.pk}/").content.decode()
    for label in ("Load", "Output length", "H200, per GPU-hour", "TTFT p95 target", "TPOT p95 target"):
        assert f">{label}</label>" in page
    assert "Run in full" not in page


def test_moving_one_shows_both_estimates(office: Office) -> None:
    client = signed_in(office.viewer)
    same = ask(client, office.done).content.decode()
    now, then = cells(same, "Self-host, a month")
    assert now == then
    more = ask(client, office.done, load_pct="300").content.decode()
    assert cells(more, "Self-host, a month")[0] == now
    assert cells(more, "Self-host, a month")[1] != now
    assert "<html" not in more


def test_without_scripts_the_sliders_are_a_page(office: Office) -> None:
    client = signed_in(office.viewer)
    page = client.post(address(office.done), {"load_pct": "200"}).content.decode()
    assert "<html" in page
    assert 'value="200.0"' in page
    assert client.get(address(office.done)).status_code == 200


@pytest.mark.parametrize(
    "sliders",
    [
        {"load_pct": "1e9"},
        {"load_pct": "nan"},
        {"output_pct": "much"},
        {"usd_per_gpu_hour": "-1"},
        {"ttft_p95_ms": "1"},
    ],
)
def test_what_is_no_place_of_a_slider_is_refused(office: Office, sliders: dict[str, str]) -> None:
    response = ask(signed_in(office.viewer), office.done, **sliders)
    assert response.status_code == 422
    assert "must be a number from" in response.content.decode()


def test_a_full_run_is_the_next_version_with_what_was_moved(office: Office) -> None:
    client = signed_in(office.editor)
    response = client.post(f"{address(office.done)}run/", {"load_pct": "120", "ttft_p95_ms": "800"})
    newest = office.scenario.versions.latest("number")
    assert newest.number == 2
    assert newest.note.startswith("What if: Load 2.77 req/s mean")
    assert "TTFT p95 target 800 ms" in newest.note
    assert newest.document["slo"]["ttft_p95_ms"] == 800
    run = Run.objects.get(scenario_version=newest)
    assert response["Location"] == f"/runs/{run.pk}/"
    assert run.created_by == office.editor


def test_a_run_without_a_scenario_gets_one(office: Office) -> None:
    owner = office.owner
    alone = run_submit(team=team_of(owner), user=owner, parsed=parsed_scenario(seed=9))
    alone.state, alone.report, alone.progress_ratio = "done", json.dumps(example()), 1.0
    alone.save()
    signed_in(owner).post(f"{address(alone)}run/", {"load_pct": "120"})
    assert office.scenario.versions.count() == 1
    assert Run.objects.order_by("-created_at").first().scenario_version.number == 1  # type: ignore[union-attr]


def test_a_full_run_of_nonsense_saves_nothing(office: Office) -> None:
    response = signed_in(office.editor).post(f"{address(office.done)}run/", {"load_pct": "-5"})
    assert response.status_code == 422
    assert office.scenario.versions.count() == 1


def test_a_scenario_of_an_earlier_catalog_says_what_is_missing(office: Office) -> None:
    report = example()
    report["provenance"]["scenario"]["model"] = {"id": "gone/model"}
    office.done.report = json.dumps(report)
    office.done.save()
    client = signed_in(office.editor)
    assert client.get(f"/reports/{office.done.pk}/").status_code == 200
    response = ask(client, office.done, load_pct="120")
    assert response.status_code == 422
    assert "gone/model" in response.content.decode()
    assert client.post(f"{address(office.done)}run/", {"load_pct": "120"}).status_code == 422


def test_an_unfinished_run_has_none(office: Office) -> None:
    assert ask(signed_in(make_user()), office.done).status_code == 404
    assert ask(signed_in(office.owner), office.queued).status_code == 404
