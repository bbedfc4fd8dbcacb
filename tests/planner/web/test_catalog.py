"""The catalog's page: a team's own entries beside the public ones, added and forgotten there, used by the form."""

import json
from typing import Any

import pytest

from planner.datasets.models import CatalogEntry
from planner.teams.audit import audit_events_of
from planner.web.catalog_tables import MOST_API_ROWS
from tests.factories import make_user, team_of
from tests.factories_of_own import ACCELERATOR, API_PRICE, CONFIG, GPU_PRICE
from tests.planner.web.support import Office, form_data, latest_document, make_office, signed_in

pytestmark = pytest.mark.django_db
ORIGIN = {"source": "Contract 17", "as_of": "2026-11-01"}
SENT: dict[str, dict[str, Any]] = {
    "gpu-prices": GPU_PRICE[1],
    "api-prices": API_PRICE[1],
    "models": {"id": "our-8b", "config": json.dumps(CONFIG)},
    "accelerators": ACCELERATOR[1],
}


@pytest.fixture
def office() -> Office:
    return make_office()


@pytest.mark.parametrize("kind", SENT)
def test_an_entry_stands_in_its_list_until_it_is_forgotten(office: Office, kind: str) -> None:
    office.entry.delete()
    client = signed_in(office.editor)
    assert client.post(f"/catalog/entries/{kind}/", SENT[kind] | ORIGIN)["Location"] == f"/catalog/?list={kind}#own"
    shown = client.get("/catalog/", {"list": kind}).content.decode()
    assert "your team&#x27;s own" in shown.partition(f'id="{kind}"')[2].partition("</section>")[0]
    assert "Contract 17" not in signed_in(make_user()).get("/catalog/").content.decode()
    entry = CatalogEntry.objects.get()
    client.post(f"/catalog/entries/{entry.pk}/delete/")
    assert not CatalogEntry.objects.exists()
    actions = [row.action for row in audit_events_of(team_of(office.owner))[:2]]
    assert actions == ["catalog_entry.deleted", "catalog_entry.added"]


@pytest.mark.parametrize(
    ("kind", "change", "said"),
    [
        ("gpu-prices", {"gpu": "Abacus"}, "Abacus"),
        ("gpu-prices", {"usd_per_gpu_hour": "-1"}, "must be above 0"),
        ("models", {"config": "{"}, "not JSON"),
        ("models", {"config": "[" * 100_000}, "nested too deeply"),
        ("accelerators", {"id": "H200"}, "name of the catalog"),
        ("api-prices", {"as_of": "soon"}, "valid date"),
    ],
)
def test_what_is_wrong_with_an_entry_stands_beside_its_field(
    office: Office, kind: str, change: dict[str, str], said: str
) -> None:
    response = signed_in(office.editor).post(f"/catalog/entries/{kind}/", SENT[kind] | ORIGIN | change)
    assert response.status_code == 422
    assert said in response.content.decode()
    assert CatalogEntry.objects.count() == 1


def test_a_viewer_sees_own_entries_and_no_forms(office: Office) -> None:
    shown = signed_in(office.viewer).get("/catalog/").content.decode()
    assert "Contract 17" in shown
    assert "/catalog/entries/" not in shown


@pytest.mark.parametrize("kind", SENT)
def test_a_list_is_searched_whole_and_says_when_nothing_is_found(office: Office, kind: str) -> None:
    client = signed_in(office.viewer)
    whole = client.get("/catalog/", {"list": kind}).context["list"]
    name = whole.table.rows[-1].cells[0].text
    found = client.get("/catalog/", {"list": kind, "q": name.upper()}).context["list"]
    assert 0 < len(found.table.rows) <= MOST_API_ROWS
    assert all(name.lower() in " ".join(cell.text for cell in row.cells).lower() for row in found.table.rows)
    nothing = client.get("/catalog/", {"list": kind, "q": "<b>nowhere"}).content.decode()
    assert "holds “&lt;b&gt;nowhere”" in nothing
    assert client.get("/catalog/", {"list": "others"}).status_code == 404


def test_the_form_offers_and_takes_the_teams_price(office: Office) -> None:
    client = signed_in(office.editor)
    assert "$1.90/h, your team" in client.get("/scenarios/new/").content.decode()
    client.post("/scenarios/new/", form_data())
    stated = {"usd_per_gpu_hour": 1.9, **ORIGIN}
    assert latest_document()["hardware"]["price_overrides"] == {"H100-SXM5-80GB": stated}
    client.post("/scenarios/new/", form_data() | _price("4.5"))
    assert latest_document()["hardware"]["price_overrides"] == {"H100-SXM5-80GB": {"usd_per_gpu_hour": 4.5}}


def _price(text: str) -> dict[str, list[str]]:
    return {"hardware.price_overrides.H100-SXM5-80GB.usd_per_gpu_hour": [text], "name": ["Own price"]}


def test_new_scenarios_start_from_the_teams_defaults(office: Office) -> None:
    client = signed_in(office.owner)
    assert client.post("/team/defaults/", {"spare_replicas": "3", "engine": "sglang"}).status_code == 302
    shown = client.get("/scenarios/new/").content.decode()
    assert '<option value="sglang" selected>' in shown
    refused = client.post("/team/defaults/", {"spare_replicas": "-3"})
    assert refused.status_code == 422
    client.post("/team/defaults/", {})
    team = team_of(office.owner)
    assert team.defaults == {}
