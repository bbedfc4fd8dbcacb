"""Number formats of a checkpoint from its `quantization_config`: what is quantised, to what, and what stays 16 bit."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from costmodel.deployment.dtypes import USUALLY_KEPT, WeightFormat, quantised_format, uniform_format
from costmodel.models.reader import ConfigReader

DTYPES = {
    "float32": "fp32",
    "fp32": "fp32",
    "float16": "fp16",
    "fp16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "bf16": "bf16",
    "auto": "bf16",
}
METHODS = {
    "fp8": "fp8",
    "fbgemm_fp8": "fp8",
    "mxfp4": "mxfp4",
    "awq": "w4a16",
    "gptq": "w4a16",
    "auto-round": "w4a16",
    "bitsandbytes": "w4a16",
    "int8": "int8",
}
ALGORITHMS = {
    "FP8": "fp8",
    "NVFP4": "nvfp4",
    "MXFP4": "mxfp4",
    "W4A16_AWQ": "w4a16",
    "W4A8_AWQ": "w4a16",
    "INT8_SQ": "int8",
}
NAMES = (
    (r"nvfp4|-fp4\b|w4a4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"fp8|w8a8-fp8|float8", "fp8"),
    (r"awq|gptq|w4a16|int4|4bit", "w4a16"),
    (r"w8a8|w8a16|int8|8bit", "int8"),
)
"""What a repository's name says about its format, where the config does not."""

_MODULES = {
    "head": r"lm_head",
    "attention": r"(self_attn|attention|attn)(\*|$|\.?\*|\.\(|\.(q|k|v|o|qkv|q_a|q_b|kv_b|kv_a)_proj|\.w(q|o|kv))",
    "linear_attention": r"linear_attn|mamba|mixer\.(in_proj|out_proj|conv)",
    "experts": r"(^|[^_])experts",
    "shared_experts": r"shared_expert",
    "dense_mlp": r"mlp\.\(?(gate_proj|up_proj|down_proj|gate\||up\||fc)|mlp\*|feed_forward\.(w|gate_proj|up|down)",
    "embedding": r"embed_tokens",
}
"""Names of each component's main matrices, as they appear in ignore lists with backslashes and `re:` taken off."""


def native_format(reader: ConfigReader, outer: Mapping[str, object], model_id: str) -> WeightFormat:
    """The checkpoint's formats. Raises nothing: an unknown method becomes a problem of the reader."""
    plain = _plain_dtype(reader, outer)
    section = ConfigReader(outer, reader.problems).section("quantization_config") or reader.section(
        "quantization_config"
    )
    if section is None or not section.mapping:
        return _from_name(reader, model_id, plain)
    storage = _storage(section)
    if storage is None:
        return uniform_format(plain)
    made = _format(storage, "fp16" if plain == "fp16" else "bf16", _ignored(section))
    if reader.text("model_type").startswith("gemma4") and "dense_mlp" in made.kept:
        made = replace(made, kept=made.kept | {"shared_experts"})  # the dense block beside the experts is the `mlp`
    return replace(_with_overrides(reader, section, made), scale_block=_scale_block(section))


def _plain_dtype(reader: ConfigReader, outer: Mapping[str, object]) -> str:
    value = next((m[key] for m in (outer, reader.mapping) for key in ("dtype", "torch_dtype") if m.get(key)), "bf16")
    name = value.lower().removeprefix("torch.") if isinstance(value, str) else ""
    if name not in DTYPES:
        reader.problem("unknown_dtype", "torch_dtype", f"dtype must be one of {', '.join(DTYPES)}")
        return "bf16"
    return "bf16" if DTYPES[name] == "fp32" else DTYPES[name]  # engines cast FP32 checkpoints to 16 bit


def _from_name(reader: ConfigReader, model_id: str, plain: str) -> WeightFormat:
    named = format_in_name(model_id)
    if named is None:
        return uniform_format(plain)
    reader.notes.append(f"{named.upper()} taken from the name: the config holds no quantization_config")
    return _format(named, "fp16" if plain == "fp16" else "bf16", [])


def format_in_name(model_id: str) -> str | None:
    """Storage format that a repository's name announces, or None."""
    name = model_id.lower()
    return next((dtype for pattern, dtype in NAMES if re.search(pattern, name)), None)


def storage_format(storage: str, kept_dtype: str = "bf16") -> WeightFormat:
    """The usual recipe for a storage format (`fp8`, `int8`, `w4a16`, `nvfp4`, `mxfp4`)."""
    return _format(storage, kept_dtype, [])


def _scale_block(section: ConfigReader) -> int:
    sides = section.mapping.get("weight_block_size")
    whole = isinstance(sides, (list, tuple)) and sides and all(isinstance(s, int) and 0 < s <= 4096 for s in sides)
    return int(max(sides)) if whole and isinstance(sides, (list, tuple)) else 0


def _storage(section: ConfigReader) -> str | None:
    """Storage format of the quantised weights; None for a method that leaves weights alone (KV cache only)."""
    method = section.text("quant_method").lower()
    algorithm = section.text("quant_algo").upper() or section.text("quantization").upper()
    if algorithm in ALGORITHMS:
        return ALGORITHMS[algorithm]
    grouped = _grouped(section)
    if grouped is not None:
        return grouped
    if method in ("awq", "gptq", "auto-round"):
        return {4: "w4a16", 8: "int8"}.get(section.whole("bits", "w_bit", default=4), "w4a16")
    if method == "bitsandbytes" and section.mapping.get("load_in_8bit") is True:
        return "int8"
    if method in METHODS:
        return METHODS[method]
    known = ", ".join([*METHODS, "compressed-tensors", "modelopt"])
    section.problem(
        "unknown_quantization", "quant_method", f"quant_method {method[:40]!r} is unknown; known are {known}"
    )
    return None


def _grouped(section: ConfigReader) -> str | None:
    """compressed-tensors and ModelOpt: the format of the first group of weights."""
    groups = section.mapping.get("config_groups")
    if not isinstance(groups, Mapping):
        return None
    storages = [_weights_storage(group) for group in groups.values() if isinstance(group, Mapping)]
    found = [storage for storage in storages if storage is not None]
    return min(found, key=lambda storage: storage not in ("nvfp4", "mxfp4", "w4a16")) if found else None


def _weights_storage(group: Mapping[str, object]) -> str | None:
    weights = group.get("weights")
    if not isinstance(weights, Mapping):
        return None
    bits, kind, size = weights.get("num_bits"), weights.get("type"), weights.get("group_size")
    if bits == 8:
        return "fp8" if kind == "float" else "int8"
    if bits == 4 and kind == "float":
        return "mxfp4" if size == 32 else "nvfp4"
    return "w4a16" if bits == 4 else None


def _ignored(section: ConfigReader) -> list[str]:
    entries: list[str] = []
    for key in ("ignore", "modules_to_not_convert", "ignored_layers", "exclude_modules"):
        value = section.mapping.get(key)
        if isinstance(value, Sequence) and not isinstance(value, (str, bytes)):
            texts = [entry[:300] for entry in value[:100_000] if isinstance(entry, str)]
            entries += [text.replace("\\", "").replace(".*", "*").removeprefix("re:") for text in texts]
    return entries


def _format(storage: str, kept_dtype: str, ignored: list[str]) -> WeightFormat:
    name = "fp4" if storage in ("nvfp4", "mxfp4") else storage
    kept = frozenset(USUALLY_KEPT | {part for part, pattern in _MODULES.items() if _covers(ignored, part, pattern)})
    made = quantised_format(name, kept_dtype=kept_dtype, kept=kept)
    return WeightFormat(name, made.kept_dtype, storage, kept)


def _covers(ignored: list[str], part: str, pattern: str) -> bool:
    """Whether the ignore list names a component in all layers: without a layer number, or for several layers.

    Lists that leave single layers alone (a first or last layer in 16 bit) change under 2 % and are passed over.
    """
    hits = [entry for entry in ignored if re.search(pattern, entry)]
    if part == "experts":
        hits = [entry for entry in hits if "shared" not in entry]
    if part in ("head", "embedding"):
        return bool(hits)
    layers = {match.group(1) for entry in hits if (match := re.search(r"layers\.(\d+)\.", entry))}
    everywhere = any(not re.search(r"layers\.\d+\.", entry) for entry in hits)
    return everywhere or len(layers) >= 8


def _with_overrides(reader: ConfigReader, section: ConfigReader, made: WeightFormat) -> WeightFormat:
    """Checkpoints of two quantised formats: FP4 experts beside FP8 (DeepSeek-V4), or a list by layer (ModelOpt)."""
    if made.quantised_dtype == "fp8" and reader.mapping.get("expert_dtype") == "fp4":
        return WeightFormat("fp4", made.kept_dtype, "fp8", made.kept, (("experts", "mxfp4"),))
    listed = section.mapping.get("quantized_layers")
    if not isinstance(listed, Mapping):
        return made
    overrides = []
    for part, pattern in _MODULES.items():
        algorithms = [
            ALGORITHMS.get(str(entry.get("quant_algo")), "")
            for name, entry in list(listed.items())[:100_000]
            if isinstance(name, str) and isinstance(entry, Mapping) and re.search(pattern, name)
        ]
        if algorithms and algorithms[0]:
            overrides.append((part, max(set(algorithms), key=algorithms.count)))
    kept = frozenset(part for part in made.kept if part not in dict(overrides))
    return WeightFormat(made.name, made.kept_dtype, made.quantised_dtype, kept, tuple(overrides))
