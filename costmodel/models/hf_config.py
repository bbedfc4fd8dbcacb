"""A Hugging Face `config.json` becomes a ModelSpec; every problem in it is reported at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, TypeVar

from costmodel.deployment.problems import ModelConfigError, Problem
from costmodel.models.layers import Layer, read_layers
from costmodel.models.quantization import native_format
from costmodel.models.reader import LARGEST, ConfigReader
from costmodel.models.spec import AttentionGroup, MlpGroup, ModelSpec

TIED_TYPES = (
    "gemma",
    "cohere",
    "falcon",
    "gpt2",
    "bloom",
    "opt",
    "mpt",
    "starcoder2",
)
"""Families whose config class ties input and output embeddings unless told otherwise."""
TEXT_SECTIONS = ("text_config", "llm_config", "language_config", "thinker_config")

Group = TypeVar("Group", AttentionGroup, MlpGroup)


def model_from_hf_config(
    mapping: Mapping[str, Any], model_id: str = "custom", *, source: str = "", confidence: str = "user"
) -> ModelSpec:
    """Reads a `config.json` (text models, or the text part of multimodal ones).

    Raises ModelConfigError with every problem found; never another error, whatever the mapping holds. Vision
    towers are estimated apart in `vision_params`, audio towers not at all (a note says so); multi-token prediction
    layers stand apart in `mtp_params`.
    """
    if not isinstance(mapping, Mapping):
        raise ModelConfigError([Problem("not_an_object", "a config must be a JSON object")])
    reader, vision = _text_reader(mapping)
    spec = _read(reader, mapping, model_id, vision=vision)
    if reader.problems:
        raise ModelConfigError(reader.problems)
    return replace(spec, source=source, confidence=confidence, notes=tuple(dict.fromkeys(reader.notes)))


def _text_reader(mapping: Mapping[str, Any]) -> tuple[ConfigReader, bool]:
    """The part of the config that describes the language model, however deep it is nested (two levels at most)."""
    reader, vision = ConfigReader(mapping), False
    for _ in range(2):
        name = next((key for key in TEXT_SECTIONS if reader.mapping.get(key) is not None), None)
        inner = reader.section(name) if name else None
        if inner is None:
            break
        reader, vision = inner, True
    vision = vision or any(isinstance(mapping.get(key), Mapping) for key in ("vision_config", "audio_config"))
    if vision:
        reader.notes.append(
            "parameters are the text model's; a vision tower is estimated from its config where that says enough"
        )
    return reader, vision


def _read(reader: ConfigReader, outer: Mapping[str, Any], model_id: str, *, vision: bool) -> ModelSpec:
    hidden = reader.whole("hidden_size", "n_embd", "d_model")
    n_heads = reader.whole("num_attention_heads", "n_head", "n_heads", kind="heads")
    layers = reader.whole("num_hidden_layers", "n_layer", "n_layers", default=_listed_layers(reader), kind="layers")
    vocab = reader.whole("vocab_size", kind="vocab")
    tied = _tied(reader, outer)
    parts = read_layers(reader, hidden, n_heads, layers)
    attention, mlp, layer_map = grouped(parts)
    norms = _norms_per_layer(reader, hidden, parts)
    return ModelSpec(
        id=model_id,
        hidden=hidden,
        layers=layers,
        n_heads=n_heads,
        vocab=vocab,
        tied_embeddings=tied,
        max_context_tokens=_max_context(reader),
        attention=attention,
        mlp=mlp,
        layer_map=layer_map,
        native_format=native_format(reader, outer, model_id),
        embedding_params=vocab * hidden,
        head_params=0 if tied else vocab * hidden,
        norm_params_per_layer=norms,
        final_norm_params=hidden,
        mtp_params=_mtp_params(reader, hidden, parts) + _mtp_copies(reader, hidden, vocab),
        mtp_embedding_params=_mtp_copies(reader, hidden, vocab),
        other_params=_per_layer_embeddings(reader, hidden, layers),
        vision_params=_vision_params(reader, outer),
        vision=vision,
    )


def _listed_layers(reader: ConfigReader) -> int | None:
    """Nemotron-H configs may list their layers instead of counting them."""
    listed = reader.mapping.get("layers_block_type")
    return len(listed) if isinstance(listed, list) and 0 < len(listed) <= LARGEST["layers"] else None


def grouped(parts: list[Layer]) -> tuple[tuple[AttentionGroup, ...], tuple[MlpGroup, ...], tuple[tuple[int, int], ...]]:
    """Layers one by one -> groups of equal layers, and each layer's place in them."""
    attention, first = _groups([part[0] for part in parts])
    mlp, second = _groups([part[1] for part in parts])
    return attention, mlp, tuple(zip(first, second, strict=True))


def _groups(parts: list[Group | None]) -> tuple[tuple[Group, ...], list[int]]:
    kinds = list(dict.fromkeys(part for part in parts if part is not None))
    place = {kind: index for index, kind in enumerate(kinds)}
    where = [-1 if part is None else place[part] for part in parts]
    totals = [where.count(index) for index in range(len(kinds))]
    made = []
    for kind, total in zip(kinds, totals, strict=True):
        if isinstance(kind, AttentionGroup):
            made.append(replace(kind, layers=total, kv_layers=total * kind.kv_layers))
        else:
            made.append(replace(kind, layers=total))
    return tuple(made), where


def _tied(reader: ConfigReader, outer: Mapping[str, Any]) -> bool:
    if reader.has("tie_word_embeddings"):
        return reader.flag("tie_word_embeddings", default=False)
    if outer.get("tie_word_embeddings") is not None:
        return ConfigReader(outer, reader.problems).flag("tie_word_embeddings", default=False)
    return reader.text("model_type").startswith(TIED_TYPES)


def _max_context(reader: ConfigReader) -> int:
    """Longest context: `model_max_length` where it exceeds the trained positions (Command-R), else the positions."""
    limit = reader.whole("max_position_embeddings", "n_positions", "max_sequence_length", default=4096, kind="context")
    if not reader.has("max_position_embeddings", "n_positions", "max_sequence_length"):
        reader.notes.append("no max_position_embeddings: a context of 4096 tokens is assumed")
    return max(limit, reader.whole("model_max_length", default=limit, kind="context"))


def _norms_per_layer(reader: ConfigReader, hidden: int, parts: list[Layer]) -> int:
    model_type = reader.text("model_type")
    if any(part[0] is None or part[1] is None for part in parts):
        return hidden  # single-part layers have one norm
    if model_type.startswith(("gemma2", "gemma3", "gemma4", "glm4")) and not model_type.startswith("glm4_moe"):
        return 4 * hidden
    if model_type.startswith("cohere") or (
        model_type == "falcon" and not reader.mapping.get("new_decoder_architecture")
    ):
        return hidden
    return 2 * hidden


def _mtp_params(reader: ConfigReader, hidden: int, parts: list[Layer]) -> int:
    """Multi-token prediction layers: each one layer like the last, its norms and a projection of 2 hidden to hidden."""
    count = reader.whole("num_nextn_predict_layers", "mtp_num_hidden_layers", default=0, low=0, kind="layers")
    attention = next((part[0] for part in reversed(parts) if part[0] and not part[0].is_recurrent), None)
    mlp = next((part[1] for part in reversed(parts) if part[1]), None)
    if not count or attention is None or mlp is None:
        return 0
    feed = (
        mlp.dense_params + mlp.latent_params + mlp.experts * mlp.expert_params + mlp.shared_params + mlp.router_params
    )
    return count * (attention.params_per_layer + feed + 2 * hidden * hidden + 5 * hidden)


def _mtp_copies(reader: ConfigReader, hidden: int, vocab: int) -> int:
    """DeepSeek-V3 checkpoints repeat embedding and head in the prediction layer (14 B of 685 B)."""
    deepseek = reader.text("model_type") in ("deepseek_v3", "deepseek_v32")
    return 2 * hidden * vocab if deepseek and reader.has("num_nextn_predict_layers") else 0


def _vision_params(reader: ConfigReader, outer: Mapping[str, Any]) -> int:
    """A vision tower's parameters, estimated from its width, depth and MLP width; 0 if the config tells too little."""
    tower = ConfigReader(outer, reader.problems).section("vision_config")
    if tower is None or not tower.has("hidden_size", "embed_dim"):
        return 0
    width = tower.whole("hidden_size", "embed_dim")
    depth = tower.whole("num_hidden_layers", "depth", default=0, low=0, kind="layers")
    feed = tower.whole("intermediate_size", default=4 * width)
    gated = 3 if tower.mapping.get("hidden_act") == "silu" else 2
    return depth * (4 * width * width + gated * width * feed)


def _per_layer_embeddings(reader: ConfigReader, hidden: int, layers: int) -> int:
    """Gemma 3n and small Gemma 4: an embedding table per layer, with its gate and projection."""
    width = reader.whole("hidden_size_per_layer_input", default=0, low=0)
    if not width:
        return 0
    vocab = reader.whole("vocab_size_per_layer_input", default=262_144, kind="vocab")
    return layers * width * (vocab + hidden + 2 * hidden)
