"""The memory of one GPU of a pipeline stage, line by line, in the order in which each engine takes it."""

from __future__ import annotations

from dataclasses import dataclass

from costmodel.deployment.deployment import Deployment
from costmodel.memory.kv_cache import CacheShape, cache_shape
from costmodel.memory.overheads import GIB, activation_gib, cuda_graph_gib, non_torch_gib
from costmodel.memory.weights import stage_weights

IMAGES_APART = (
    "text alone, as fitted on logs of text models: while images or video are allowed, vLLM sets aside more for the"
    " largest of them, from 2 GiB (Qwen2.5-VL-7B on two L4) to 37 (Llama-3.2-11B-Vision with 128 sequences)"
)
"""vLLM runs its encoder on the largest input at start-up. Logs differ too much for a formula: vLLM pull request 12126,
read 2026-11-30, states an activation peak of 36.63 GiB; the two L4 miss 2 GiB against text alone."""


@dataclass(frozen=True, slots=True)
class MeasuredMemory:
    """What a user's own engine log says, in GiB per GPU; it takes the place of the prediction of that line."""

    weights_gib: float | None = None
    activation_gib: float | None = None
    non_torch_gib: float | None = None
    cuda_graphs_gib: float | None = None
    kv_pool_gib: float | None = None


@dataclass(frozen=True, slots=True)
class MemoryLine:
    """One line of the subtraction. Signed: all lines before the last add up to the last, the KV pool."""

    key: str
    label: str
    gib: float
    formula: str
    basis: str


@dataclass(frozen=True, slots=True)
class StageMemory:
    """One pipeline stage's GPU. `cache` is a sequence while it runs, `reserved` as counted at start-up."""

    stage: int
    lines: tuple[MemoryLine, ...]
    kv_pool_bytes: float
    weights_gib: float
    cache: CacheShape
    reserved: CacheShape

    def sequences(self, context_tokens: int) -> float:
        """Sequences of that context which the pool holds, as a real number; infinite if they take nothing."""
        return _ratio(self.kv_pool_bytes, self.cache.sequence_bytes(context_tokens))

    def start_up_sequences(self, context_tokens: int) -> float:
        """The same by the engine's count at start-up (its 'maximum concurrency')."""
        return _ratio(self.kv_pool_bytes, self.reserved.sequence_bytes(context_tokens))


def _ratio(pool: float, each: float) -> float:
    return max(0.0, pool) / each if each > 0 else float("inf")


def stage_memory(deployment: Deployment, stage: int, given: MeasuredMemory) -> StageMemory:
    """The subtraction on one GPU of a pipeline stage, and the cache that a sequence takes there."""
    weights, weights_text = _weights(deployment, stage)
    weights, basis = _or_given(weights, given.weights_gib, "predicted from the checkpoint's shapes and formats")
    peak, peak_text = activation_gib(deployment, stage)
    peak, peak_basis = _or_given(peak, given.activation_gib, _activation_basis(deployment))
    other, other_basis = _or_given(non_torch_gib(deployment), given.non_torch_gib, "typical of engine logs")
    graphs = cuda_graph_gib(deployment, stage) if deployment.profile.cuda_graphs_before_kv else 0.0
    graphs, graph_basis = _or_given(graphs, given.cuda_graphs_gib, "estimated per layer from few logs")
    used = [
        MemoryLine("weights", "Weights", -weights, weights_text, basis),
        MemoryLine("activation", "Activation peak", -peak, peak_text, peak_basis),
        MemoryLine("non_torch", "CUDA context and communication", -other, "constant", other_basis),
    ]
    if graphs:
        used.append(MemoryLine("cuda_graphs", "CUDA graphs", -graphs, "per captured layer", graph_basis))
    lines = _subtraction(deployment, used)
    if given.kv_pool_gib is not None:
        lines = _with_given_pool(lines, given.kv_pool_gib)
    return StageMemory(
        stage=stage,
        lines=lines,
        kv_pool_bytes=lines[-1].gib * GIB,
        weights_gib=weights,
        cache=cache_shape(deployment, stage),
        reserved=cache_shape(deployment, stage, reserved=True),
    )


def _activation_basis(deployment: Deployment) -> str:
    if deployment.model.vision:
        return IMAGES_APART if deployment.profile.name == "vllm" else "fitted on logs of text models"
    return "fitted on engine logs, within 4 % of each"


def _or_given(value: float, given: float | None, basis: str) -> tuple[float, str]:
    return (value, basis) if given is None else (given, "given by the user")


def _weights(deployment: Deployment, stage: int) -> tuple[float, str]:
    lines = stage_weights(deployment, stage)
    text = " + ".join(f"{line.component} {line.bytes / GIB:.2f}" for line in lines)
    return sum(line.bytes for line in lines) / GIB, text


def _subtraction(deployment: Deployment, used: list[MemoryLine]) -> tuple[MemoryLine, ...]:
    """Memory, less what the engine's fraction withholds, less what is used: each engine in its own order."""
    total, fraction = deployment.accelerator.memory_gib, deployment.gpu_memory_utilization
    head = MemoryLine("gpu_memory", "GPU memory", total, "as the engine sees it", deployment.accelerator.memory_basis)
    of = deployment.profile.fraction_of
    if of == "free_after_weights":
        free = total + sum(line.gib for line in used)
        text = f"(1 - {fraction:g}) of the memory free after weights and activations"
        kept = MemoryLine("withheld", "Left free", -max(0.0, free) * (1 - fraction), text, "engine setting")
        lines = [head, *used, kept]
    elif of == "static":
        context = next(line for line in used if line.key == "non_torch")
        free = total + context.gib
        text = f"(1 - {fraction:g}) of the memory free at start: activations and CUDA graphs live there"
        kept = MemoryLine("withheld", "Outside the static fraction", -free * (1 - fraction), text, "engine setting")
        lines = [head, context, kept, *(line for line in used if line.key == "weights")]
    else:
        text = f"(1 - {fraction:g}) of the total"
        kept = MemoryLine("withheld", "Left free", -total * (1 - fraction), text, "engine setting")
        lines = [head, kept, *used]
    return (*lines, _pool_line(sum(line.gib for line in lines)))


def _pool_line(gib: float) -> MemoryLine:
    return MemoryLine("kv_pool", "KV cache pool", gib, "what is left", "sum of the lines above")


def _with_given_pool(lines: tuple[MemoryLine, ...], pool_gib: float) -> tuple[MemoryLine, ...]:
    """A pool read off a log: the difference to the prediction becomes a line of its own, so that all still adds up."""
    gap = pool_gib - sum(line.gib for line in lines[:-1])
    rest = MemoryLine("unexplained", "Not explained by the prediction", gap, "given pool - predicted pool", "given")
    return (*lines[:-1], rest, _pool_line(pool_gib))
