"""What a team puts into its own catalog enters scenarios as anyone could have written it."""

import json
from datetime import date
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planner.planning import (
    OwnCatalog,
    OwnEntry,
    ScenarioInvalid,
    canonical_json,
    estimate_scenario,
    own_defaults,
    own_entry,
    parse_scenario,
)
from planner.planning.own_catalog import with_own
from tests.factories_of_own import ACCELERATOR, API_PRICE, CONFIG, GPU_PRICE, MODEL, of

DAY = date(2026, 11, 1)
QUESTION: dict[str, Any] = {
    "model": {"id": "meta-llama/Llama-3.1-8B-Instruct"},
    "hardware": {"gpus": ["H100-SXM5-80GB"]},
    "traffic": {
        "arrival": {"kind": "poisson", "mean_rps": 2.0},
        "prompt_tokens": {"kind": "fixed", "tokens": 200},
        "output_tokens": {"kind": "fixed", "tokens": 50},
    },
    "slo": {"ttft_p95_ms": 1000},
    "priced_at": "2026-11-30",
}


def document(own: OwnCatalog, **changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(canonical_json(parse_scenario(QUESTION | changes, own=own)))
    return found


def sources(own: OwnCatalog, **changes: Any) -> dict[str, dict[str, str]]:
    rows = estimate_scenario(parse_scenario(QUESTION | changes, own=own))["provenance"]["sources"]
    return {row["what"]: row for row in rows}


def test_a_price_of_ones_own_stands_in_the_scenario_and_in_its_sources() -> None:
    own = of(GPU_PRICE)
    stated = document(own)["hardware"]["price_overrides"]["H100-SXM5-80GB"]
    assert stated == {"usd_per_gpu_hour": 1.9, "source": "Contract 17", "as_of": "2026-11-01"}
    row = sources(own)["H100 SXM5 80 GB, price"]
    assert (row["source"], row["as_of"]) == ("Contract 17", "2026-11-01")


def test_any_tries_the_teams_accelerators_too() -> None:
    found = document(of(ACCELERATOR, GPU_PRICE), hardware={"gpus": "any"})["hardware"]
    assert [gpu if isinstance(gpu, str) else gpu["id"] for gpu in found["gpus"]] == ["any", ACCELERATOR[1]["id"]]
    assert "H100-SXM5-80GB" in found["price_overrides"]
    alone = estimate_scenario(parse_scenario(QUESTION | {"hardware": {"gpus": "any"}}))
    both = estimate_scenario(parse_scenario(QUESTION | {"hardware": found}))
    tried = {row["gpu"] for row in both["candidates"]} - {row["gpu"] for row in alone["candidates"]}
    assert tried == {ACCELERATOR[1]["id"]}


def test_what_a_scenario_says_itself_stands() -> None:
    stated = {"gpus": ["H100-SXM5-80GB"], "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 5.0}}}
    found = document(of(GPU_PRICE), hardware=stated)["hardware"]["price_overrides"]
    assert found == {"H100-SXM5-80GB": {"usd_per_gpu_hour": 5.0}}


def test_a_price_that_lost_its_source_in_a_form_gets_it_back() -> None:
    stated = {"gpus": ["H100-SXM5-80GB"], "price_overrides": {"H100-SXM5-80GB": {"usd_per_gpu_hour": 1.9}}}
    found = document(of(GPU_PRICE), hardware=stated)["hardware"]["price_overrides"]
    assert found["H100-SXM5-80GB"]["source"] == "Contract 17"


def test_a_price_counts_from_its_day_and_for_accelerators_that_are_tried() -> None:
    assert document(of(GPU_PRICE), priced_at="2026-10-31")["hardware"]["price_overrides"] == {}
    assert document(of(GPU_PRICE), hardware={"gpus": ["H200"]})["hardware"]["price_overrides"] == {}
    assert document(of(GPU_PRICE), hardware={})["hardware"]["price_overrides"].keys() == {"H100-SXM5-80GB"}


def test_an_accelerator_and_a_model_are_called_by_name() -> None:
    own = of(ACCELERATOR, MODEL)
    found = document(own, model={"id": "Our-8B", "kv_dtype": "fp8"}, hardware={"gpus": ["our chip"]})
    assert found["hardware"]["gpus"][0]["id"] == "Our chip"
    assert found["model"]["hf_config"] == CONFIG
    assert (found["model"]["name"], found["model"]["kv_dtype"]) == ("our-8b", "fp8")
    rows = sources(own, model={"id": "our-8b"}, hardware={"gpus": ["Our chip"]})
    assert rows["Architecture of our-8b"]["source"] == "Contract 17"
    assert rows["Our chip, hardware"]["source"] == "Contract 17"


def test_an_api_of_ones_own_is_billed_at_its_price() -> None:
    api = {"alternatives": [{"provider": "Gateway", "model": "our-8b"}]}
    with pytest.raises(ScenarioInvalid):
        parse_scenario(QUESTION | {"api": api})
    estimate = estimate_scenario(parse_scenario(QUESTION | {"api": api}, own=of(API_PRICE)))
    bill = estimate["api"][0]
    assert bill["source"] == "Contract 17, 2026-11-01"
    tokens = estimate["load"]["monthly_tokens"]
    expected = (tokens["input"] * 0.5 + tokens["output"] * 1.5) / 1e6
    assert bill["usd_per_month"] == pytest.approx(expected, abs=0.02)


def test_defaults_fill_what_a_scenario_leaves_out() -> None:
    own = OwnCatalog(defaults=own_defaults({"billing": {"spare_replicas": 3}, "engine": {"name": "sglang"}}))
    found = document(own)
    assert (found["billing"]["spare_replicas"], found["engine"]["name"]) == (3, "sglang")
    stated = document(own, billing={"hours_per_month": 700.0}, engine={"max_tokens": 100})
    assert (stated["billing"]["spare_replicas"], stated["billing"]["hours_per_month"]) == (3, 700.0)
    assert (stated["engine"]["name"], stated["engine"]["max_tokens"]) == ("vllm", 100)


def test_a_scenario_filled_once_stays_the_same() -> None:
    own = of(GPU_PRICE, ACCELERATOR, MODEL, API_PRICE)
    changes = {
        "model": {"id": "our-8b"},
        "hardware": {"gpus": ["Our chip", "H100-SXM5-80GB"]},
        "api": {"alternatives": [{"provider": "gateway", "model": "our-8b"}]},
    }
    once = document(own, **changes)
    assert json.loads(canonical_json(parse_scenario(once, own=own))) == once
    assert json.loads(canonical_json(parse_scenario(once))) == once


def test_nothing_of_ones_own_changes_nothing() -> None:
    assert document(OwnCatalog()) == json.loads(canonical_json(parse_scenario(QUESTION)))


_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(max_size=5)
    | st.sampled_from(["any", "H100-SXM5-80GB", "our chip"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=5), inner, max_size=2),
    max_leaves=5,
)


@settings(max_examples=60, deadline=None)
@given(parts=st.dictionaries(st.sampled_from(["model", "hardware", "api", "billing", "engine", "priced_at"]), _JSON))
def test_a_malformed_document_is_left_to_the_schema(parts: dict[str, Any]) -> None:
    own = OwnCatalog(of(GPU_PRICE, ACCELERATOR, MODEL, API_PRICE).entries, {"billing": {"spare_replicas": 2}})
    with_own(QUESTION | parts, own)


@pytest.mark.parametrize(
    ("kind", "value", "code", "pointer"),
    [
        ("gpu-prices", {"gpu": "H100-SXM5-80GB"}, "missing", "/usd_per_gpu_hour"),
        ("gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": -1}, "out_of_range", "/usd_per_gpu_hour"),
        ("gpu-prices", {"gpu": "Abacus", "usd_per_gpu_hour": 1.0}, "unknown_id", "/gpu"),
        ("gpu-prices", {"usd_per_gpu_hour": 1.0}, "missing", "/gpu"),
        ("gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.0, "colour": "red"}, "unknown_field", "/colour"),
        ("api-prices", {"provider": "x", "model": "y", "input_usd_per_mtok": 1.0}, "missing", "/output_usd_per_mtok"),
        ("api-prices", {"model": "y", "input_usd_per_mtok": 1.0, "output_usd_per_mtok": 1.0}, "missing", "/provider"),
        ("models", {"id": "x", "hf_config": {"model_type": "llama"}}, None, "/hf_config"),
        ("models", {"id": "Llama-3.3-70B", "params_total_b": 8}, "taken_id", "/id"),
        ("models", {"params_total_b": 8}, "missing", "/id"),
        ("accelerators", {"id": "H100-SXM5-80GB"}, "taken_id", "/id"),
        ("accelerators", {"id": "Our chip"}, "missing", "/memory_gib"),
    ],
)
def test_a_malformed_entry_is_refused_at_its_place(
    kind: Any, value: dict[str, Any], code: str | None, pointer: str
) -> None:
    with pytest.raises(ScenarioInvalid) as refused:
        own_entry(kind, value, source="s", as_of=DAY)
    found = [(error.code, error.pointer) for error in refused.value.errors]
    assert any((code is None or c == code) and p.startswith(pointer) for c, p in found), found


def test_an_entry_needs_a_source() -> None:
    with pytest.raises(ScenarioInvalid) as refused:
        own_entry("gpu-prices", {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.0}, source=" ", as_of=DAY)
    assert [error.pointer for error in refused.value.errors] == ["/source"]


@pytest.mark.parametrize(
    ("defaults", "pointer"),
    [
        ({"colour": "red"}, "/colour"),
        ({"billing": {"max_usd_per_month": 5.0}}, "/billing/max_usd_per_month"),
        ({"billing": {"spare_replicas": -1}}, "/billing/spare_replicas"),
        ({"billing": 5}, "/billing"),
        ({"engine": {"name": "abacus"}}, "/engine/name"),
    ],
)
def test_malformed_defaults_are_refused(defaults: dict[str, Any], pointer: str) -> None:
    with pytest.raises(ScenarioInvalid) as refused:
        own_defaults(defaults)
    assert pointer in [error.pointer for error in refused.value.errors]


def test_entries_say_what_they_are() -> None:
    entry = own_entry(
        "gpu-prices", {"gpu": "h100 sxm 80gb", "usd_per_gpu_hour": 1.9}, source=" Contract 17 ", as_of=DAY
    )
    assert entry == OwnEntry("gpu-prices", "H100-SXM5-80GB", {"usd_per_gpu_hour": 1.9}, "Contract 17", DAY)
