"""Memory questions that people asked in public, with the answers that engines logged."""

import pytest

from costmodel import MeasuredMemory, load_catalog, memory_plan, model_from_hf_config
from costmodel.deployment.dtypes import BYTES_PER_PARAM
from costmodel.deployment.feasibility import sequence_kv_gib
from costmodel.memory.plan import kv_blocks
from tests.costmodel.builders import deploy

LOGS = (
    "https://github.com/llm-d-incubation/llm-d-planner/blob/e50305af90f0812e77e1827f3bc740fe75b76370"
    "/docs/empirical-vllm-memory-results.md"
)


@pytest.mark.parametrize(
    ("model", "tp", "weights_gib", "kv_gib", "bytes_per_token", "tokens", "concurrency", "low", "high"),
    [
        ("meta-llama/Llama-3.1-8B-Instruct", 1, 14.99, 51.38, 131072, 420904, 26.31, 0.95, 1.05),
        ("Qwen/Qwen3-32B", 1, 61.03, 4.45, 262144, 18227, 1.14, 0.88, 1.23),
        ("Qwen/Qwen3-32B", 2, 30.59, 34.49, 131072, 282542, 17.66, 0.95, 1.05),
    ],
)
def test_pool_of_an_h100_as_logged(  # source: LOGS, vLLM 0.11.0, utilization 0.9, context 16,000, blocks of 128
    model: str,
    tp: int,
    weights_gib: float,
    kv_gib: float,
    bytes_per_token: int,
    tokens: int,
    concurrency: float,
    low: float,
    high: float,
) -> None:
    plan = memory_plan(deploy(model, tp=tp, max_model_len=16_000, gpu_memory_utilization=0.9, block_size=128))
    assert plan.fits
    assert plan.weights_gib == pytest.approx(weights_gib, rel=0.03)
    assert low * kv_gib <= plan.kv_pool_gib <= high * kv_gib
    assert plan.kv_bytes_per_token == bytes_per_token
    assert low * tokens <= plan.kv_tokens <= high * tokens
    assert low * concurrency <= plan.max_concurrency <= high * concurrency


def test_mistral_small_with_its_measured_lines() -> None:  # source: LOGS
    given = MeasuredMemory(weights_gib=44.76, activation_gib=2.12, non_torch_gib=0.14)
    deployment = deploy(
        "mistralai/Mistral-Small-3.2-24B-Instruct-2506",
        max_model_len=16_000,
        gpu_memory_utilization=0.95,
        block_size=128,
    )
    plan = memory_plan(deployment, given)
    assert plan.kv_bytes_per_token == 163_840
    assert plan.kv_tokens == pytest.approx(184_832, rel=0.01)
    assert plan.max_concurrency == pytest.approx(11.55, rel=0.01)
    assert -(-15_049 // deployment.block_size) == 118


@pytest.mark.parametrize(("utilization", "kv_gib"), [(0.9, -0.63), (0.95, 3.33)])
def test_a_published_row_only_adds_up_at_another_utilization(utilization: float, kv_gib: float) -> None:  # source: LOGS
    given = MeasuredMemory(weights_gib=64.38, activation_gib=7.38, non_torch_gib=0.13)
    plan = memory_plan(deploy("openai/gpt-oss-120b", gpu_memory_utilization=utilization, max_model_len=4096), given)
    assert plan.kv_pool_gib == pytest.approx(kv_gib, abs=0.05)


def test_gpt_oss_120b_loads_what_the_log_says() -> None:  # source: LOGS: weights 64.38, activation 7.38 GiB
    plan = memory_plan(deploy("openai/gpt-oss-120b", gpu_memory_utilization=0.9))
    assert plan.weights_gib == pytest.approx(64.38, rel=0.01)
    assert -plan.lines[3].gib == pytest.approx(7.38, rel=0.02)
    assert plan.problem is not None
    assert plan.problem.code == "no_kv_cache_room"


def test_rtx_3090_blocks() -> None:  # https://github.com/vllm-project/vllm/issues/10517
    deployment = deploy(gpu="RTX-4090", gpu_total_gib=23.58, gpu_memory_utilization=0.9, max_model_len=20_000)
    plan = memory_plan(deployment, MeasuredMemory(weights_gib=14.99, kv_pool_gib=3.81))
    assert plan.kv_blocks == pytest.approx(1952, rel=0.002)
    assert plan.kv_tokens == pytest.approx(31_232, rel=0.002)
    assert plan.max_concurrency == pytest.approx(1.56, rel=0.01)


def test_pipeline_stages_hold_the_cache_of_their_own_layers() -> (
    None
):  # https://github.com/vllm-project/vllm/issues/34076
    deployment = deploy("Qwen/Qwen3-Coder-30B-A3B-Instruct-FP8", pp=2, layer_partition=(16, 32), max_model_len=262_144)
    assert sequence_kv_gib(deployment, 0, 262_144) == pytest.approx(8.0, rel=0.001)
    assert sequence_kv_gib(deployment, 1, 262_144) == pytest.approx(16.0, rel=0.001)
    plan = memory_plan(deployment)
    assert plan.stage == 1
    assert plan.concurrency_at(262_144) == min(stage.sequences(262_144) for stage in plan.stages)


def test_70b_in_8_bit_keeps_its_16_bit_ends() -> None:  # https://github.com/vllm-project/vllm/pull/12569
    deployment = deploy(
        "Meta-Llama-3.1-70B-Instruct", weight_dtype="int8", gpu_memory_utilization=0.98, max_model_len=2048
    )
    predicted = memory_plan(deployment)
    assert predicted.weights_gib == pytest.approx(67.72, rel=0.002)
    blocks_gib = 1381 * 16 * 327_680 / 2**30
    plan = memory_plan(deployment, MeasuredMemory(kv_pool_gib=blocks_gib))
    assert plan.kv_tokens == 22_096
    assert plan.max_concurrency == pytest.approx(10.79, abs=0.01)
    assert plan.kv_pool_gib == pytest.approx(6.74, rel=0.005)


@pytest.mark.parametrize(
    ("engine", "pool_gib", "tokens", "tolerance"),
    [("vllm", 8.11, 178_880, 0.02), ("sglang", 16.46, 367_404, 0.005)],
)
def test_two_engines_take_the_same_bytes_per_token(  # https://github.com/vllm-project/vllm/issues/21348
    engine: str, pool_gib: float, tokens: int, tolerance: float
) -> None:
    deployment = deploy("Qwen/Qwen3-235B-A22B-FP8", tp=4, engine=engine, max_model_len=40_960)
    plan = memory_plan(deployment, MeasuredMemory(kv_pool_gib=pool_gib))
    assert plan.kv_bytes_per_token == 48_128
    assert plan.kv_tokens == pytest.approx(tokens, rel=tolerance)


def test_maximum_concurrency_is_tokens_over_length() -> None:  # https://github.com/vllm-project/vllm/pull/13596
    pool_gib = 2_042_016 * 131_072 / 2**30
    plan = memory_plan(deploy(max_model_len=2048), MeasuredMemory(kv_pool_gib=pool_gib))
    assert plan.kv_blocks == 127_626
    assert plan.max_concurrency == pytest.approx(997.08, abs=0.01)


GEMMA_31B = {
    "model_type": "gemma4_text",
    "hidden_size": 5376,
    "num_hidden_layers": 60,
    "num_attention_heads": 32,
    "num_key_value_heads": 16,
    "head_dim": 256,
    "num_global_key_value_heads": 4,
    "global_head_dim": 512,
    "sliding_window": 1024,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 10,
    "intermediate_size": 21504,
    "vocab_size": 262144,
    "max_position_embeddings": 262144,
}


def test_gemma_4_holds_global_layers_and_windows() -> None:
    # https://fitllm.run/can-i-run/why-naive-vram-calculators-are-wrong: 20.78 GiB, not 220
    deployment = deploy("google/gemma-4-31B", "H200", version="0.22.1")
    assert sequence_kv_gib(deployment, 0, 262_144) == pytest.approx(20.78, rel=0.01)
    model = model_from_hf_config(GEMMA_31B)
    naive = sum(group.kv_values_per_token * group.kv_layers * 2 for group in model.attention)
    assert naive == 880 * 1024
    assert naive * 262_144 / 2**30 == pytest.approx(220.0, rel=0.01)


def test_gemma_4_effective_bytes_per_token_as_logged() -> (
    None
):  # https://github.com/redhat-performance/configiq/issues/112
    deployment = deploy("google/gemma-4-31B", "H200", version="0.22.1", max_model_len=262_144)
    plan = memory_plan(deployment, MeasuredMemory(kv_pool_gib=64.68))
    assert plan.kv_bytes_per_token / 1024 == pytest.approx(108.2, rel=0.01)
    assert plan.kv_tokens == pytest.approx(626_949, rel=0.01)
    shorter = memory_plan(deploy("google/gemma-4-31B", "H200", version="0.22.1", max_model_len=32_768))
    assert shorter.kv_bytes_per_token > plan.kv_bytes_per_token


def test_qwen_3_6_hybrid_holds_16_layers_and_a_state() -> None:
    # https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1862: four sequences share 262,144 tokens
    deployment = deploy("Qwen/Qwen3.6-27B")
    shape = memory_plan(deployment).stages[0].cache
    assert shape.bytes_per_token * 262_144 / 2**20 == pytest.approx(16_384, rel=0.001)
    naive_bytes_per_token = 64 * 2 * 4 * 256 * 2
    assert naive_bytes_per_token * 262_144 / 2**20 == pytest.approx(65_536, rel=0.001)
    assert 4 * shape.state_bytes / 2**20 == pytest.approx(598.5, rel=0.02)  # the log keeps the convolution in FP32 too


def test_latent_cache_stands_whole_on_every_rank() -> None:  # https://github.com/kaito-project/kaito/pull/2139
    plan = memory_plan(deploy("deepseek-ai/DeepSeek-R1", "H200", tp=8))
    assert plan.kv_bytes_per_token == 70_272
    assert plan.kv_bytes_per_token / 8 == 8_784


@pytest.mark.parametrize(("version", "fraction"), [("0.10.2", 0.9), ("0.22.1", 0.92)])
def test_default_fraction_by_version(version: str, fraction: float) -> None:
    # https://docs.vllm.ai/en/stable/api/vllm/config/cache/
    assert deploy(version=version).gpu_memory_utilization == fraction


def test_graphs_are_reserved_from_0_21_on() -> None:  # https://github.com/vllm-project/vllm/issues/45178
    before = memory_plan(deploy(version="0.19.0", gpu_memory_utilization=0.9))
    after = memory_plan(deploy(version="0.21.0", gpu_memory_utilization=0.9))
    assert after.kv_pool_gib < before.kv_pool_gib
    assert "cuda_graphs" in [line.key for line in after.lines]


def test_70b_on_four_h100_holds_105_sequences_not_360() -> None:  # https://github.com/ai-runway/airunway/issues/139
    given = MeasuredMemory(activation_gib=4.84, non_torch_gib=0.6)
    knobs = {"tp": 4, "max_model_len": 4096, "gpu_memory_utilization": 0.9}
    plain = memory_plan(deploy("Llama-3-70B", **knobs), given)
    assert plain.sequences_at(4096) == pytest.approx(105, rel=0.1)
    eight_bit = memory_plan(deploy("Llama-3-70B", weight_dtype="fp8", kv_dtype="fp8", **knobs), given)
    assert eight_bit.sequences_at(4096) == pytest.approx(315, rel=0.1)


def test_users_of_10k_tokens_on_an_a100() -> None:
    # https://www.doubleword.ai/resources/behind-the-stack-ep-2-how-many-users-can-my-gpu-serve
    given = MeasuredMemory(weights_gib=14.99, activation_gib=4.76, non_torch_gib=0.13)
    plan = memory_plan(deploy("Llama-3.1-8B", "A100-SXM-80GB", gpu_memory_utilization=0.9), given)
    assert plan.sequences_at(10_000) == pytest.approx(42, abs=1)
    assert int((80e9 - 16e9) / (10_000 * 131_072)) == pytest.approx(49, abs=1)


@pytest.mark.parametrize(("engine", "kv_gib"), [("vllm", 22.0), ("tensorrt-llm", 27.0)])
def test_one_fraction_two_meanings(engine: str, kv_gib: float) -> None:
    # https://github.com/ai-dynamo/aiconfigurator/issues/1159: 80 GiB, 50 GiB of it not KV, fraction 0.9
    given = MeasuredMemory(weights_gib=45.0, activation_gib=4.9, non_torch_gib=0.1)
    deployment = deploy(engine=engine, gpu_total_gib=80.0, gpu_memory_utilization=0.9, max_model_len=4096)
    assert memory_plan(deployment, given).kv_pool_gib == pytest.approx(kv_gib, abs=0.01)


def test_decimal_gigabytes_throw_memory_away() -> None:  # https://github.com/alvarobartt/hf-mem/issues/33
    h100 = load_catalog().accelerator("H100-80GB-SXM")
    decimal_gib = h100.memory_gb * 1e9 / 2**30
    assert h100.memory_gib == 79.18
    assert decimal_gib == pytest.approx(74.51, abs=0.05)
    assert 100 * (h100.memory_gib / decimal_gib - 1) == pytest.approx(6.3, abs=0.5)


def test_all_experts_must_be_resident() -> None:  # https://github.com/AlexsJones/llmfit/issues/230
    model = load_catalog().model("Qwen3.5-122B-A10B")
    assert model.params_active < 0.1 * model.params_total
    assert model.params_total * 0.58 / 1e9 == pytest.approx(72.6, rel=0.03)
    assert model.params_total * BYTES_PER_PARAM["w4a16"] / 1e9 > 48
    small = memory_plan(deploy("Qwen3.5-122B-A10B", "A40", gpu_total_gib=48 * 1e9 / 2**30, weight_dtype="w4a16"))
    assert not small.fits


def test_block_arithmetic_of_a_pool() -> None:
    assert kv_blocks(3.81 * 2**30, 131_072, 16) == pytest.approx(1952, rel=0.002)
    assert kv_blocks(-1.0, 131_072, 16) == 0
