"""Feed-forward part of each layer from a Hugging Face config: dense, and the many spellings of mixture of experts."""

from __future__ import annotations

from collections.abc import Sequence

from costmodel.models.reader import ConfigReader
from costmodel.models.spec import MlpGroup

UNGATED_TYPES = frozenset(
    {"falcon", "gptj", "gpt2", "gpt_neox", "opt", "bloom", "nemotron", "nemotron_h", "phi", "mpt"}
)
EXPERT_KEYS = ("num_experts", "n_routed_experts", "num_local_experts")


def is_gated(reader: ConfigReader) -> bool:
    """Gated (three matrices) unless the family, or a squared-ReLU activation, says two."""
    activation = reader.mapping.get("mlp_hidden_act", reader.mapping.get("hidden_act"))
    return reader.text("model_type") not in UNGATED_TYPES and activation != "relu2"


def dense_mlp(reader: ConfigReader, hidden: int, intermediate: int) -> MlpGroup:
    """One dense layer: gate, up and down, or up and down."""
    gated = is_gated(reader)
    matrices = 3 if gated else 2
    bias = intermediate * (matrices - 1) + hidden if reader.mapping.get("mlp_bias") is True else 0
    return MlpGroup(
        kind="dense",
        layers=1,
        gated=gated,
        intermediate=intermediate,
        input_dim=hidden,
        dense_params=matrices * hidden * intermediate + bias,
    )


def has_experts(reader: ConfigReader) -> bool:
    value = next((reader.mapping[key] for key in EXPERT_KEYS if reader.mapping.get(key) is not None), 0)
    return value not in (0, 1) and reader.mapping.get("enable_moe_block") is not False


def moe_mlp(reader: ConfigReader, hidden: int) -> MlpGroup:
    """One mixture-of-experts layer."""
    model_type = reader.text("model_type")
    gated = is_gated(reader)
    matrices = 3 if gated else 2
    experts = reader.whole(*EXPERT_KEYS, kind="experts")
    active = reader.whole(
        "num_experts_per_tok", "top_k_experts", "num_experts_per_token", "experts_per_token", "moe_topk", kind="experts"
    )
    if active > experts:
        detail = f"{active} experts per token of {experts} experts"
        reader.problem("more_active_experts_than_experts", "num_experts_per_tok", detail)
    width = reader.whole("moe_intermediate_size", "expert_intermediate_size", "intermediate_size")
    latent = reader.whole("moe_latent_size", "routed_expert_hidden_size", default=0, low=0)
    seen = latent or hidden
    bias = 2 * width + hidden if model_type == "gpt_oss" else 0
    shared, shared_width = _shared(reader, hidden, width, matrices)
    return MlpGroup(
        kind="moe",
        layers=1,
        gated=gated,
        intermediate=width,
        input_dim=seen,
        experts=experts,
        experts_active=min(active, experts),
        experts_shared=1 if shared_width and not reader.has("n_shared_experts") else _shared_count(reader),
        shared_intermediate=shared_width,
        expert_params=matrices * seen * width + bias,
        shared_params=shared,
        router_params=(hidden + (1 if model_type == "gpt_oss" else 0)) * experts,
        latent_params=2 * hidden * latent,
    )


def _shared_count(reader: ConfigReader) -> int:
    return reader.whole("n_shared_experts", "num_shared_experts", default=0, low=0, kind="experts")


def _shared(reader: ConfigReader, hidden: int, width: int, matrices: int) -> tuple[int, int]:
    """Parameters and width of what every token visits beside its routed experts."""
    model_type = reader.text("model_type")
    count = _shared_count(reader)
    if model_type.startswith("llama4"):
        return matrices * hidden * width, width
    if model_type.startswith("gemma4"):  # a dense block runs beside the experts
        dense = reader.whole("intermediate_size")
        return matrices * hidden * dense, dense
    named = reader.whole(
        "shared_expert_intermediate_size",
        "moe_shared_expert_intermediate_size",
        "share_expert_dim",
        "shared_intermediate_size",
        default=0,
        low=0,
    )
    gate = hidden if model_type.startswith(("qwen2_moe", "qwen3_next", "qwen3_5_moe")) else 0
    if named:
        return matrices * hidden * named + gate, named
    return matrices * hidden * width * count, width * count


def moe_layers(reader: ConfigReader, layers: int) -> list[bool]:
    """Which layers are mixtures of experts, by whichever of the known fields the config uses."""
    if not has_experts(reader):
        return [False] * layers
    kinds = reader.per_layer("mlp_layer_types", layers)
    if kinds is not None:
        return [kind in ("sparse", "moe") for kind in kinds]
    frequency = reader.per_layer("moe_layer_freq", layers)
    if frequency is not None:
        return [bool(value) for value in frequency]
    named = reader.mapping.get("moe_layers")
    if isinstance(named, Sequence) and not isinstance(named, (str, bytes)) and named:
        return [index in named for index in range(layers)]
    return _by_step(reader, layers)


def _by_step(reader: ConfigReader, layers: int) -> list[bool]:
    first_dense = reader.whole("first_k_dense_replace", default=0, low=0, kind="layers")
    step = 1 if reader.per_layer("moe_layer_freq", 1) else reader.whole("moe_layer_freq", default=1, kind="layers")
    step = reader.whole("interleave_moe_layer_step", "decoder_sparse_step", default=step, kind="layers")
    offset = step - 1 if reader.has("interleave_moe_layer_step", "decoder_sparse_step") else 0
    plain = reader.mapping.get("mlp_only_layers")
    dense = set(plain) if isinstance(plain, (list, tuple)) and all(isinstance(i, int) for i in plain) else set()
    return [index >= first_dense and index not in dense and index % step == offset for index in range(layers)]


def dense_width(reader: ConfigReader) -> int:
    """Width of the dense layers, where the config names it apart from the experts'."""
    return reader.whole(
        "dense_intermediate_size", "intermediate_size_mlp", "intermediate_size", "ffn_hidden_size", "n_inner"
    )
