"""The subtraction must add up, and what it leaves must follow the physics whatever the settings."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel import DeploymentError, MeasuredMemory, load_catalog, memory_plan, valid_tp
from tests.costmodel.builders import deploy

MODELS = (
    "meta-llama/Llama-3.1-8B-Instruct",
    "meta-llama/Llama-3.3-70B-Instruct",
    "openai/gpt-oss-120b",
    "google/gemma-3-27b-it",
    "deepseek-ai/DeepSeek-R1",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Flash",
    "Qwen/Qwen3.5-35B-A3B",
    "nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "meta-llama/Llama-4-Scout-17B-16E-Instruct",
    "microsoft/Phi-3-mini-4k-instruct",
)
deployments = st.builds(
    deploy,
    model=st.sampled_from(MODELS),
    gpu=st.sampled_from(("h100-sxm", "H200", "B200", "A100-SXM-80GB", "L4", "MI300X")),
    tp=st.sampled_from((1, 2, 4, 8)),
    pp=st.sampled_from((1, 2)),
    engine=st.sampled_from(("vllm", "sglang", "tensorrt-llm")),
    version=st.none(),
    weight_dtype=st.sampled_from(("native", "bf16", "fp8", "w4a16", "fp4")),
    kv_dtype=st.sampled_from(("auto", "fp8")),
    max_model_len=st.integers(min_value=1, max_value=200_000),
    gpu_memory_utilization=st.sampled_from((None, 0.5, 0.9, 1.0)),
)


@given(deployments)
@settings(max_examples=60, deadline=None)
def test_the_lines_add_up_to_the_pool(deployment) -> None:
    plan = memory_plan(deployment)
    assert sum(line.gib for line in plan.lines[:-1]) == plan.lines[-1].gib
    assert plan.lines[-1].key == "kv_pool"
    assert plan.kv_pool_bytes == int(plan.lines[-1].gib * 2**30)
    assert all(line.formula and line.basis for line in plan.lines)


@given(deployments, st.integers(min_value=1, max_value=100_000))
@settings(max_examples=60, deadline=None)
def test_figures_multiply_out(deployment, context: int) -> None:
    plan = memory_plan(deployment)
    assert plan.kv_blocks * deployment.block_size <= plan.kv_tokens + deployment.block_size
    assert plan.kv_tokens * plan.kv_bytes_per_token <= max(0, plan.kv_pool_bytes) * 1.001 + 1
    assert plan.fits == (plan.problem is None)
    if plan.fits:
        assert plan.max_concurrency >= 1
        assert plan.sequences_at(deployment.max_model_len) >= 1
    assert plan.concurrency_at(context) >= plan.concurrency_at(context + 1)


@given(deployments)
@settings(max_examples=30, deadline=None)
def test_a_misfit_names_its_cause_and_a_way_out_that_fits(deployment) -> None:
    plan = memory_plan(deployment)
    if plan.problem is not None:
        assert plan.problem.code in ("weights_exceed_gpu_memory", "no_kv_cache_room", "context_exceeds_kv_pool")
        assert any(character.isdigit() for character in plan.problem.detail)


def test_a_longer_context_than_the_pool_names_the_longest_that_fits() -> None:
    plan = memory_plan(deploy("Qwen/Qwen3-32B", max_model_len=40_960, gpu_memory_utilization=0.9))
    assert plan.problem is not None
    assert plan.problem.code == "context_exceeds_kv_pool"
    longest = int(plan.problem.nearest_change[0].removeprefix("max_model_len="))
    assert memory_plan(deploy("Qwen/Qwen3-32B", max_model_len=longest, gpu_memory_utilization=0.9)).fits
    assert not memory_plan(deploy("Qwen/Qwen3-32B", max_model_len=longest + 16, gpu_memory_utilization=0.9)).fits


@pytest.mark.parametrize("model", MODELS)
def test_more_ranks_never_take_more_memory_each(model: str) -> None:
    sizes = [tp for tp in valid_tp(load_catalog().model(model), 8) if tp in (1, 2, 4, 8)]
    plans = [memory_plan(deploy(model, tp=tp, max_model_len=4096)) for tp in sizes]
    weights = [plan.weights_gib for plan in plans]
    assert weights == sorted(weights, reverse=True)
    caches = [plan.stages[0].cache.bytes_per_token_unbounded for plan in plans]
    assert caches == sorted(caches, reverse=True)


def test_kv_heads_repeat_beyond_their_number() -> None:
    four, eight, sixteen = (memory_plan(deploy("Qwen/Qwen3-32B", tp=tp)).kv_bytes_per_token for tp in (4, 8, 16))
    assert four == 2 * eight
    assert eight == sixteen


def test_fp8_halves_the_cache() -> None:
    half = memory_plan(deploy(kv_dtype="fp8"))
    assert 2 * half.kv_bytes_per_token == memory_plan(deploy()).kv_bytes_per_token


def test_pipeline_stages_sum_to_the_whole_model() -> None:
    whole = memory_plan(deploy("Llama-3.3-70B", max_model_len=4096))
    split = memory_plan(deploy("Llama-3.3-70B", pp=4, max_model_len=4096))
    assert sum(stage.weights_gib for stage in split.stages) == pytest.approx(whole.weights_gib)
    assert sum(stage.cache.bytes_per_token for stage in split.stages) == whole.kv_bytes_per_token


def test_expert_parallelism_divides_experts_like_tensor_parallelism() -> None:
    tensor = memory_plan(deploy("deepseek-ai/DeepSeek-R1", "H200", tp=8))
    expert = memory_plan(deploy("deepseek-ai/DeepSeek-R1", "H200", tp=8, ep=8))
    assert expert.weights_gib == pytest.approx(tensor.weights_gib)
    attention_dp = memory_plan(deploy("deepseek-ai/DeepSeek-R1", "H200", tp=1, dp=8, ep=8))
    assert attention_dp.weights_gib > expert.weights_gib


def test_windowed_layers_stop_growing_at_their_window() -> None:
    shape = memory_plan(deploy("openai/gpt-oss-120b", "H200")).stages[0].cache
    assert shape.sequence_bytes(8192) - shape.sequence_bytes(4096) == 4096 * shape.bytes_per_token
    assert shape.bytes_per_token == 36_864


def test_without_the_hybrid_allocator_windows_hold_everything() -> None:
    plan = memory_plan(deploy("google/gemma-3-27b-it", "H200", version="0.9.2"))
    assert plan.kv_bytes_per_token == 81_920 + 425_984


def test_sparse_fp8_latents_have_their_own_layout() -> None:
    plan = memory_plan(deploy("deepseek-ai/DeepSeek-V3.2", "H200", tp=8, kv_dtype="fp8"))
    assert plan.kv_bytes_per_token == 61 * (656 + 132)


def test_given_lines_replace_predictions_and_say_so() -> None:
    plan = memory_plan(deploy(), MeasuredMemory(activation_gib=1.0))
    line = next(line for line in plan.lines if line.key == "activation")
    assert line.gib == -1.0
    assert line.basis == "given by the user"


def test_blocks_of_a_plain_pool_follow_the_context_of_windowed_models() -> None:
    plan = memory_plan(deploy("openai/gpt-oss-120b", "H200", max_model_len=131_072))
    assert plan.blocks_at(131_072) >= plan.kv_blocks > plan.blocks_at(256)
    plain = memory_plan(deploy(max_model_len=4096))
    assert plain.blocks_at(4096) == pytest.approx(plain.kv_blocks, rel=1e-3)


def test_bad_knobs_are_all_named() -> None:
    with pytest.raises(DeploymentError) as caught:
        deploy(
            weight_dtype="fp7",
            kv_dtype="fp3",
            max_model_len=0,
            max_num_seqs=-1,
            gpu_memory_utilization=float("nan"),
            block_size=True,
        )
    fields = {problem.field for problem in caught.value.problems}
    assert fields >= {
        "weight_dtype",
        "kv_dtype",
        "max_model_len",
        "max_num_seqs",
        "gpu_memory_utilization",
        "block_size",
    }


def test_a_layer_partition_must_cover_the_model() -> None:
    with pytest.raises(DeploymentError) as caught:
        deploy(pp=2, layer_partition=(16, 17))
    assert caught.value.problems[0].code == "bad_layer_partition"


# Rows of engine logs: model, GPU, ranks, version, fraction, context, sequences, batched tokens, eager, logged tokens.
LOGGED = [
    ("meta-llama/Llama-2-7b-hf", "h100-sxm", 1, "0.15.1", 4096, 128, 2048, False, 119_408),
    ("mistralai/Mistral-Nemo-Instruct-2407", "h100-sxm", 2, "0.15.1", None, 128, 1024, False, 768_144),
    ("mistralai/Mistral-Nemo-Instruct-2407", "h100-sxm", 1, "0.15.1", None, 128, 2048, False, 308_016),
    ("01-ai/Yi-34B", "h100-sxm", 2, "0.15.1", None, 128, 2048, False, 332_688),
    ("meta-llama/Llama-3.1-8B-Instruct", "A100-SXM-40GB", 1, "0.15.1", 131_072, None, 8192, True, 157_936),
    ("Qwen/Qwen3-0.6B", "L40S", 1, "0.12.0", 16_000, None, None, False, 350_304),
]


@pytest.mark.parametrize("row", LOGGED, ids=[f"{row[0]}-tp{row[2]}" for row in LOGGED])
def test_logged_pools_are_predicted_within_two_percent(row) -> None:
    # https://github.com/inference-sim/inference-sim/blob/main/testdata/trained_physics_iter29.json and public READMEs
    model, gpu, tp, version, length, seqs, tokens, eager, logged = row
    deployment = deploy(
        model,
        gpu,
        tp=tp,
        version=version,
        gpu_memory_utilization=0.9,
        max_model_len=length,
        max_num_seqs=seqs,
        max_num_batched_tokens=tokens,
        enforce_eager=eager,
    )
    assert memory_plan(deployment).kv_tokens == pytest.approx(logged, rel=0.02)
