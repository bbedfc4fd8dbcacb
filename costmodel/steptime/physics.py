"""The parts of one engine step, each as a short formula in seconds.

Every function is elementwise: numbers or equally shaped arrays go in, seconds come out. A step is described by
`tokens` (T, all tokens computed in it), `seats` (n, decoding sequences), `context` (S, tokens already in the cache of
all scheduled sequences), `pairs` (P, query-key pairs of prefill), `prefills` (m, prefilling sequences) and
`prefill_steps` (1 where m > 0).
Limits: no overlap of compute and communication, no kernel-level tiling, experts drawn evenly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from costmodel.steptime.constants import StepConstants
from costmodel.steptime.shape import StepShape

Value = float | NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Load:
    """What one step has to do; see the module's text for the letters."""

    tokens: Value
    seats: Value = 0.0
    context: Value = 0.0
    pairs: Value = 0.0
    prefills: Value = 0.0
    prefill_steps: Value = 0.0


def rounded_max(first: Value, second: Value, power: Value) -> Value:
    """Roofline with a rounded knee: (a^p + b^p)^(1/p); the plain maximum for large p."""
    top = np.maximum(np.maximum(first, second), 1e-12)
    total: Value = top * ((first / top) ** power + (second / top) ** power) ** (1.0 / power)
    return total


def dense_gemm_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Attention projections, dense FFNs and shared experts.

    FLOP time is 2·params·T / (efficiency·peak), for quantised and 16-bit parameters each at its own peak, and one round
    of tiles more: side by side they cover `gemm_tile_area` outputs, each along the whole inner dimension. Byte time is
    bytes / (share·bandwidth). The step takes the rounded larger of the two.
    """
    quantised = shape.dense_params / (c.gemm_efficiency * shape.dense_flops)
    plain = shape.plain_params / (c.plain_efficiency * shape.attention_flops)
    tile_s = 2.0 * c.gemm_tile_area * shape.gemm_depth / (c.gemm_efficiency * shape.dense_flops)
    flop_s = 2.0 * (quantised + plain) * load.tokens + tile_s
    byte_s = shape.dense_bytes / (c.weight_bandwidth * shape.bandwidth)
    return rounded_max(flop_s, byte_s, c.roofline_power)


def experts_touched(shape: StepShape, load: Load) -> Value:
    """Distinct experts that T tokens reach in one layer: E·(1 - (1 - k/E)^T), tokens of all data-parallel ranks."""
    miss = 1.0 - shape.experts_active / np.maximum(shape.experts, 1.0)
    touched: Value = shape.experts * (1.0 - np.maximum(miss, 0.0) ** (load.tokens * shape.attention_ranks))
    return touched


def expert_gemm_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Routed experts of all MoE layers on one GPU.

    A GPU computes 1/shards of the layer's tokens and reads 1/shards of the experts touched. Narrow experts reach
    width/(width + w) of the efficiency. FLOPs and bytes add up: measured kernels hide little of one behind the other,
    since an expert that many tokens reach computes while one that few reach is read.
    """
    touched = experts_touched(shape, load)
    routed = load.tokens * shape.attention_ranks * shape.experts_active
    weights = shape.moe_layers * shape.expert_params / shape.expert_shards
    efficiency = c.moe_efficiency * shape.expert_width / (shape.expert_width + c.moe_half_width)
    flop_s = 2.0 * weights * routed / (efficiency * shape.expert_flops)
    byte_s = weights * touched * shape.expert_bytes_per_param / (c.moe_bandwidth * shape.bandwidth)
    return flop_s + byte_s


def head_weights_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Reading the output matrix once a step (16 bit)."""
    return shape.head_bytes / (c.weight_bandwidth * shape.bandwidth) + 0.0 * load.tokens


def all_reduce_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Two all-reduces a layer under tensor parallelism: latency, and a ring's 2(t-1)/t of T·hidden·2 bytes."""
    grow = 1.0 + c.collective_growth * np.maximum(shape.tp - 2.0, 0.0)
    sent_bytes = 2.0 * (shape.tp - 1.0) / np.maximum(shape.tp, 1.0) * load.tokens * shape.hidden * 2.0
    one_s = c.collective_latency_s * grow + sent_bytes / (c.collective_bandwidth * shape.link_bandwidth)
    return shape.all_reduces * one_s


def all_to_all_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Dispatch and combine of every MoE layer under attention data parallelism: 3 bytes a value both ways together.

    The latency holds the wait for the slowest rank too, which an all-reduce does not show.
    """
    fan_out = np.minimum(shape.experts_active, np.maximum(shape.attention_ranks - 1.0, 0.0))
    sent_bytes = load.tokens * fan_out * shape.hidden * 3.0
    latency_s = c.exchange_latency_s * (shape.attention_ranks / 8.0) ** c.exchange_power
    one_s = 2.0 * latency_s + sent_bytes / (c.collective_bandwidth * shape.link_bandwidth)
    return np.where(np.asarray(shape.attention_ranks) > 1.0, shape.moe_layers * one_s, 0.0)


def pipeline_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Handing T·hidden·2 bytes to the next stage, pp - 1 times."""
    one_s = c.collective_latency_s + load.tokens * shape.hidden * 2.0 / (c.collective_bandwidth * shape.link_bandwidth)
    return (shape.pp - 1.0) * one_s


def linear_attention_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Windowed layers of small windows: every token scores at most `window` keys, whatever the context."""
    return load.tokens * shape.window_flops_per_token / (c.prefill_efficiency * shape.attention_flops)


def activations_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Norms, rotary embedding, activation functions: memory traffic between the GEMMs, for every token."""
    return load.tokens * shape.token_bytes / (c.activation_bandwidth * shape.bandwidth)


def host_step_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Scheduler and launch, once a step."""
    return c.host_step_s + 0.0 * load.tokens * shape.layers


def host_layer_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Norms, rotary, small kernels and launches: per layer, and more per MoE, latent or recurrent layer."""
    extra = c.host_moe_layer_s * shape.moe_layers + c.host_latent_layer_s * shape.latent_layers
    extra = extra + c.host_recurrent_layer_s * shape.recurrent_layers
    extra = extra + c.host_quantised_layer_s * shape.quantised_layers
    return c.host_layer_s * shape.layers + extra + 0.0 * load.tokens


def seat_host_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Sampling, detokenising and bookkeeping of one sequence in one step."""
    return load.seats * c.host_sequence_s + 0.0 * shape.layers


def seat_head_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """The output matrix's FLOPs for every sequence that samples (16 bit)."""
    return 2.0 * shape.head_params * load.seats / (c.head_efficiency * shape.attention_flops)


def seat_state_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Constant bytes of a decoding sequence: sliding windows (read), linear-attention state (read and written)."""
    return load.seats * shape.seat_bytes / (c.kv_bandwidth * shape.bandwidth)


def context_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Reading the KV cache of S context tokens, or computing on it where that is slower (absorbed MLA)."""
    byte_s = shape.context_bytes / (c.kv_bandwidth * shape.bandwidth)
    flop_s = shape.context_flops / (c.decode_attention_efficiency * shape.attention_flops)
    return load.context * np.maximum(byte_s, flop_s)


def prefill_pairs_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Attention of prefill: FLOPs per query-key pair over the layers that see the whole context."""
    return load.pairs * shape.pair_flops / (c.prefill_efficiency * shape.attention_flops)


def prefill_host_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Engine time that a prefilling sequence takes from the step: hashing, block tables, first sampling."""
    return load.prefills * c.host_prefill_s + 0.0 * shape.layers


def launches_s(shape: StepShape, c: StepConstants) -> Value:
    """Launching a step's kernels one by one: per layer, and more per MoE layer and per layer that mixes tokens
    otherwise than plain attention does (latent, recurrent)."""
    mixers = shape.latent_layers + shape.recurrent_layers
    more_s = c.prefill_moe_layer_s * shape.moe_layers + c.prefill_mixer_layer_s * mixers
    return c.prefill_layer_s * shape.layers + more_s


def long_step_launch_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Launches of a step of more tokens than CUDA graphs are captured for, where the engine has graphs of whatever is
    short enough, prefill or decode: vLLM captures up to 512 tokens, around attention."""
    beyond = np.asarray(load.tokens) > c.graph_tokens
    return np.where((np.asarray(c.graph_tokens) > 0) & beyond, launches_s(shape, c), 0.0)


def prefill_launch_s(shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Launches of any step that prefills, where an engine has graphs of decode steps only."""
    return np.where(np.asarray(c.graph_tokens) > 0, 0.0, load.prefill_steps * launches_s(shape, c))


Part = Callable[[StepShape, StepConstants, Load], Value]
TOKEN_PARTS: dict[str, Part] = {
    "dense GEMMs": dense_gemm_s,
    "experts": expert_gemm_s,
    "output matrix, weights": head_weights_s,
    "all-reduce": all_reduce_s,
    "all-to-all": all_to_all_s,
    "pipeline hand-over": pipeline_s,
    "windowed attention": linear_attention_s,
    "norms and activations": activations_s,
    "host, per layer": host_layer_s,
    "host, per step": host_step_s,
    "host, launches of long steps": long_step_launch_s,
}
SEAT_PARTS: dict[str, Part] = {
    "output matrix, FLOPs": seat_head_s,
    "windows and states": seat_state_s,
    "host, per sequence": seat_host_s,
}
CONTEXT_PARTS: dict[str, Part] = {"KV cache": context_s}
PAIR_PARTS: dict[str, Part] = {"prefill attention": prefill_pairs_s}
PREFILL_PARTS: dict[str, Part] = {"host, per prefilling sequence": prefill_host_s}
PREFILL_STEP_PARTS: dict[str, Part] = {"host, launches of prefill": prefill_launch_s}
ALL_PARTS: dict[str, Part] = {
    **TOKEN_PARTS,
    **SEAT_PARTS,
    **CONTEXT_PARTS,
    **PAIR_PARTS,
    **PREFILL_PARTS,
    **PREFILL_STEP_PARTS,
}


def total_s(parts: dict[str, Part], shape: StepShape, c: StepConstants, load: Load) -> Value:
    """Sum of the named parts, in seconds."""
    total: Value = 0.0
    for part in parts.values():
        total = total + part(shape, c, load)
    return total
