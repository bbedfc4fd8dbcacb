"""Published questions about what fits and what does not, asked of whole plans."""

from planner.planning import parse_scenario, plan
from tests.planning.scenarios import changed


def first_reason(model, gpu, tp, **engine):
    document = changed("model", model)
    document["hardware"] = {"gpus": [gpu], "tensor_parallel": [tp]}
    document["engine"] = {"max_model_len": 16_000, **engine}
    return plan(parse_scenario(document))["candidates"][0]["reason"]


def test_70b_in_fp8_on_one_h100_has_no_room_for_a_kv_cache():
    model = {"id": "RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic"}
    reason = first_reason(model, "H100-SXM5-80GB", 1, version="0.11.0", gpu_memory_utilization=0.9)
    assert reason["code"] == "no_kv_cache_room"
    assert "smallest TP that fits is 2" in reason["detail"]


def test_deepseek_r1_on_one_h100():
    reason = first_reason({"id": "deepseek-ai/DeepSeek-R1"}, "H100-SXM5-80GB", 1, gpu_memory_utilization=0.9)
    assert reason["code"] == "weights_exceed_gpu_memory"
    assert "16 GPUs (2 whole nodes of 8)" in reason["detail"]


def test_all_experts_are_resident():
    """125 B parameters of which 10 B are active do not fit into 48 GB at 4 bits."""
    chip = {"id": "48 GB", "memory_gib": 44.7, "memory_bandwidth_gb_per_s": 960, "bf16_dense_tflops": 360,
            "interconnect_gb_per_s": 32, "usd_per_gpu_hour": 1}  # fmt: skip
    model = {"id": "Qwen/Qwen3.5-122B-A10B", "weight_dtype": "w4a16"}
    assert first_reason(model, chip, 1)["code"] == "weights_exceed_gpu_memory"


def test_a_context_longer_than_the_pool_names_the_longest_that_fits():
    reason = first_reason({"id": "meta-llama/Llama-3.3-70B-Instruct", "weight_dtype": "fp8"}, "H200-SXM-141GB", 1,
                          max_model_len=131_072, gpu_memory_utilization=0.6)  # fmt: skip
    assert reason["code"] == "context_exceeds_kv_pool"
    assert "max_model_len=" in reason["nearest_change"].lower()
