import json
import math
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import Scenario, ScenarioInvalid, canonical_json, parse_scenario, scenario_digest
from tests.planning.scenarios import SUPPORT_CHAT, changed, errors_of


def faults(document):
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(document)
    return {(e.code, e.pointer) for e in caught.value.errors}


def test_the_documented_example_is_accepted():
    scenario = parse_scenario(json.dumps(SUPPORT_CHAT))
    assert scenario.traffic.arrival.mean_rps == 6.0
    assert scenario.priced_at == date(2026, 11, 30)


def test_only_model_traffic_and_slo_are_required():
    small = {key: SUPPORT_CHAT[key] for key in ("model", "traffic", "slo")}
    assert parse_scenario(small, today=date(2026, 11, 30)).billing.hours_per_month == 730
    assert faults({}) >= {("missing", "/model"), ("missing", "/traffic"), ("missing", "/slo")}


def test_the_date_is_written_in_once_and_stays():
    undated = changed("priced_at", ...)
    first = parse_scenario(undated, today=date(2026, 11, 30))
    again = parse_scenario(canonical_json(first), today=date(2027, 5, 1))
    assert again.priced_at == date(2026, 11, 30)
    assert scenario_digest(again) == scenario_digest(first)


def test_without_a_date_and_without_a_day_the_date_is_missing():
    assert faults(changed("priced_at", ...)) == {("missing", "/priced_at")}


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("traffic.arrival.mean_rps", 0, "out_of_range"),
        ("traffic.arrival.mean_rps", -1, "out_of_range"),
        ("traffic.arrival.mean_rps", math.nan, "not_finite"),
        ("traffic.arrival.mean_rps", math.inf, "not_finite"),
        ("traffic.arrival.mean_rps", 1e9, "out_of_range"),
        ("traffic.arrival.mean_rps", "6", "not_a_number"),
        ("traffic.arrival.mean_rps", True, "not_a_number"),
        ("traffic.arrival.mean_rps", None, "not_a_number"),
        ("traffic.shape.peak_to_mean", 0.5, "out_of_range"),
        ("traffic.prompt_tokens.mean", -5, "out_of_range"),
        ("traffic.output_tokens.mean", 1e12, "out_of_range"),
        ("traffic.prefix.tokens", 1.5, "not_whole"),
        ("traffic.prefix.groups", 0, "out_of_range"),
        ("slo.ttft_p95_ms", 1, "unit_slip"),
        ("slo.tpot_p95_ms", 0.05, "unit_slip"),
        ("slo.goodput_min_ratio", 95, "unit_slip"),
        ("engine.gpu_memory_utilization", 112, "unit_slip"),
        ("engine.gpu_memory_utilization", 90, "unit_slip"),
        ("engine.gpu_memory_utilization", 0, "out_of_range"),
        ("engine.name", "llamafile", "unknown_choice"),
        ("engine.block_size", 17, "unknown_choice"),
        ("engine.max_model_len", 10**30, "out_of_range"),
        ("billing.mode", "weekends", "unknown_choice"),
        ("billing.allowed_modes", [], "wrong_count"),
        ("billing.spot_price_ratio", 1.5, "unit_slip"),
        ("billing.hours_per_month", 8760, "out_of_range"),
        ("billing.spare_replicas", 1.5, "not_whole"),
        ("hardware.price_overrides.H100-SXM5-80GB.usd_per_gpu_hour", -2, "out_of_range"),
        ("hardware.price_overrides.H100-SXM5-80GB.usd_per_gpu_hour", 0, "out_of_range"),
        ("hardware.gpus", [], "wrong_count"),
        ("seed", -1, "out_of_range"),
        ("seed", 2**60, "out_of_range"),
        ("priced_at", "30.11.2026", "not_a_date"),
        ("priced_at", 20261130, "not_a_date"),
        ("name", "a\x00b", "unprintable_text"),
        ("name", " ", "empty_text"),
        ("name", "x" * 300, "wrong_length"),
        ("schema_version", 2, "unknown_choice"),
        ("mean_rps", 3, "unknown_field"),
        ("slo.window", "month", "not_offered_yet"),
    ],
)
def test_one_bad_field_is_named_by_code_and_pointer(path, value, code):
    assert (code, "/" + path.replace(".", "/")) in faults(changed(path, value))


def test_hints_say_what_was_meant():
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(changed("slo.ttft_p95_ms", 1))
    assert "did you mean 1000 ms" in caught.value.errors[0].detail
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(changed("slo.goodput_min_ratio", 95))
    assert "did you mean 0.95" in caught.value.errors[0].detail


def test_all_faults_come_at_once():
    bad = changed("traffic.arrival.mean_rps", -1)
    bad["slo"] = {"ttft_p95_ms": 1}
    bad["traffic"]["prompt_tokens"]["p95"] = 1e6
    bad["model"]["hf_config"] = {}
    assert faults(bad) == {
        ("out_of_range", "/traffic/arrival/mean_rps"),
        ("unit_slip", "/slo/ttft_p95_ms"),
        ("no_such_lognormal", "/traffic/prompt_tokens/p95"),
        ("one_of", "/model"),
    }


def test_pointers_of_unions_do_not_show_the_kind():
    bad = changed("traffic.arrival", {"kind": "gamma", "mean_rps": 1})
    assert faults(bad) == {("missing", "/traffic/arrival/cv")}
    assert faults(changed("traffic.arrival", {"kind": "weibull"})) == {("unknown_kind", "/traffic/arrival/kind")}
    assert ("unknown_kind", "/traffic/arrival/kind") in faults(changed("traffic.arrival", {"mean_rps": 1}))


@pytest.mark.parametrize("p95", [1155, 900, 1155 * 3.869])
def test_a_lognormal_outside_its_range_is_refused(p95):
    assert ("no_such_lognormal", "/traffic/prompt_tokens/p95") in faults(changed("traffic.prompt_tokens.p95", p95))


def test_a_prefix_must_leave_a_remainder():
    assert ("prefix_too_long", "/traffic/prefix/tokens") in faults(changed("traffic.prefix.tokens", 1155))
    assert ("prefix_too_long", "/traffic/prefix/tokens") in faults(changed("traffic.prefix.tokens", 500))
    fixed = changed("traffic.prompt_tokens", {"kind": "fixed", "tokens": 300})
    assert ("prefix_too_long", "/traffic/prefix/tokens") in faults(fixed)


def test_the_longest_prefix_that_is_named_is_accepted():
    with pytest.raises(ScenarioInvalid) as refused:
        parse_scenario(changed("traffic.prefix.tokens", 500))
    (fault,) = refused.value.errors
    longest = int(fault.allowed.removeprefix("at most "))
    assert f"at most {longest:,} tokens" in fault.detail
    parse_scenario(changed("traffic.prefix.tokens", longest))
    assert ("prefix_too_long", "/traffic/prefix/tokens") in faults(changed("traffic.prefix.tokens", longest + 1))


def test_an_slo_needs_a_target():
    assert ("missing", "/slo") in faults(changed("slo", {}))
    assert ("missing", "/slo") in faults(changed("slo", {"goodput_min_ratio": 0.9}))


def test_traffic_has_exactly_one_source():
    users = {"active_users": 2000, "requests_per_user_hour": 24}
    assert ("one_of", "/traffic") in faults(changed("traffic.users", users))
    assert ("one_of", "/traffic") in faults(changed("traffic.arrival", ...))


@pytest.mark.parametrize(
    ("users", "expected"),
    [
        ({}, {("one_of", "/traffic/users")}),
        ({"active_ratio": 0.2}, {("missing", "/traffic/users/total_users")}),
        ({"total_users": 100}, {("missing", "/traffic/users/active_ratio")}),
        ({"active_users": 5, "total_users": 100, "active_ratio": 0.2}, {("one_of", "/traffic/users")}),
        ({"total_users": 100, "active_ratio": 0.2}, set()),
    ],
)
def test_active_users_are_said_once_and_a_fault_is_told_once(users, expected):
    document = changed("traffic.users", users | {"requests_per_user_hour": 24})
    assert {fault for fault in faults(document) if fault[1].startswith("/traffic/users")} == expected


def test_the_parts_of_a_bad_request_are_all_named():
    """Negative price, NaN length as text, 1e400 users and half a replica, in one answer."""
    text = json.dumps(SUPPORT_CHAT)
    text = text.replace('"usd_per_gpu_hour": 3.2', '"usd_per_gpu_hour": -2').replace('"mean": 1155', '"mean": "NaN"')
    text = text.replace('"spare_replicas": 1', '"spare_replicas": 1.5').replace('"mean_rps": 6.0', '"mean_rps": 1e400')
    assert faults(text) == {
        ("out_of_range", "/hardware/price_overrides/H100-SXM5-80GB/usd_per_gpu_hour"),
        ("not_a_number", "/traffic/prompt_tokens/mean"),
        ("not_finite", "/traffic/arrival/mean_rps"),
        ("not_whole", "/billing/spare_replicas"),
    }


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "invalid_json"),
        (b"{", "invalid_json"),
        (b"[1]", "not_an_object"),
        (b"null", "not_an_object"),
        (b'{"a": 1, "a": 2}', "duplicate_key"),
        (b"\xff\xfe{}", "not_utf8"),
        (b"[" * 100_000, "too_deep"),
        (b'{"a": ' + b"9" * 5_000 + b"}", "invalid_json"),
        (b" " * (13 * 1024 * 1024), "too_large"),
    ],
)
def test_what_is_no_document_is_named(data, code):
    assert {code for code, _ in faults(data)} == {code}


def test_a_byte_order_mark_is_accepted():
    assert parse_scenario(b"\xef\xbb\xbf" + json.dumps(SUPPORT_CHAT).encode()).name == "Support chat"


def test_a_lone_surrogate_is_refused():
    assert faults(json.dumps(changed("name", "\ud800"))) == {("not_utf8", "/name")}


CONFIG = {"hidden_size": 4096, "num_attention_heads": 32, "num_hidden_layers": 32, "num_key_value_heads": 8,
          "intermediate_size": 14336, "vocab_size": 128256, "max_position_embeddings": 131072}  # fmt: skip


def _nested(levels):
    value = [1]
    for _ in range(levels):
        value = [1, value]
    return value


@pytest.mark.parametrize(
    ("value", "code"), [([1, "\ud800"], "not_utf8"), ([1, {"\ud800": 1}], "bad_key"), (_nested(3_000), "too_deep")]
)
def test_what_cannot_be_stored_is_refused_behind_numbers_too(value, code):
    document = changed("model", {"hf_config": {**CONFIG, "unused": value}})
    assert {code for code, _ in faults(document)} == {code}


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ('{"hidden_size": 1, "hidden_size": 2}', "duplicate_key"),
        ('{"hidden_size": 4096', "invalid_json"),
        ("[1]", "not_an_object"),
        ("[" * 5_000, "too_deep"),
        ("{}", "wrong_type"),
    ],
)
def test_a_config_given_as_text_says_what_is_wrong_with_the_text(text, code):
    assert faults(changed("model", {"hf_config": text})) == {(code, "/model/hf_config")}


def test_a_fault_of_a_pasted_config_stands_at_its_place_with_what_was_given():
    config = {**CONFIG, "vocab_size": -1, "quantization_config": {"quant_method": "magic"}}
    found = {e.pointer: e.given for e in errors_of(changed("model", {"hf_config": config}))}
    assert found == {
        "/model/hf_config/vocab_size": "-1",
        "/model/hf_config/quantization_config/quant_method": "magic",
    }


def test_a_flood_of_faults_is_cut_and_hides_no_other_kind():
    document = changed("traffic", {"trace": {"rows": [["x"]] * 5_000}})
    document["slo"] = {"window": "month"}
    found = faults(document)
    assert ("missing", "/slo") in found
    assert ("not_offered_yet", "/slo/window") in found
    assert len(errors_of(document)) < 150


def test_given_values_are_cut_in_errors():
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(changed("priced_at", "x" * 10_000))
    assert len(caught.value.errors[0].given) <= 80


def test_every_field_has_a_description():
    schema = Scenario.model_json_schema()
    parts = [schema, *schema["$defs"].values()]
    fields = [(name, spec) for part in parts for name, spec in part.get("properties", {}).items()]
    assert [name for name, spec in fields if "description" not in spec and name != "kind"] == []


def test_whole_numbers_and_floats_of_one_value_have_one_digest():
    assert scenario_digest(parse_scenario(changed("traffic.arrival.mean_rps", 6))) == scenario_digest(
        parse_scenario(changed("traffic.arrival.mean_rps", 6.0))
    )


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)
paths = st.sampled_from(
    ["name", "model", "model.id", "hardware.gpus", "hardware.price_overrides", "traffic", "traffic.arrival",
     "traffic.shape", "traffic.prompt_tokens", "traffic.prompt_tokens.mean", "traffic.prefix", "traffic.trace",
     "traffic.users", "slo", "slo.ttft_p95_ms", "slo.goodput", "api.alternatives", "engine", "billing", "priced_at"]
)  # fmt: skip


@given(path=paths, value=json_values)
def test_any_value_anywhere_is_accepted_or_named(path, value):
    document = changed(path, value)
    errors = errors_of(document)
    assert all(e.code and e.detail for e in errors)
    if not errors:
        text = canonical_json(parse_scenario(document))
        assert canonical_json(parse_scenario(text)) == text
