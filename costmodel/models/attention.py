"""Attention of each layer from a Hugging Face config: grouped, latent, windowed, sparse and recurrent kinds."""

from __future__ import annotations

from dataclasses import replace

from costmodel.models.reader import ConfigReader
from costmodel.models.spec import AttentionGroup

GATED_QUERY_TYPES = frozenset({"qwen3_next", "qwen3_5", "qwen3_5_text", "qwen3_5_moe", "qwen3_5_moe_text"})
QKV_BIAS_TYPES = frozenset({"qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text"})
QK_NORM_TYPES = ("qwen3", "gemma3", "gemma4", "olmo2", "glm4_moe", "minimax")


def standard_attention(
    reader: ConfigReader,
    hidden: int,
    n_heads: int,
    *,
    n_kv_heads: int,
    head_dim: int,
    value_head_dim: int | None = None,
) -> AttentionGroup:
    """One layer of grouped-query attention (MHA and MQA are its ends)."""
    value_dim = value_head_dim or head_dim
    if n_heads % n_kv_heads:
        reader.problem(
            "heads_not_a_multiple_of_kv_heads",
            "num_key_value_heads",
            f"{n_heads} attention heads are not a multiple of {n_kv_heads} KV heads",
        )
    model_type = reader.text("model_type")
    gate = 2 if model_type in GATED_QUERY_TYPES or reader.mapping.get("attn_output_gate") is True else 1
    bias_qkv = reader.mapping.get("attention_bias") is True or model_type in QKV_BIAS_TYPES
    bias_out = reader.mapping.get("attention_bias") is True and model_type == "gpt_oss"
    sinks = n_heads if model_type == "gpt_oss" else 0
    norms = 2 * head_dim if model_type.startswith(QK_NORM_TYPES) else 0
    head = hidden * n_heads * (gate * head_dim + value_dim) + sinks
    kv = hidden * n_kv_heads * (head_dim + value_dim)
    if bias_qkv:
        head, kv = head + n_heads * head_dim, kv + n_kv_heads * (head_dim + value_dim)
    return AttentionGroup(
        kind="full",
        layers=1,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=head_dim,
        value_head_dim=value_dim,
        kv_values_per_token=n_kv_heads * (head_dim + value_dim),
        kv_layers=1,
        head_params=head + (hidden if bias_out else 0),
        kv_params=kv,
        replicated_params=norms,
    )


def latent_attention(reader: ConfigReader, hidden: int, n_heads: int) -> AttentionGroup:
    """One layer of multi-head latent attention: the cache holds one latent and one rope key for all heads.

    Query and KV down-projections stand whole on every tensor-parallel rank; the rest is split by heads.
    """
    kv_rank = reader.whole("kv_lora_rank")
    q_rank = reader.whole("q_lora_rank", default=0, low=0)
    rope = reader.whole("qk_rope_head_dim", default=64)
    nope = reader.whole("qk_nope_head_dim", default=128)
    value = reader.whole("v_head_dim", default=128)
    query_in = q_rank or hidden
    head = n_heads * (query_in * (nope + rope) + kv_rank * (nope + value) + value * hidden)
    if reader.mapping.get("mla_use_output_gate") is True:
        head += hidden * n_heads * value
    replicated = hidden * (kv_rank + rope) + kv_rank + ((hidden + 1) * q_rank)
    group = AttentionGroup(
        kind="mla",
        layers=1,
        n_heads=n_heads,
        n_kv_heads=1,
        head_dim=nope + rope,
        value_head_dim=value,
        kv_values_per_token=kv_rank + rope,
        kv_layers=1,
        head_params=head,
        kv_params=0,
        replicated_params=replicated,
        kv_lora_rank=kv_rank,
        rope_head_dim=rope,
        q_lora_rank=q_rank,
    )
    return with_indexer(reader, group, hidden, query_in)


def with_indexer(reader: ConfigReader, group: AttentionGroup, hidden: int, query_in: int) -> AttentionGroup:
    """Adds the lightning indexer of a sparse attention: its own keys in the cache, and a top-k of tokens to read."""
    if not reader.has("index_topk", "index_head_dim", "index_n_heads"):
        return group
    heads = reader.whole("index_n_heads", kind="heads")
    width = reader.whole("index_head_dim", default=128)
    return replace(
        group,
        indexer_params=query_in * heads * width + hidden * width + hidden * heads + 2 * width,
        indexer_heads=heads,
        indexer_values_per_token=width,
        indexer_topk=reader.whole("index_topk"),
    )


def shares_indexer(group: AttentionGroup) -> AttentionGroup:
    """The same layer, taking its top-k from an earlier layer's indexer."""
    return replace(group, indexer_params=0, indexer_values_per_token=0, indexer_heads=0)


def gated_delta_net(reader: ConfigReader, hidden: int) -> AttentionGroup:
    """One gated DeltaNet layer (Qwen3-Next, Qwen3.5): state n_v x d_k x d_v and a short convolution's tail."""
    key_heads = reader.whole("linear_num_key_heads", kind="heads")
    value_heads = reader.whole("linear_num_value_heads", kind="heads")
    key_dim = reader.whole("linear_key_head_dim")
    value_dim = reader.whole("linear_value_head_dim")
    kernel = reader.whole("linear_conv_kernel_dim", default=4)
    keys, values = key_heads * key_dim, value_heads * value_dim
    channels = 2 * keys + values
    params = hidden * (2 * keys + 2 * values + 2 * value_heads) + channels * kernel + values * hidden + 2 * value_heads
    return _recurrent(
        "linear",
        n_heads=value_heads,
        n_kv_heads=key_heads,
        head_dim=key_dim,
        value_head_dim=value_dim,
        params=params,
        replicated=value_dim,
        conv=(kernel - 1) * channels,
        state=value_heads * key_dim * value_dim,
        state_dtype=_state_dtype(reader),
    )


def kimi_delta_attention(reader: ConfigReader, hidden: int) -> AttentionGroup:
    """One Kimi delta attention layer: per-channel decay, state heads x d x d, three short convolutions."""
    heads = reader.whole("num_heads", kind="heads")
    width = reader.whole("head_dim")
    kernel = reader.whole("short_conv_kernel_size", default=4)
    inner = heads * width
    full_gate = reader.mapping.get("use_full_rank_gate") is True
    gate = hidden * inner if full_gate else (hidden + inner) * width
    params = 4 * hidden * inner + (hidden + inner) * width + gate + hidden * heads + 3 * inner * kernel + inner + heads
    return _recurrent(
        "linear",
        n_heads=heads,
        n_kv_heads=heads,
        head_dim=width,
        value_head_dim=width,
        params=params,
        replicated=width,
        conv=3 * (kernel - 1) * inner,
        state=heads * width * width,
        state_dtype="float32",
    )


def mamba2(reader: ConfigReader, hidden: int) -> AttentionGroup:
    """One Mamba-2 layer: state heads x head_dim x state size, and the convolution's tail."""
    heads = reader.whole("mamba_num_heads", "mamba_n_heads", kind="heads")
    width = reader.whole("mamba_head_dim", "mamba_d_head", default=64)
    state = reader.whole("ssm_state_size", "mamba_d_state")
    groups = reader.whole("n_groups", "mamba_n_groups", default=8, kind="heads")
    kernel = reader.whole("conv_kernel", "mamba_d_conv", default=4)
    inner = heads * width
    channels = inner + 2 * groups * state
    params = hidden * (inner + channels + heads) + channels * (kernel + 1) + inner + 3 * heads + inner * hidden
    return _recurrent(
        "mamba",
        n_heads=heads,
        n_kv_heads=groups,
        head_dim=width,
        value_head_dim=width,
        params=params,
        replicated=0,
        conv=(kernel - 1) * channels,
        state=heads * width * state,
        state_dtype=_state_dtype(reader),
    )


def _recurrent(
    kind: str,
    *,
    n_heads: int,
    n_kv_heads: int,
    head_dim: int,
    value_head_dim: int,
    params: int,
    replicated: int,
    conv: int,
    state: int,
    state_dtype: str,
) -> AttentionGroup:
    return AttentionGroup(
        kind="mamba" if kind == "mamba" else "linear",
        layers=1,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=head_dim,
        value_head_dim=value_head_dim,
        kv_values_per_token=0,
        kv_layers=0,
        head_params=params,
        kv_params=0,
        replicated_params=replicated,
        conv_state_values=conv,
        recurrent_state_values=state,
        recurrent_state_dtype=state_dtype,
    )


def _state_dtype(reader: ConfigReader) -> str:
    """`float32` where the config asks engines for it, else `auto` (the 16-bit type of the activations)."""
    named = reader.mapping.get("mamba_ssm_cache_dtype", reader.mapping.get("mamba_ssm_dtype"))
    return "float32" if named == "float32" else "auto"


def compressed_attention(reader: ConfigReader, hidden: int, n_heads: int, ratio: int) -> AttentionGroup:
    """One layer of DeepSeek-V4 attention: a shared key-value of `head_dim`, one entry kept per `ratio` tokens.

    Every layer also holds a sliding window of whole entries; `ratio` 0 is the window alone. Layers of ratio 4
    choose entries by an indexer. Shapes follow the published config; cache bytes are an estimate.
    """
    head_dim = reader.whole("head_dim", default=512)
    q_rank = reader.whole("q_lora_rank", default=0, low=0)
    o_rank = reader.whole("o_lora_rank", default=0, low=0)
    groups = reader.whole("o_groups", default=1, kind="heads")
    window = reader.whole("sliding_window", default=128)
    query_in = q_rank or hidden
    out = n_heads * head_dim * o_rank + groups * o_rank * hidden if o_rank else n_heads * head_dim * hidden
    overlap = 2 if ratio == 4 else 1
    compressor = 2 * hidden * head_dim * overlap if ratio else 0
    group = AttentionGroup(
        kind="mla",
        layers=1,
        n_heads=n_heads,
        n_kv_heads=1,
        head_dim=head_dim,
        value_head_dim=head_dim,
        kv_values_per_token=head_dim if ratio else 0,
        kv_layers=1,
        head_params=query_in * n_heads * head_dim + out,
        kv_params=0,
        replicated_params=hidden * (q_rank + head_dim) + compressor,
        window_tokens=window,
        kv_lora_rank=head_dim,
        q_lora_rank=q_rank,
        compression_ratio=max(1, ratio),
    )
    return with_indexer(reader, group, hidden, query_in) if ratio == 4 else group
