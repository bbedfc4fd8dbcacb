import pytest

from planner.planning import ScenarioInvalid, canonical_json, parse_scenario, scenario_digest
from tests.planning.scenarios import changed


def faults(document):
    with pytest.raises(ScenarioInvalid) as caught:
        parse_scenario(document)
    return caught.value.errors


@pytest.mark.parametrize(
    ("path", "value", "code", "pointer", "hint"),
    [
        ("model.id", "Llama-3.3-70", "unknown_id", "/model/id", "Llama-3.3-70B"),
        ("hardware.gpus", ["H200-SXM-141GB", "H100"], "ambiguous_id", "/hardware/gpus/1", "H100-PCIe"),
        ("hardware.gpus", ["H999"], "unknown_id", "/hardware/gpus/0", ""),
        ("hardware.price_overrides", {"H999": {"usd_per_gpu_hour": 2}}, "unkn", "/hardware/price_overrides/H999", ""),
        ("hardware.tensor_parallel", [1, 3], "tp_does_not_divide_heads", "/hardware/tensor_parallel/1", "1, 2, 4, 8"),
        ("api.alternatives", [{"provider": "grok", "model": "llama"}], "", "/api/alternatives/0/model", ""),
        ("api.alternatives", [{"provider": "nosuchplace", "model": "x"}], "unkn", "/api/alternatives/0/provider", ""),
        ("engine.max_model_len", 200_000, "context_beyond_model", "/engine/max_model_len", "131072"),
        ("engine.max_model_len", 1_000, "context_too_short", "/traffic/prompt_tokens", "1000"),
        ("engine.max_tokens", 20_000, "context_too_short", "/engine/max_tokens", "16384"),
        ("engine.version", "newest", "unknown_id", "/engine/version", ""),
        ("traffic.shape", {"kind": "business_hours", "peak_to_mean": 10}, "out_of", "/traffic/shape/peak_to_mean", ""),
        ("priced_at", "2021-01-01", "price_unknown", "/hardware/gpus/1", ""),
    ],
)  # fmt: skip
def test_a_fault_that_the_catalog_shows(path, value, code, pointer, hint):
    found = [error for error in faults(changed(path, value)) if error.pointer == pointer]
    assert found
    assert found[0].code.startswith(code)
    assert hint in found[0].allowed + found[0].detail


@pytest.mark.parametrize(("given", "end"), [("H100", "?"), ("H999", ".")])
def test_a_detail_that_asks_ends_with_its_question_mark(given, end):
    fault = next(each for each in faults(changed("hardware.gpus", [given])) if each.pointer == "/hardware/gpus/0")
    assert fault.detail.endswith(end)
    assert not fault.detail.endswith("?.")


def test_catalog_faults_come_with_the_others():
    bad = changed("model.id", "no-such-model")
    bad["slo"] = {"ttft_p95_ms": 1}
    bad["hardware"]["gpus"] = ["H999"]
    assert {error.pointer for error in faults(bad)} >= {"/model/id", "/slo/ttft_p95_ms", "/hardware/gpus/0"}


def test_every_problem_of_a_pasted_config_is_told():
    found = faults(changed("model", {"hf_config": {"model_type": "llama", "hidden_size": -1}}))
    assert len(found) > 1
    assert all(error.pointer.startswith("/model/hf_config") for error in found)


def test_forgiving_names_have_one_digest():
    loose = changed("hardware.gpus", ["h100 sxm 80gb", "h200-sxm-141gb"])
    loose["model"]["id"] = "Llama-3.3-70B"
    loose["hardware"]["price_overrides"] = {"h100-sxm5-80gb": {"usd_per_gpu_hour": 3.2}}
    strict = changed("name", "Support chat")
    assert scenario_digest(parse_scenario(loose)) == scenario_digest(parse_scenario(strict))


def test_a_name_that_announces_a_format_keeps_it():
    scenario = parse_scenario(changed("model", {"id": "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"}))
    assert "FP8" in canonical_json(scenario)


def test_an_unknown_trace_and_a_bad_one():
    shape = {"kind": "constant"}
    found = faults(changed("traffic", {"trace": {"builtin": "azure"}, "shape": shape}))
    assert [(e.code, e.pointer) for e in found] == [("unknown_id", "/traffic/trace/builtin")]
    found = faults(changed("traffic", {"trace": {"csv": "a,b\n"}, "shape": shape}))
    assert [(e.code, e.pointer) for e in found] == [("trace_columns", "/traffic/trace/csv")]
    found = faults(changed("traffic", {"trace": {"rows": [[0, 1, 1]]}, "shape": shape}))
    assert [(e.code, e.pointer) for e in found] == [("trace_single_row", "/traffic/trace/rows")]


def test_a_price_for_a_gpu_that_is_not_tried_is_a_slip():
    found = faults(changed("hardware.gpus", ["H200-SXM-141GB"]))
    assert [(e.code, e.pointer) for e in found] == [("unused_price", "/hardware/price_overrides/H100-SXM5-80GB")]


def test_28_heads_on_8_gpus():
    """R1-Distill-Qwen-7B: 28 heads, 4 KV heads, intermediate 18,944. Valid are 1, 2 and 4, not 7, 14 or 28."""
    config = {"model_type": "qwen2", "num_attention_heads": 28, "num_key_value_heads": 4, "intermediate_size": 18944,
              "hidden_size": 3584, "num_hidden_layers": 28, "vocab_size": 152064,
              "max_position_embeddings": 131072}  # fmt: skip
    document = changed("model", {"hf_config": config})
    document["hardware"]["tensor_parallel"] = [1, 2, 4, 7, 8, 14, 28]
    found = faults(document)
    assert [error.given for error in found] == ["7", "8", "14", "28"]
    assert {error.allowed for error in found} == {"1, 2, 4"}
