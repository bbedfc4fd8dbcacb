"""Serving engines: the defaults of each version, dated and sourced (`data/engines.toml`)."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from costmodel.catalog.hardware import Accelerator
from costmodel.deployment.problems import UnknownIdError

FractionOf = Literal["total_memory", "free_after_weights", "static"]


@dataclass(frozen=True, slots=True)
class SizeDefault:
    """A default that depends on the device: `value` holds from `from_memory_gib` up, unless the id is excepted."""

    value: int
    from_memory_gib: float
    except_ids: tuple[str, ...]

    def applies_to(self, accelerator: Accelerator) -> bool:
        excepted = any(accelerator.id.startswith(prefix) for prefix in self.except_ids)
        return accelerator.memory_gib >= self.from_memory_gib and not excepted


@dataclass(frozen=True, slots=True)
class StaticReserve:
    """SGLang's memory kept out of the static fraction, in MiB: a base, per token of a prefill chunk, per sequence of
    the largest CUDA graph (`graph_seqs`, doubled from TP 4), and per GPU of the replica."""

    base_mib: float
    per_chunk_token_mib: float
    per_graph_seq_mib: float
    per_gpu_mib: float
    graph_seqs: tuple[SizeDefault, ...]

    def gib(self, accelerator: Accelerator, *, chunk_tokens: int, tp: int, gpus: int) -> float:
        """Memory kept for activations and graphs, in GiB."""
        graphs = _size_default(self.graph_seqs, accelerator) * (1 if tp < 4 else 2)
        chunk = max(chunk_tokens, 2048) * self.per_chunk_token_mib
        return (self.base_mib + chunk + graphs * self.per_graph_seq_mib + gpus * self.per_gpu_mib) / 1024


@dataclass(frozen=True, slots=True)
class EngineProfile:
    """What one engine version does when a knob is left blank, and what its memory fraction is a fraction of.

    `gpu_memory_utilization` is vLLM's knob; the same field holds SGLang's `mem_fraction_static` (None: computed from
    `static_reserve`) and TensorRT-LLM's `free_gpu_memory_fraction`. `hybrid_kv_cache`: windowed layers give blocks
    back; `chunked_local_cache`: so do chunked ones (Llama 4). `overlap_scheduling`: a step is prepared while the one
    before runs (vLLM's asynchronous scheduling, SGLang's and TensorRT-LLM's overlap scheduler).
    """

    name: str
    version: str
    gpu_memory_utilization: float | None
    fraction_of: FractionOf
    cuda_graphs_before_kv: bool
    hybrid_kv_cache: bool
    chunked_local_cache: bool
    static_reserve: StaticReserve | None
    block_size: int
    max_num_seqs: tuple[SizeDefault, ...]
    max_num_batched_tokens: tuple[SizeDefault, ...]
    enable_chunked_prefill: bool
    enable_prefix_caching: bool
    admission: Literal["first_chunk", "whole_prompt", "max_length", "estimated_output"]
    overlap_scheduling: bool
    preemption: Literal["recompute", "none"]
    source: str
    as_of: str
    notes: tuple[str, ...]

    def default_max_num_seqs(self, accelerator: Accelerator) -> int:
        return _size_default(self.max_num_seqs, accelerator)

    def default_memory_fraction(self, accelerator: Accelerator, *, chunk_tokens: int, tp: int, gpus: int) -> float:
        """The memory fraction when the knob is blank, rounded to three decimals as SGLang does."""
        if self.gpu_memory_utilization is not None:
            return self.gpu_memory_utilization
        assert self.static_reserve is not None
        kept = self.static_reserve.gib(accelerator, chunk_tokens=chunk_tokens, tp=tp, gpus=gpus)
        return max(0.05, round(1 - kept / accelerator.memory_gib, 3))

    def default_max_num_batched_tokens(self, accelerator: Accelerator) -> int:
        return _size_default(self.max_num_batched_tokens, accelerator)


def _size_default(defaults: tuple[SizeDefault, ...], accelerator: Accelerator) -> int:
    return next(default.value for default in defaults if default.applies_to(accelerator))


def engine_names() -> tuple[str, ...]:
    """Names of the engines that have a profile."""
    return tuple(dict.fromkeys(profile.name for profile in engine_profiles()))


@cache
def engine_profiles() -> tuple[EngineProfile, ...]:
    """All profiles, by engine and rising version."""
    text = (files("costmodel") / "data" / "engines.toml").read_text(encoding="utf-8")
    profiles = [_profile(row) for row in _inherited(tomllib.loads(text)["profile"])]
    return tuple(sorted(profiles, key=lambda profile: (profile.name, version_key(profile.version))))


def _inherited(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each row repeats only what changed since the row of the same engine above it."""
    complete: dict[str, dict[str, Any]] = {}
    result = []
    for row in rows:
        complete[row["name"]] = {**complete.get(row["name"], {}), "notes": [], **row}
        result.append(complete[row["name"]])
    return result


def _profile(row: dict[str, Any]) -> EngineProfile:
    sizes = {key: tuple(_size(entry) for entry in row[key]) for key in ("max_num_seqs", "max_num_batched_tokens")}
    reserve = row.get("static_reserve")
    made = None
    if reserve is not None:
        made = StaticReserve(**{**reserve, "graph_seqs": tuple(_size(entry) for entry in reserve["graph_seqs"])})
    fraction = row.get("gpu_memory_utilization")
    extra = {"notes": tuple(row["notes"]), "static_reserve": made, "gpu_memory_utilization": fraction}
    return EngineProfile(**{**row, **sizes, **extra})


def _size(entry: dict[str, Any]) -> SizeDefault:
    return SizeDefault(entry["value"], entry.get("from_memory_gib", 0.0), tuple(entry.get("except_ids", ())))


def version_key(version: str) -> tuple[int, ...]:
    """Numbers of a version for ordering, without zeros at the end: '0.10.2' -> (0, 10, 2), '1.0' and '1.0.0' -> (1,).

    What follows a non-number is left out; () where there is no number at all.
    """
    numbers = []
    for part in version.lower().removeprefix("v").split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if not digits:
            break
        numbers.append(int(digits))
        if digits != part:
            break
    last = max((place for place, number in enumerate(numbers, 1) if number), default=min(len(numbers), 1))
    return tuple(numbers[:last])


def engine_profile(name: str, version: str | None = None) -> EngineProfile:
    """The profile of an engine: the newest, or the nearest at or below `version` (then its notes say so).

    Raises UnknownIdError for an engine without profile, or a version that holds no number.
    """
    wanted = "".join(name.lower().split()).replace("_", "-").replace("trt-llm", "tensorrt-llm")
    wanted = {"trtllm": "tensorrt-llm", "tensorrtllm": "tensorrt-llm", "tensorrt": "tensorrt-llm"}.get(wanted, wanted)
    known = [profile for profile in engine_profiles() if profile.name == wanted]
    if not known:
        raise UnknownIdError(code="unknown_id", kind="engine", given=name, suggestions=engine_names())
    if version is None:
        return known[-1]
    key = version_key(version)
    if not key:
        versions = [profile.version for profile in known]
        raise UnknownIdError(code="unknown_id", kind=f"{wanted} version", given=version, suggestions=versions)
    return _nearest(known, version, key)


def _nearest(known: list[EngineProfile], version: str, key: tuple[int, ...]) -> EngineProfile:
    at_or_below = [profile for profile in known if version_key(profile.version) <= key]
    chosen = at_or_below[-1] if at_or_below else known[0]
    if version_key(chosen.version) == key:
        return chosen
    relation = "below" if at_or_below else "above"
    note = (
        f"no profile of {chosen.name} {version}: the defaults of {chosen.version}, the nearest {relation} it, are used"
    )
    return replace(chosen, notes=(*chosen.notes, note))
