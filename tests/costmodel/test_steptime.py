"""Step time: the tables, their breakdown, and what the physics must do whatever the constants are."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from costmodel import Deployment, Parallelism, engine_profile, load_catalog, make_deployment
from costmodel.steptime import (
    constant_keys,
    decode_floor_s,
    prefill_floor_s,
    step_shape,
    step_time_parts,
    step_time_tables,
)
from costmodel.steptime.physics import Load, experts_touched, rounded_max

PS_PER_S = 1e12


def deployed(
    model: str = "Llama-3.3-70B", gpu: str = "H100-SXM5-80GB", engine: str = "vllm", tp: int = 2, **knobs: object
) -> Deployment:
    catalog = load_catalog()
    spread = Parallelism(tp=tp, dp=int(knobs.pop("dp", 1)), ep=int(knobs.pop("ep", 1)), pp=int(knobs.pop("pp", 1)))
    settings_ = {"max_model_len": 8192, "max_num_batched_tokens": 2048, "max_num_seqs": 256, **knobs}
    return make_deployment(catalog.model(model), catalog.accelerator(gpu), engine_profile(engine), spread, **settings_)


def step_s(deployment: Deployment, tokens: int, seats: int = 0, context: int = 0) -> float:
    tables = step_time_tables(deployment)
    picoseconds = tables.step_ps(
        tokens=tokens, decode_seqs=seats, context_tokens=context, prefill_pairs=0, prefill_seqs=0
    )
    return picoseconds / PS_PER_S


MODELS = ("Llama-3.1-8B", "Mixtral-8x7B", "DeepSeek-R1", "gpt-oss-120b", "Qwen3.5-397B-A17B", "zai-org/GLM-5")


@pytest.mark.parametrize("model", MODELS)
def test_tables_have_the_promised_shape(model: str) -> None:
    deployment = deployed(model, tp=8)
    tables = step_time_tables(deployment)
    assert tables.tokens_ps.shape == (deployment.max_num_batched_tokens + 1,)
    assert tables.seats_ps.shape == tables.context_ps.shape == (deployment.max_num_seqs + 1,)
    for column in (tables.tokens_ps, tables.seats_ps, tables.context_ps):
        assert column.dtype == np.int64
        assert (column >= 0).all()
        assert (np.diff(column) >= 0).all()
    assert tables.tokens_ps[0] == 0
    assert tables.prefill_pair_ps > 0


@pytest.mark.parametrize("model", MODELS)
def test_breakdown_sums_to_the_table(model: str) -> None:
    deployment = deployed(model, tp=8)
    work = {"tokens": 600, "decode_seqs": 88, "context_tokens": 88_000, "prefill_pairs": 131_328, "prefill_seqs": 1}
    parts = step_time_parts(deployment, **work)
    table_s = step_time_tables(deployment).step_ps(**work) / PS_PER_S
    assert sum(seconds for _, seconds, _ in parts) == pytest.approx(table_s, rel=1e-4)
    assert all(label and formula and seconds > 0 for label, seconds, formula in parts)


@settings(max_examples=30, deadline=None)
@given(
    tokens=st.integers(1, 2047), seats=st.integers(0, 255), context=st.integers(0, 10**6), tp=st.sampled_from((1, 2, 4))
)
def test_more_work_never_takes_less_time(tokens: int, seats: int, context: int, tp: int) -> None:
    deployment = deployed("Llama-3.1-8B", tp=tp)
    here = step_s(deployment, tokens, seats, context)
    assert step_s(deployment, tokens + 1, seats, context) >= here
    assert step_s(deployment, tokens, seats + 1, context) >= here
    assert step_s(deployment, tokens, seats, context + 1000) > here


def test_a_step_is_never_faster_than_the_bandwidth_floor() -> None:
    for model, tp in (("Llama-3.1-8B", 1), ("Llama-3.3-70B", 4), ("Mixtral-8x7B", 2), ("DeepSeek-R1", 8)):
        deployment = deployed(model, gpu="H200-SXM-141GB", tp=tp)
        assert step_s(deployment, 1, 1, 4000) > decode_floor_s(deployment, 4000)


def test_decode_floor_is_weights_over_bandwidth() -> None:
    deployment = deployed("Llama-3.1-8B", tp=1, weight_dtype="bf16")
    model, gpu = deployment.model, deployment.accelerator
    norms = model.params_by_component["norms"]
    matmul_bytes = 2 * (model.params_active_matmul - norms)
    by_hand = matmul_bytes / (gpu.memory_bandwidth_gb_per_s * 1e9)
    assert decode_floor_s(deployment, 0) == pytest.approx(by_hand, rel=1e-3)


def test_prefill_floor_is_two_flops_a_parameter_and_the_pairs() -> None:
    deployment = deployed("Llama-3.1-8B", tp=1, weight_dtype="bf16")
    model = deployment.model
    blocks = model.params_active_matmul - model.head_params - model.params_by_component["norms"]
    tokens = 4000
    pairs = tokens * (tokens + 1) / 2
    flops = 2 * blocks * tokens + 4 * model.layers * model.n_heads * 128 * pairs
    assert prefill_floor_s(deployment, tokens) == pytest.approx(flops / 989e12, rel=1e-3)


def test_tensor_parallelism_helps_less_than_it_divides() -> None:
    one, two = deployed(tp=1, gpu="H200-SXM-141GB"), deployed(tp=2, gpu="H200-SXM-141GB")
    assert step_s(one, 32, 32, 32_000) / 2 < step_s(two, 32, 32, 32_000) < step_s(one, 32, 32, 32_000)


def test_pcie_makes_tensor_parallelism_dearer() -> None:
    shared = {"label": "all-reduce"}
    cost = {
        gpu: next(s for label, s, _ in step_time_parts(deployed(gpu=gpu, tp=4), tokens=64) if label == shared["label"])
        for gpu in ("A100-SXM4-80GB", "A100-PCIe-80GB")
    }
    assert cost["A100-PCIe-80GB"] > 2 * cost["A100-SXM4-80GB"]


def test_fp8_is_weight_only_where_the_hardware_has_none() -> None:
    assert constant_keys(deployed(gpu="H100-SXM5-80GB", weight_dtype="fp8")).dense == "fp8"
    a100 = deployed(gpu="A100-SXM4-80GB", weight_dtype="fp8")
    assert constant_keys(a100).dense == "bf16"
    assert step_shape(a100).dense_flops == 312e12


def test_fp4_is_computed_in_16_bit_before_blackwell() -> None:
    assert step_shape(deployed(gpu="H100-SXM5-80GB", weight_dtype="fp4")).dense_flops == 989e12
    assert step_shape(deployed(gpu="B200-SXM", weight_dtype="fp4")).dense_flops == 9000e12


def test_int8_is_slow_on_hardware_that_nearly_dropped_it() -> None:
    assert step_s(deployed(gpu="B300-SXM", weight_dtype="int8"), 2048) > step_s(
        deployed(gpu="B300-SXM", weight_dtype="bf16"), 2048
    )


def test_experts_touched_from_one_token_to_many() -> None:
    shape = step_shape(deployed("Qwen3-30B-A3B", tp=1))
    assert experts_touched(shape, Load(tokens=1.0)) == pytest.approx(8)
    assert experts_touched(shape, Load(tokens=100_000.0)) == pytest.approx(128)
    assert 8 < float(experts_touched(shape, Load(tokens=4.0))) < 32


def test_latent_cache_is_not_divided_by_tensor_parallelism() -> None:
    four, eight = step_shape(deployed("DeepSeek-R1", tp=4)), step_shape(deployed("DeepSeek-R1", tp=8))
    assert four.context_bytes == eight.context_bytes
    assert four.context_flops == 2 * eight.context_flops


def test_kv_heads_replicate_beyond_their_number() -> None:
    eight, sixteen = step_shape(deployed(tp=8)), step_shape(deployed(tp=16))
    assert eight.context_bytes == sixteen.context_bytes


def test_small_windows_cost_per_sequence_and_not_per_context() -> None:
    oss = step_shape(deployed("gpt-oss-120b", tp=1))
    full_layers = 18
    assert oss.context_bytes == full_layers * 2 * 8 * 64 * 2
    assert oss.seat_bytes == full_layers * 128 * 2 * 8 * 64 * 2


def test_attention_data_parallelism_touches_the_experts_of_all_ranks() -> None:
    alone = step_shape(deployed("Qwen3-235B-A22B", tp=1, dp=1))
    ranks = step_shape(deployed("Qwen3-235B-A22B", tp=1, dp=8, ep=8))
    assert float(experts_touched(ranks, Load(tokens=4.0))) == pytest.approx(
        float(experts_touched(alone, Load(tokens=32.0)))
    )
    assert ranks.expert_shards == 8


def test_pipeline_stages_add_hand_overs_only() -> None:
    flat, staged = deployed(tp=2), deployed(tp=2, pp=2)
    parts = {label: seconds for label, seconds, _ in step_time_parts(staged, tokens=64)}
    assert step_s(staged, 64) - step_s(flat, 64) == pytest.approx(parts["pipeline hand-over"], rel=1e-3)


@given(first=st.floats(1e-9, 1e3), second=st.floats(1e-9, 1e3))
def test_rounded_max_lies_between_the_maximum_and_the_sum(first: float, second: float) -> None:
    value = float(rounded_max(first, second, 2.0))
    assert max(first, second) * (1 - 1e-9) <= value <= (first + second) * (1 + 1e-9)


def part_s(deployment: Deployment, part: str, tokens: int = 1) -> float:
    return {label: seconds for label, seconds, _ in step_time_parts(deployment, tokens=tokens)}[part]


def test_matrices_cut_small_compute_less_efficiently() -> None:
    whole, cut = (part_s(deployed(tp=tp, weight_dtype="fp8"), "dense GEMMs", 1024) for tp in (2, 8))
    assert cut > whole / 4 * 1.05
    assert part_s(deployed(weight_dtype="fp8"), "dense GEMMs", 2048) < 2 * whole


def test_steps_longer_than_captured_graphs_pay_for_launches_in_vllm() -> None:
    tables = step_time_tables(deployed())
    per_token = int(tables.tokens_ps[512] - tables.tokens_ps[511])
    assert tables.tokens_ps[513] - tables.tokens_ps[512] > 10 * per_token
    assert tables.prefill_step_ps == 0


def test_any_prefill_pays_for_launches_where_graphs_are_of_decode_steps_only() -> None:
    tables = step_time_tables(deployed(engine="sglang"))
    assert tables.prefill_step_ps > 0
    assert tables.tokens_ps[513] - tables.tokens_ps[512] < tables.prefill_step_ps / 10


def test_quantised_activations_cost_kernels_of_their_own() -> None:
    formats = ("bf16", "fp8", "w4a16")
    host = {dtype: part_s(deployed(weight_dtype=dtype), "host, per layer") for dtype in formats}
    assert host["fp8"] > host["bf16"] == host["w4a16"]


def test_fp8_experts_scaled_by_block_are_slower_than_scaled_by_matrix() -> None:
    keys = {
        name: constant_keys(deployed(model, engine=engine, tp=8, **knobs)).expert
        for name, model, engine, knobs in (
            ("by matrix", "Mixtral-8x7B", "tensorrt-llm", {"weight_dtype": "fp8"}),
            ("by block", "DeepSeek-R1", "tensorrt-llm", {}),
            ("elsewhere", "Mixtral-8x7B", "vllm", {"weight_dtype": "fp8"}),
        )
    }
    assert keys == {"by matrix": "fp8", "by block": "fp8_block", "elsewhere": "fp8_block"}


def test_an_fp8_cache_is_read_slower_than_its_bytes_ask_in_vllm() -> None:
    bf16, fp8 = (step_time_tables(deployed(kv_dtype=dtype)).context_ps[1] for dtype in ("bf16", "fp8"))
    assert bf16 / 2 < fp8 < bf16


def test_an_exchange_between_few_ranks_is_shorter() -> None:
    def exchange_s(ranks: int) -> float:
        return part_s(deployed("gpt-oss-120b", tp=1, dp=ranks, ep=ranks), "all-to-all")

    assert exchange_s(2) < exchange_s(4) < exchange_s(8) < 4 * exchange_s(2)
