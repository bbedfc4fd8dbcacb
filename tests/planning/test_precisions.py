"""Number formats as something to choose: which are tried, what becomes of the plan, what a form keeps."""

import pytest

from costmodel import load_catalog
from planner.planning import canonical_json, estimate_scenario, form_to_scenario, parse_scenario, plan
from planner.planning.schema.model import Model
from planner.planning.search.precisions import precisions_of
from tests.planning.scenarios import changed, errors_of

LLAMA = "meta-llama/Llama-3.1-8B-Instruct"


def tried(model_id, gpu, weights="any", cache="auto"):
    catalog = load_catalog()
    asked = Model(id=model_id, weight_dtype=weights, kv_dtype=cache)
    return [
        (p.weight_dtype, p.kv_dtype) for p in precisions_of(asked, catalog.model(model_id), catalog.accelerator(gpu))
    ]


@pytest.mark.parametrize(
    ("gpu", "formats"),
    [
        ("H100-SXM5-80GB", ["native", "fp8", "w4a16"]),
        ("A100-SXM4-80GB", ["native", "int8", "w4a16"]),
        ("B200-SXM", ["native", "fp8", "w4a16", "fp4"]),
    ],
)
def test_any_is_what_ships_and_each_smaller_format_that_the_accelerator_computes_with(gpu, formats):
    assert [weights for weights, _ in tried(LLAMA, gpu)] == formats


def test_nothing_wider_than_what_ships_is_tried():
    assert tried("deepseek-ai/DeepSeek-R1", "H200-SXM-141GB") == [("native", "auto"), ("w4a16", "auto")]
    assert tried("openai/gpt-oss-120b", "B200-SXM") == [("native", "auto")]


def test_a_format_named_twice_is_tried_once():
    assert tried(LLAMA, "H100-SXM5-80GB", ["native", "bf16", "fp8"], ["auto", "bf16"]) == [
        ("native", "auto"), ("fp8", "auto"),
    ]  # fmt: skip
    assert tried(LLAMA, "A100-SXM4-80GB", "native", "any") == [("native", "auto")]


def small(**model):
    document = changed("model", {"id": LLAMA, **model})
    document["hardware"] = {"gpus": ["L40S"], "tensor_parallel": [1],
                            "price_overrides": {"L40S": {"usd_per_gpu_hour": 1.0}}}  # fmt: skip
    document["traffic"]["prefix"] = {"kind": "none"}
    return document


def test_each_format_is_a_candidate_and_the_cheapest_is_recommended_beside_the_others():
    report = plan(parse_scenario(small(weight_dtype=["bf16", "fp8"], kv_dtype="any")))
    ids = [row["id"] for row in report["candidates"]]
    assert ids == [f"L40S/tp1-{w}-kv_{kv}" for w in ("bf16", "fp8") for kv in ("bf16", "fp8")]
    alone = plan(parse_scenario(small(weight_dtype="fp8", kv_dtype="fp8")))
    both = next(row for row in report["candidates"] if row["id"] == "L40S/tp1-fp8-kv_fp8")
    for key in ("serving_replicas", "kv_tokens", "weight_dtype", "kv_dtype", "binding"):
        assert both[key] == alone["candidates"][0][key]
    assert both["capacity_rps"]["mid"] == alone["candidates"][0]["capacity_rps"]["mid"]
    assert alone["precisions"] == []
    rows = report["precisions"]
    costs = [row["usd_per_month"]["mid"] for row in rows]
    assert costs == sorted(costs)
    assert rows[0]["candidate"] == report["recommended"]["candidate"]
    assert rows[0]["chosen"]
    weights = {row["weight_dtype"]: row["weights_gib"] for row in rows}
    assert weights["fp8"] / weights["bf16"] == pytest.approx(0.57, abs=0.03)  # embeddings and head stay in 16 bit
    assert "not judged" in report["verdict"]["detail"]


def test_of_fleets_that_cost_the_same_the_wider_format_is_recommended():
    document = small(weight_dtype="any", kv_dtype="any")
    document["traffic"]["arrival"]["mean_rps"] = 0.1
    for answer in (plan, estimate_scenario):
        report = answer(parse_scenario(document))
        chosen = report["recommended"] if answer is estimate_scenario else report["recommended"]["candidate"]
        assert chosen == "L40S/tp1-bf16-kv_bf16"


@pytest.mark.parametrize("given", ["fp8", ["fp8"], ("fp8", "fp8")])
def test_one_format_is_one_format_however_it_is_written(given):
    assert parse_scenario(small(weight_dtype=given)) == parse_scenario(small(weight_dtype="fp8"))


def test_a_form_says_the_same_as_a_document():
    several = canonical_json(parse_scenario(small(weight_dtype=["bf16", "fp8"])))
    fields = form_to_scenario({"model.id": LLAMA, "model.weight_dtype": "bf16, fp8"})
    assert canonical_json(parse_scenario({**small(), "model": fields["model"]})) == several
    anything = form_to_scenario({"model.id": LLAMA, "model.weight_dtype": "any", "model.kv_dtype": "fp8"})
    assert parse_scenario({**small(), "model": anything["model"]}).model.weight_dtype == "any"


@pytest.mark.parametrize(
    ("weights", "code", "where"),
    [
        ("fp9", "unknown_choice", "/model/weight_dtype"),
        (["bf16", "fp9"], "unknown_choice", "/model/weight_dtype/1"),
        (["any", "fp8"], "unknown_choice", "/model/weight_dtype/0"),
        ([], "wrong_count", "/model/weight_dtype"),
        (8, "unknown_choice", "/model/weight_dtype"),
    ],
)
def test_formats_that_there_are_not_are_named(weights, code, where):
    (fault,) = errors_of(small(weight_dtype=weights))
    assert (fault.code, fault.pointer) == (code, where)
