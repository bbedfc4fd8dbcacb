"""Why a deployment does not fit, with numbers, and the changes that would make it fit, nearest first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from costmodel.deployment.deployment import Deployment, Parallelism, even_partition, resolve_weights
from costmodel.deployment.parallelism import divisibility_problems, valid_tp
from costmodel.deployment.problems import Problem
from costmodel.memory.kv_cache import cache_shape
from costmodel.memory.overheads import GIB
from costmodel.memory.stage import MeasuredMemory, StageMemory, stage_memory

MAX_NODES = 8


@dataclass(frozen=True, slots=True)
class Fix:
    """A change under which the model fits. `label` says it in words, the rest in values."""

    label: str
    gpus: int
    parallelism: Parallelism
    weight_dtype: str
    kv_pool_gib: float


def fit_problem(
    deployment: Deployment, stages: Sequence[StageMemory], measured: MeasuredMemory | None = None
) -> Problem | None:
    """The first reason that the engine would not start, by cause: weights, KV room, one sequence of maximum length."""
    worst = min(stages, key=lambda stage: stage.kv_pool_bytes)
    memory = deployment.accelerator.memory_gib
    pool = worst.kv_pool_bytes / GIB
    if worst.weights_gib >= memory:
        detail = f"weights take {worst.weights_gib:.2f} GiB per GPU of {memory:.2f} GiB"
        return _with_fixes("weights_exceed_gpu_memory", detail, deployment, measured)
    if pool <= 0:
        detail = f"{-pool:.2f} GiB are lacking before any KV cache: {_spent(worst)}"
        return _with_fixes("no_kv_cache_room", detail, deployment, measured)
    tight = min(stages, key=lambda stage: stage.start_up_sequences(deployment.max_model_len))
    if tight.start_up_sequences(deployment.max_model_len) < 1:
        return _context_problem(deployment, stages, tight, measured)
    return None


def _spent(stage: StageMemory) -> str:
    whole, *taken = stage.lines[:-1]
    parts = ", ".join(f"{_in_a_sentence(line.label)} {abs(line.gib):.2f}" for line in taken)
    return f"{whole.label} {whole.gib:.2f} GiB, less {parts}"


def _in_a_sentence(label: str) -> str:
    return label if label[1].isupper() else label[0].lower() + label[1:]


def _context_problem(
    deployment: Deployment, stages: Sequence[StageMemory], tight: StageMemory, measured: MeasuredMemory | None
) -> Problem:
    need = tight.reserved.sequence_bytes(deployment.max_model_len) / GIB
    longest = longest_context(deployment, stages)
    detail = (
        f"one sequence of {deployment.max_model_len:,} tokens needs {need:.2f} GiB of KV cache per GPU, "
        f"{tight.kv_pool_bytes / GIB:.2f} GiB are left; the longest that fits is {longest:,} tokens"
    )
    changes = [f"max_model_len={longest}"] if longest else []
    problem = _with_fixes("context_exceeds_kv_pool", detail, deployment, measured)
    return replace(problem, nearest_change=(*changes, *problem.nearest_change), field="max_model_len")


def longest_context(deployment: Deployment, stages: Sequence[StageMemory]) -> int:
    """The longest sequence that every stage's pool holds, in whole blocks (0 if none)."""
    low, high = 0, deployment.max_model_len // deployment.block_size
    while low < high:
        middle = (low + high + 1) // 2
        fits = all(stage.start_up_sequences(middle * deployment.block_size) >= 1 for stage in stages)
        low, high = (middle, high) if fits else (low, middle - 1)
    return low * deployment.block_size


def _with_fixes(code: str, detail: str, deployment: Deployment, measured: MeasuredMemory | None) -> Problem:
    fixes = ranked_fixes(deployment, measured=measured)
    least = minimum_tp(deployment, measured)
    if least is not None:
        detail += f"; the smallest TP that fits is {least}"
    elif (gpus := minimum_gpus(deployment, measured)) is not None:
        nodes = gpus // deployment.accelerator.gpus_per_node
        detail += f"; it takes {gpus} GPUs ({nodes} whole nodes of {deployment.accelerator.gpus_per_node})"
    return Problem(code, detail, nearest_change=tuple(fix.label for fix in fixes), field="tp")


def fits(deployment: Deployment, measured: MeasuredMemory | None = None) -> bool:
    """Whether every stage keeps room for one sequence of maximum length."""
    return _pool_gib(deployment, measured) is not None


def _pool_gib(deployment: Deployment, measured: MeasuredMemory | None) -> float | None:
    """The smallest stage's pool in GiB if one sequence of maximum length fits in every stage, else None.

    Of what was measured, activations and overheads carry over to another shape; weights and pool do not.
    """
    given = replace(measured or MeasuredMemory(), weights_gib=None, kv_pool_gib=None)
    stages = [stage_memory(deployment, stage, given) for stage in range(deployment.parallelism.pp)]
    pool = min(stage.kv_pool_bytes for stage in stages)
    if pool <= 0 or min(stage.start_up_sequences(deployment.max_model_len) for stage in stages) < 1:
        return None
    return pool / GIB


def with_parallelism(deployment: Deployment, parallelism: Parallelism) -> Deployment:
    """The same deployment over other ranks, layers split evenly."""
    partition = even_partition(deployment.model.layers, parallelism.pp)
    return replace(deployment, parallelism=parallelism, layer_partition=partition)


def minimum_tp(deployment: Deployment, measured: MeasuredMemory | None = None) -> int | None:
    """The smallest legal tensor-parallel size within one node that fits, at one pipeline stage; None if none does."""
    legal = valid_tp(deployment.model, deployment.accelerator.gpus_per_node, deployment.weights)
    return next((tp for tp in legal if fits(with_parallelism(deployment, Parallelism(tp=tp)), measured)), None)


def minimum_gpus(deployment: Deployment, measured: MeasuredMemory | None = None) -> int | None:
    """GPUs of one copy: the smallest fitting TP within a node, else whole nodes (TP inside, PP across); None if even
    eight nodes do not do."""
    least = minimum_tp(deployment, measured)
    if least is not None:
        return least
    node = deployment.accelerator.gpus_per_node
    legal = valid_tp(deployment.model, node, deployment.weights)
    for nodes in range(2, MAX_NODES + 1):
        shapes = [Parallelism(tp=tp, pp=node * nodes // tp) for tp in reversed(legal) if node % tp == 0]
        if any(p.pp <= deployment.model.layers and fits(with_parallelism(deployment, p), measured) for p in shapes):
            return node * nodes
    return None


def ranked_fixes(
    deployment: Deployment, gpus: int | None = None, limit: int = 4, measured: MeasuredMemory | None = None
) -> tuple[Fix, ...]:
    """Deployments near this one that fit: first those that keep the number format, by how little the GPUs change.

    `gpus` is how many the user has (default: those of the deployment).
    """
    have = gpus or deployment.parallelism.gpus
    found: dict[tuple[str, int, bool], Fix] = {}
    for candidate in _candidates(deployment, have):
        key = (candidate.weight_dtype, candidate.parallelism.gpus, candidate.parallelism.pp > 1)
        if key in found:
            continue
        pool = _pool_gib(candidate, measured)
        if pool is not None:
            found[key] = Fix(_label(candidate, deployment, have), key[1], candidate.parallelism, key[0], pool)
    ranked = sorted(found.values(), key=lambda fix: _distance(fix, deployment, have))
    return tuple(ranked[:limit])


def _distance(fix: Fix, deployment: Deployment, have: int) -> tuple[float, int, int]:
    """More GPUs than the user has weigh by their ratio, a smaller format like 0.6 (8 bit) or 1.1 (4 bit) of a doubling,
    pipelining like a third."""
    ratio = fix.gpus / have if fix.gpus >= have else 1.0
    same = fix.weight_dtype == deployment.weight_dtype
    changed = 0.0 if same else {"fp8": 0.6, "int8": 0.6}.get(fix.weight_dtype, 1.1)
    return (ratio - 1 + changed + 0.35 * (fix.parallelism.pp > 1), fix.gpus, fix.parallelism.pp)


def _candidates(deployment: Deployment, have: int) -> Iterator[Deployment]:
    model, node = deployment.model, deployment.accelerator.gpus_per_node
    for dtype in _formats(deployment):
        weights = deployment.weights
        if dtype != deployment.weight_dtype:
            weights = resolve_weights(model, deployment.accelerator, dtype)
        other = replace(deployment, weights=weights, weight_dtype=dtype)
        legal = valid_tp(model, node, weights)
        shapes = [Parallelism(tp=tp) for tp in legal]
        shapes += [Parallelism(tp=tp, pp=have // tp) for tp in legal if have % tp == 0 and have // tp > 1]
        shapes += [Parallelism(tp=legal[-1], pp=nodes * node // legal[-1]) for nodes in (2, 3, 4)]
        for shape in sorted(shapes, key=lambda p: (p.gpus, p.pp)):
            if shape.pp <= model.layers and not divisibility_problems(model, shape, weights):
                yield with_parallelism(other, shape)


def _formats(deployment: Deployment) -> list[str]:
    """This format, then smaller ones that the hardware or weight-only kernels run."""
    current = deployment.weight_dtype
    if current not in ("bf16", "fp16"):
        return [current] if current in ("w4a16", "fp4") else [current, "w4a16"]
    eight = "fp8" if deployment.accelerator.fp8_native else "int8"
    return [current, eight, "w4a16"]


def _label(candidate: Deployment, deployment: Deployment, have: int) -> str:
    shape = candidate.parallelism
    text = f"{shape.gpus} GPU{'s' if shape.gpus > 1 else ''} TP={shape.tp}"
    if shape.pp > 1:
        text += f" PP={shape.pp} (layers split {'/'.join(str(count) for count in candidate.layer_partition)})"
    if candidate.weight_dtype != deployment.weight_dtype:
        text += f" with {candidate.weight_dtype} weights"
    if shape.gpus < have and have // shape.gpus > 1:
        text += f", {have // shape.gpus} replicas"
    return text


def sequence_kv_gib(deployment: Deployment, stage: int, context_tokens: int) -> float:
    """KV cache of one running sequence on each GPU of a stage, in GiB."""
    return cache_shape(deployment, stage).sequence_bytes(context_tokens) / GIB
