"""What no engine on this hardware can beat: bytes over bandwidth, FLOPs over peak, no overheads at all."""

from __future__ import annotations

from costmodel.deployment.deployment import Deployment
from costmodel.steptime.shape import step_shape


def decode_floor_s(deployment: Deployment, context_tokens: float) -> float:
    """Least seconds per output token of one sequence alone: its weights and its context read once at full bandwidth.

    Seconds = (dense + experts of one token + output matrix + KV bytes of `context_tokens`) / bandwidth, per rank.
    """
    shape = step_shape(deployment)
    expert_params = shape.moe_layers * shape.experts_active * shape.expert_params / shape.expert_shards
    weight_bytes = shape.dense_bytes + shape.head_bytes + expert_params * shape.expert_bytes_per_param
    read_bytes = weight_bytes + context_tokens * shape.context_bytes + shape.seat_bytes
    return float(read_bytes / shape.bandwidth)


def prefill_floor_s(deployment: Deployment, prompt_tokens: float) -> float:
    """Least seconds to the first token of a lone prompt: its FLOPs at the dense peak, or one decode step's bytes."""
    shape = step_shape(deployment)
    expert_params = shape.moe_layers * shape.experts_active * shape.expert_params / shape.expert_shards
    per_token_s = 2.0 * (
        shape.dense_params / shape.dense_flops
        + shape.plain_params / shape.attention_flops
        + expert_params / shape.expert_flops
    )
    pairs = prompt_tokens * (prompt_tokens + 1) / 2
    flop_s = prompt_tokens * per_token_s + pairs * shape.pair_flops / shape.attention_flops
    return max(float(flop_s), decode_floor_s(deployment, 0.0))
