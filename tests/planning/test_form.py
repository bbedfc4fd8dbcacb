import pytest
from hypothesis import given
from hypothesis import strategies as st

from planner.planning import canonical_json, form_to_scenario, parse_scenario
from tests.planning.scenarios import SUPPORT_CHAT, errors_of

FORM = {
    "name": "Support chat",
    "model.id": "meta-llama/Llama-3.3-70B-Instruct",
    "model.weight_dtype": "fp8",
    "model.kv_dtype": "fp8",
    "model.layers": "",
    "hardware.gpus": ["H100-SXM5-80GB", "H200-SXM-141GB"],
    "hardware.price_overrides.H100-SXM5-80GB.usd_per_gpu_hour": "3.20",
    "traffic.arrival.kind": "poisson",
    "traffic.arrival.mean_rps": " 6 ",
    "traffic.shape.kind": "diurnal",
    "traffic.shape.peak_to_mean": "2.4",
    "traffic.prompt_tokens.kind": "lognormal",
    "traffic.prompt_tokens.mean": "1155",
    "traffic.prompt_tokens.p95": "3200",
    "traffic.output_tokens.kind": "lognormal",
    "traffic.output_tokens.mean": "211",
    "traffic.output_tokens.p95": "480",
    "traffic.prefix.kind": "shared",
    "traffic.prefix.groups": "1",
    "traffic.prefix.tokens": "300",
    "slo.ttft_p95_ms": "1000",
    "slo.tpot_p95_ms": "50",
    "slo.goodput_min_ratio": "0.95",
    "api.alternatives.0.provider": "groq",
    "api.alternatives.0.model": "llama-3.3-70b-versatile",
    "engine.name": "vllm",
    "engine.max_model_len": "16384",
    "billing.hours_per_month": "730",
    "billing.spare_replicas": "1",
    "priced_at": "2026-11-30",
    "seed": "1",
}


def test_a_form_gives_the_same_scenario_as_the_document():
    assert canonical_json(parse_scenario(form_to_scenario(FORM))) == canonical_json(parse_scenario(SUPPORT_CHAT))


def test_text_that_is_no_number_is_named_at_its_field():
    fields = {**FORM, "traffic.arrival.mean_rps": "six", "billing.spare_replicas": "1.5", "seed": "NaN"}
    found = {(e.code, e.pointer) for e in errors_of(form_to_scenario(fields))}
    assert found == {
        ("not_a_number", "/traffic/arrival/mean_rps"),
        ("not_whole", "/billing/spare_replicas"),
        ("not_whole", "/seed"),
    }


def test_lists_booleans_and_json_fields():
    document = form_to_scenario(
        {
            "hardware.gpus": "any",
            "hardware.tensor_parallel": "1, 2",
            "engine.enable_prefix_caching": "on",
            "engine.block_size": "16",
            "model.hf_config": '{"num_hidden_layers": 80}',
            "traffic.output_tokens.values": "1,2\n3",
        }
    )
    assert document == {
        "hardware": {"gpus": "any", "tensor_parallel": [1, 2]},
        "engine": {"enable_prefix_caching": True, "block_size": 16},
        "model": {"hf_config": {"num_hidden_layers": 80}},
        "traffic": {"output_tokens": {"values": [1, 2, 3]}},
    }


@pytest.mark.parametrize("text", ['{"a": 1, "a": 2}', '{"a": ', "[1]", "[" * 5_000, '{"a": NaN'])
def test_a_pasted_config_is_read_as_strictly_as_a_scenario(text):
    document = form_to_scenario({**FORM, "model.id": "", "model.hf_config": text})
    assert {e.pointer for e in errors_of(document)} == {"/model/hf_config"}


@given(st.dictionaries(st.sampled_from(list(FORM)) | st.text(max_size=30), st.text(max_size=30), max_size=6))
def test_no_form_breaks_the_reader(fields):
    assert all(e.detail for e in errors_of(form_to_scenario({**FORM, **fields})))
