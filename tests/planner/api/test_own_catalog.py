"""A team's own prices, models and accelerators over the API: kept, listed beside the public ones, used by its plans."""

import json
from typing import Any

import pytest

from planner.runs.models import Run
from planner.teams.models import User
from tests.factories import make_entry, make_token, make_user, scenario_dict, team_of
from tests.factories_of_own import EVERY
from tests.planner.api.flat import QUESTION
from tests.planner.api.support import Api, problem


def keep(api: Api, kind: str, value: dict[str, Any], **changes: Any) -> Any:
    sent = {"kind": kind, "value": value, "source": "Contract 17", "as_of": "2026-11-01"} | changes
    return api.post("/catalog/entries", sent)


def test_every_kind_stands_beside_the_public_rows(api: Api) -> None:
    for kind, value in EVERY:
        assert keep(api, kind, value).status_code == 201
        first, second = api.get(f"/catalog/{kind}?priced_at=2026-11-30&limit=2").json()["items"]
        assert (first["origin"], first["source"], first["as_of"]) == ("team", "Contract 17", "2026-11-01")
        assert second["origin"] == "public"
        assert list(first) == list(second)
        own = api.get(f"/catalog/{kind}?priced_at=2026-11-30&origin=team").json()["items"]
        assert own == [first]
        assert b"Contract 17" not in api.get(f"/catalog/{kind}?priced_at=2026-11-30&origin=public").content
    assert {row["kind"] for row in api.get("/catalog/entries").json()["items"]} == {kind for kind, _ in EVERY}


def test_one_of_the_same_name_is_replaced(api: Api) -> None:
    keep(api, "gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.9})
    again = keep(api, "gpu-prices", {"gpu": "h100 sxm 80gb", "usd_per_gpu_hour": 1.7})
    assert again.status_code == 200
    rows = api.get("/catalog/entries").json()["items"]
    assert [row["value"]["usd_per_gpu_hour"] for row in rows] == [1.7]


def test_a_replacement_holds_to_what_its_headers_allow(api: Api, user: User) -> None:
    price = {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.9}
    sent = {"kind": "gpu-prices", "value": price, "source": "Contract 17", "as_of": "2026-11-01"}
    problem(api.post("/catalog/entries", sent, If_Match="*"), 412, "version-conflict")
    made = api.post("/catalog/entries", sent, If_None_Match="*")
    assert made.status_code == 201
    problem(api.post("/catalog/entries", sent, If_None_Match="*"), 412, "version-conflict")
    etag = api.get(made["Location"])["ETag"]
    cheaper = {**sent, "value": {**price, "usd_per_gpu_hour": 1.8}}
    assert api.post("/catalog/entries", cheaper, If_Match=etag).status_code == 200
    problem(api.post("/catalog/entries", sent, If_Match=etag), 412, "version-conflict")
    assert api.get(made["Location"]).json()["value"]["usd_per_gpu_hour"] == 1.8


def test_an_entry_is_changed_where_it_stands_and_keeps_its_name(api: Api, user: User) -> None:
    path = f"/catalog/entries/{make_entry(user).pk}"
    change = {
        "value": {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.5},
        "source": "Contract 18",
        "as_of": "2026-11-02",
    }
    answered = api.call("PUT", path, change, {"If-Match": api.get(path)["ETag"]})
    assert (answered.status_code, answered.json()["source"]) == (200, "Contract 18")
    for value, pointer in (
        ({"gpu": "H200-SXM-141GB", "usd_per_gpu_hour": 2}, "/value"),
        ({"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": -2}, "/value/usd_per_gpu_hour"),
    ):
        response = api.call("PUT", path, {**change, "value": value}, {"If-Match": "*"})
        assert [fault["pointer"] for fault in problem(response, 422, "invalid-body")["errors"]] == [pointer]
    assert len(api.get("/catalog/entries").json()["items"]) == 1


def test_every_fault_of_an_entry_comes_at_once_at_its_place(api: Api) -> None:
    value = {"gpu": "Abacus", "usd_per_gpu_hour": -1}
    body = problem(keep(api, "gpu-prices", value), 422, "invalid-body")
    assert {fault["pointer"] for fault in body["errors"]} == {"/value/gpu", "/value/usd_per_gpu_hour"}
    body = problem(keep(api, "tea", {}, source="", as_of="yesterday"), 422, "invalid-body")
    assert {fault["pointer"] for fault in body["errors"]} == {"/source", "/as_of", "/kind"}


def test_a_run_takes_the_teams_price_and_says_so(api: Api, user: User) -> None:
    make_entry(user)
    plain = {name: part for name, part in scenario_dict().items() if name != "engine"}
    api.post("/runs", plain)
    body = json.loads(Run.objects.get().body)
    stated = {"usd_per_gpu_hour": 1.9, "source": "Contract 17", "as_of": "2026-11-01"}
    assert body["hardware"]["price_overrides"] == {"H100-SXM5-80GB": stated}
    again = api.post("/runs", body)
    assert Run.objects.count() == 1, "the scenario as written out is the same question"
    assert again.status_code == 202
    valid = api.post("/scenarios/validate", plain).json()["scenario"]
    assert valid == body


def test_estimates_and_cells_take_it_too_and_other_teams_do_not(api: Api, user: User) -> None:
    stranger = Api(make_token(make_user())[1])
    make_entry(user, gpu=QUESTION["gpu"], usd_per_gpu_hour=0.5)

    def cost(caller: Api) -> Any:
        rows = caller.post("/estimates/batch", {"rows": [QUESTION], "fields": ["monthly_cost_usd"]}).json()["rows"]
        return rows[0]["cells"]["monthly_cost_usd"]

    assert cost(api) < cost(stranger)
    own = api.post("/estimates", scenario_dict(hardware={"gpus": [QUESTION["gpu"]]})).json()
    assert own["candidates"][0]["usd_per_gpu_hour"] == 0.5


def test_defaults_of_a_team_fill_its_scenarios(api: Api, user: User) -> None:
    path = f"/teams/{team_of(user).pk}"
    changed = api.call("PATCH", path, {"defaults": {"billing": {"spare_replicas": 4}}})
    assert changed.json()["defaults"] == {"billing": {"spare_replicas": 4}}
    assert api.post("/scenarios/validate", scenario_dict()).json()["scenario"]["billing"]["spare_replicas"] == 4
    body = problem(api.call("PATCH", path, {"defaults": {"billing": {"spare_replicas": -4}}}), 422, "invalid-body")
    assert body["errors"][0]["pointer"] == "/defaults/billing/spare_replicas"
    assert api.get(path).json()["defaults"] == {"billing": {"spare_replicas": 4}}


def test_another_teams_entries_are_not_there(user: User) -> None:
    entry = make_entry(user)
    stranger = Api(make_token(make_user())[1])
    problem(stranger.get(f"/catalog/entries/{entry.pk}"), 404, "not-found")
    assert b"Contract 17" not in stranger.get("/catalog/gpu-prices?limit=500").content


@pytest.mark.parametrize("query", ["origin=tea", "origin=team&gpu=H100-SXM5-80GB"])
def test_a_filter_that_finds_nothing_says_so(api: Api, query: str) -> None:
    problem(api.get(f"/catalog/gpu-prices?{query}"), 400, "invalid-parameter")
