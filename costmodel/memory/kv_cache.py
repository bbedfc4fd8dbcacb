"""Bytes that a sequence holds in the cache of one GPU: per token, per window and per recurrent state."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.deployment.deployment import Deployment
from costmodel.deployment.dtypes import KV_BYTES_PER_VALUE
from costmodel.memory.weights import kv_head_share, layer_of, stage_kinds
from costmodel.models.spec import AttentionGroup

SPARSE_FP8_LATENT_BYTES = 656
"""vLLM's FP8 cache of a sparse MLA layer: 512 FP8 latents, four FP32 scales, 64 rope values in 16 bit."""
INDEXER_BYTES_PER_KEY = 132 / 128
"""Indexer keys are kept in FP8 with one FP32 scale per 128 values, whatever the cache's own type."""


@dataclass(frozen=True, slots=True)
class CacheShape:
    """What one sequence takes on one GPU of one pipeline stage.

    `bytes_per_token` grows with the context. Each of `windows` is (bytes per token, most tokens held). `state_bytes`
    is constant per sequence.
    """

    bytes_per_token: float
    windows: tuple[tuple[float, int], ...]
    state_bytes: float
    block_size: int

    def sequence_bytes(self, context_tokens: int) -> float:
        """Bytes of one sequence of `context_tokens`, in whole blocks."""
        whole = _blocks(context_tokens, self.block_size)
        size = whole * self.bytes_per_token + self.state_bytes
        for per_token, most in self.windows:
            held = min(context_tokens, most)
            spare = self.block_size if held < context_tokens else 0  # a window rarely starts at a block's edge
            size += (_blocks(held, self.block_size) + spare) * per_token
        return size

    @property
    def bytes_per_token_unbounded(self) -> float:
        """Bytes per token while the context is shorter than every window."""
        return self.bytes_per_token + sum(per_token for per_token, _ in self.windows)


def _blocks(tokens: int, block_size: int) -> int:
    return -(-tokens // block_size) * block_size


def cache_shape(deployment: Deployment, stage: int, *, reserved: bool = False) -> CacheShape:
    """The cache of one sequence on each GPU of a pipeline stage.

    Windowed layers hold their window while decoding; with `reserved`, as the engine counts them at start-up: window
    minus one plus the tokens of one step. Without a hybrid allocator (by engine version) they hold everything.
    """
    per_token, state = 0.0, 0.0
    windows: dict[int, float] = {}
    known: dict[int, _Layer] = {}
    for kind in stage_kinds(deployment, stage):
        group, _ = layer_of(deployment, kind)
        if group is None:
            continue
        if kind[0] not in known:
            known[kind[0]] = _layer(group, deployment)
        own_state, size, bound = known[kind[0]]
        state += own_state
        if bound is not None and group.compression_ratio == 1 and group.kind != "mla":
            most = bound - 1 + deployment.max_num_batched_tokens if reserved else bound
            windows[most] = windows.get(most, 0.0) + size
        else:
            per_token += size
            state += _compressed_window_bytes(group, deployment)
    return CacheShape(
        per_token, tuple(sorted((size, most) for most, size in windows.items())), state, deployment.block_size
    )


_Layer = tuple[float, float, int | None]


def _layer(group: AttentionGroup, deployment: Deployment) -> _Layer:
    """State, bytes per token and window of one layer of a group."""
    return state_bytes(group, deployment), token_bytes(group, deployment), window_of(group, deployment)


def window_of(group: AttentionGroup, deployment: Deployment) -> int | None:
    """Tokens that a layer keeps, or None where the engine keeps all of them."""
    if group.window_tokens is None:
        return None
    if group.kind == "mla":
        return group.window_tokens
    if not deployment.profile.hybrid_kv_cache:
        return None
    if group.kind == "chunked" and not deployment.profile.chunked_local_cache:
        return None
    return group.window_tokens


def token_bytes(group: AttentionGroup, deployment: Deployment) -> float:
    """Cache bytes per token of one layer of a group on one GPU.

    KV heads are divided by tp until one is left, then repeat. A latent (MLA) cache stands whole on every rank.
    """
    if not group.kv_layers:
        return 0.0
    values = group.kv_values_per_token * group.kv_layers / group.layers
    width = KV_BYTES_PER_VALUE[deployment.kv_dtype]
    if group.kind == "mla":
        size = values * width
        if group.indexer_topk and group.rope_head_dim and deployment.kv_dtype == "fp8":
            size = float(SPARSE_FP8_LATENT_BYTES)
        size /= group.compression_ratio
    else:
        size = values * width * kv_head_share(group.n_kv_heads, deployment.parallelism.tp)
    return size + group.indexer_values_per_token * INDEXER_BYTES_PER_KEY / group.compression_ratio


def _compressed_window_bytes(group: AttentionGroup, deployment: Deployment) -> float:
    """Whole entries of the sliding window beside a compressed cache (DeepSeek-V4)."""
    if group.kind != "mla" or group.window_tokens is None:
        return 0.0
    return group.window_tokens * group.kv_lora_rank * KV_BYTES_PER_VALUE[deployment.kv_dtype]


def state_bytes(group: AttentionGroup, deployment: Deployment) -> float:
    """Recurrent state of one sequence in one layer of a group on one GPU; heads are divided by tp.

    The convolution's tail is in the activations' 16 bit, the state in FP32 where the model's config asks for it.
    """
    if not group.is_recurrent:
        return 0.0
    width = KV_BYTES_PER_VALUE[deployment.state_dtype]
    state_width = 4.0 if group.recurrent_state_dtype == "float32" else width
    values = group.conv_state_values * width + group.recurrent_state_values * state_width
    return values / deployment.parallelism.tp
