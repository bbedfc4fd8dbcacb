"""Feasibility questions that people asked in public: does it run, and if not, what is the nearest thing that does?"""

import pytest

from costmodel import (
    MeasuredMemory,
    Parallelism,
    UnknownIdError,
    checkpoint_bytes,
    divisibility_problems,
    load_catalog,
    memory_plan,
    minimum_gpus,
    minimum_tp,
    model_from_sizes,
    ranked_fixes,
    valid_tp,
)
from costmodel.deployment.parallelism import divisors
from tests.costmodel.builders import deploy


def test_70b_fp8_does_not_run_on_one_h100() -> None:
    # https://github.com/llm-d-incubation/llm-d-planner docs/empirical-vllm-memory-results.md: measured failure
    deployment = deploy("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", gpu_memory_utilization=0.9, max_model_len=16_000)
    plan = memory_plan(deployment)
    assert plan.weights_gib == pytest.approx(67.72, rel=0.005)
    assert plan.kv_pool_gib == pytest.approx(-1.44, abs=1.0)
    assert not plan.fits
    assert plan.problem is not None
    assert plan.problem.code == "no_kv_cache_room"
    assert minimum_tp(deployment) == 2
    assert plan.problem.nearest_change[0] == "2 GPUs TP=2"


def test_deepseek_r1_takes_two_nodes_of_h100() -> None:  # the same page; whole nodes of 8, utilization 0.9
    deployment = deploy("deepseek-ai/DeepSeek-R1", gpu_memory_utilization=0.9, max_model_len=16_000)
    plan = memory_plan(deployment)
    assert plan.problem is not None
    assert plan.problem.code == "weights_exceed_gpu_memory"
    assert plan.weights_gib >= 620
    assert checkpoint_bytes(deployment.model) / 2**30 == pytest.approx(641, abs=1.5)
    assert minimum_gpus(deployment) == 16
    assert "16 GPUs (2 whole nodes of 8)" in plan.problem.detail


def test_28_heads_do_not_run_at_tp_8() -> None:  # https://github.com/THU-KEG/AdaptThink/issues/1
    model = load_catalog().model("deepseek-ai/DeepSeek-R1-Distill-Qwen-7B")
    assert (model.n_heads, model.n_kv_heads, model.mlp[0].intermediate) == (28, 4, 18_944)
    problems = divisibility_problems(model, Parallelism(tp=8))
    assert problems[0].code == "tp_does_not_divide_heads"
    assert problems[0].allowed == ("1", "2", "4")
    assert problems[0].nearest_change[0] == "TP=4 with 2 replicas"
    assert valid_tp(model) == (1, 2, 4)


def test_three_gpus_for_a_70b() -> None:  # https://github.com/vllm-project/vllm/issues/5003
    given = MeasuredMemory(activation_gib=4.84, non_torch_gib=0.55)
    three = {"gpu": "A100-SXM-80GB", "gpu_memory_utilization": 0.9, "max_model_len": 4096}
    assert divisibility_problems(load_catalog().model("Llama-3-70B"), Parallelism(tp=3))
    two = memory_plan(deploy("Llama-3-70B", tp=2, **three), given)
    assert two.weights_gib == pytest.approx(65.7, rel=0.01)
    assert two.kv_pool_gib == pytest.approx(0.14, abs=0.1)
    assert not two.fits
    labels = [fix.label for fix in ranked_fixes(deploy("Llama-3-70B", tp=2, **three), gpus=3, measured=given)]
    assert labels[0] == "4 GPUs TP=4"
    assert labels[1] == "3 GPUs TP=1 PP=3 (layers split 27/27/26)"
    assert any(label.startswith("2 GPUs TP=2 with int8 weights") for label in labels)


def test_52_heads_do_not_run_at_tp_8() -> None:  # https://github.com/vllm-project/vllm/issues/2652
    model = model_from_sizes(layers=60, hidden=6656, n_heads=52, n_kv_heads=52, intermediate=17_920, vocab=32_000)
    codes = [problem.code for problem in divisibility_problems(model, Parallelism(tp=8))]
    assert "tp_does_not_divide_heads" in codes
    assert divisors(52) == (1, 2, 4, 13, 26, 52)


def test_h100_is_three_products() -> None:  # https://github.com/NVIDIA/TensorRT-LLM/issues/6294
    catalog = load_catalog()
    with pytest.raises(UnknownIdError) as caught:
        catalog.accelerator("H100")
    assert caught.value.code == "ambiguous_id"
    assert set(caught.value.suggestions) >= {"H100-SXM5-80GB", "H100-PCIe-80GB", "H100-NVL-94GB"}
    sxm, pcie = catalog.accelerator("H100-SXM"), catalog.accelerator("H100-PCIe")
    ratio = pcie.memory_bandwidth_gb_per_s / sxm.memory_bandwidth_gb_per_s
    assert ratio == pytest.approx(0.6, abs=0.05)
