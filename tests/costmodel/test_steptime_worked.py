"""The worked step of docs/step-time.md, recomputed from the config's dimensions and the constants file alone."""

import tomllib
from pathlib import Path

import pytest

from costmodel import Parallelism, engine_profile, load_catalog, make_deployment
from costmodel.steptime import step_time_tables

ROOT = Path(__file__).parents[2]
LAYERS, HIDDEN, FFN, HEADS, KV_HEADS, HEAD, VOCAB = 80, 8192, 28672, 64, 8, 128, 128256
PEAK_FP8, PEAK_BF16, BANDWIDTH, LINK = 1979e12, 989e12, 3350e9, 450e9
TOKENS, CONTEXT = 64, 64_000


def by_hand_s() -> float:
    """One decode step of 64 sequences with 1,000 tokens of context each: Llama-3.3-70B in FP8 on two H100 SXM, vLLM."""
    c = tomllib.loads((ROOT / "costmodel/data/step_time_constants.toml").read_text())
    common, host, link = c["common"], c["engine"]["vllm"], c["link"]["nvlink"]
    hopper = {**c["generation"]["default"], **c["generation"]["hopper"]}
    share = hopper["bandwidth_share"]

    params = LAYERS * (2 * HIDDEN * HEADS * HEAD + 2 * HIDDEN * KV_HEADS * HEAD + 3 * HIDDEN * FFN) / 2
    depth = LAYERS * (HIDDEN + HEADS * HEAD / 2 + HIDDEN + FFN / 2)
    flop_s = 2 * (params * TOKENS + common["gemm_tile_area"] * 1e6 * hopper["tile_scale"] * depth)
    flop_s /= c["gemm_efficiency"]["fp8"] * host["gemm_scale"] * hopper["gemm_scale"] * PEAK_FP8
    byte_s = params / (share * BANDWIDTH)
    q = common["roofline_power"]
    gemm_s = (flop_s**q + byte_s**q) ** (1 / q)

    head = VOCAB * HIDDEN / 2
    head_s = 2 * head / (share * BANDWIDTH)
    plain = c["gemm_efficiency"]["bf16"] * host["gemm_scale"] * hopper["gemm_scale"]
    head_s += 2 * head * TOKENS / (plain * PEAK_BF16)

    reduce_s = link["latency_us"] * host["collective_scale"] * hopper["link_latency_scale"] * 1e-6
    reduce_s += TOKENS * HIDDEN * 2 / (link["bandwidth_share"] * hopper["link_bandwidth_scale"] * LINK)
    moved = LAYERS * (8 * HIDDEN + (4 * HEADS + 4 * 2 * KV_HEADS) * HEAD / 2 + 6 * FFN / 2) * 2
    moved_s = TOKENS * moved / (share * common["activation_bandwidth_scale"] * BANDWIDTH)
    kv_s = CONTEXT * LAYERS * 2 * KV_HEADS * HEAD * 2 / 2 / (share * common["kv_bandwidth_scale"] * BANDWIDTH)
    layer_us = (host["layer_us"] + host["quantised_layer_us"]) * hopper["host_scale"]
    host_us = LAYERS * layer_us + host["step_us"] + TOKENS * host["sequence_us"]
    return gemm_s + head_s + 2 * LAYERS * reduce_s + moved_s + kv_s + host_us * 1e-6


def test_the_worked_step_gives_the_programs_number() -> None:
    catalog = load_catalog()
    deployment = make_deployment(
        catalog.model("Llama-3.3-70B"),
        catalog.accelerator("H100-SXM5-80GB"),
        engine_profile("vllm"),
        Parallelism(tp=2),
        weight_dtype="fp8",
        max_model_len=8192,
    )
    step_ps = step_time_tables(deployment).step_ps(
        tokens=TOKENS, decode_seqs=TOKENS, context_tokens=CONTEXT, prefill_pairs=0, prefill_seqs=0
    )
    assert step_ps / 1e12 == pytest.approx(by_hand_s(), rel=1e-4)
    assert f"{step_ps / 1e9:.2f} ms" in (ROOT / "docs/step-time.md").read_text()
