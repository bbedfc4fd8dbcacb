"""Which tensor-, pipeline- and expert-parallel sizes a model allows, and the nearest ones that work."""

from __future__ import annotations

from costmodel.deployment.deployment import Parallelism
from costmodel.deployment.dtypes import WeightFormat
from costmodel.deployment.problems import Problem
from costmodel.models.spec import ModelSpec


def divisors(number: int) -> tuple[int, ...]:
    """All divisors, rising: the tensor-parallel sizes that the number of attention heads alone would allow."""
    low = [size for size in range(1, int(number**0.5) + 1) if number % size == 0]
    return tuple(sorted({*low, *(number // size for size in low)}))


def kv_heads_fit(n_kv_heads: int, tp: int) -> bool:
    """KV heads must divide evenly over the ranks, or the ranks over the KV heads (then heads repeat)."""
    return n_kv_heads % tp == 0 or tp % n_kv_heads == 0


def divisibility_problems(
    model: ModelSpec, parallelism: Parallelism, weights: WeightFormat | None = None
) -> tuple[Problem, ...]:
    """Every dimension that the sizes do not divide, each with the legal sizes and the nearest change.

    Checked: query heads, KV heads, recurrent heads, dense, shared and (without expert parallelism) expert widths,
    whole scale blocks of block-quantised weights, experts over ep, layers over pp. The vocabulary is padded by the
    engines and never stands in the way.
    """
    form = weights or model.native_format
    problems = [*_tensor_problems(model, parallelism, form), *_expert_problems(model, parallelism)]
    if parallelism.pp > model.layers:
        detail = f"pp={parallelism.pp} stages need at least one layer each; {model.id} has {model.layers} layers"
        problems.append(Problem("pp_exceeds_layers", detail, allowed=(f"1 to {model.layers}",), field="pp"))
    return tuple(problems)


def valid_tp(model: ModelSpec, largest: int | None = None, weights: WeightFormat | None = None) -> tuple[int, ...]:
    """Tensor-parallel sizes up to `largest` (default: the number of heads) that divide every sharded dimension."""
    form = weights or model.native_format
    top = min(largest or model.n_heads, model.n_heads)
    candidates = [tp for tp in divisors(model.n_heads) if tp <= top]
    return tuple(tp for tp in candidates if not _tensor_failures(model, Parallelism(tp=tp), form))


def _tensor_problems(model: ModelSpec, parallelism: Parallelism, form: WeightFormat) -> list[Problem]:
    failures = _tensor_failures(model, parallelism, form)
    if not failures:
        return []
    legal = valid_tp(model, weights=form)
    near = _nearest(legal, parallelism)
    allowed = tuple(str(size) for size in legal)
    return [Problem(code, detail, allowed=allowed, nearest_change=near, field="tp") for code, detail in failures]


def _nearest(legal: tuple[int, ...], parallelism: Parallelism) -> tuple[str, ...]:
    """The largest smaller size (with the replicas that fill the same GPUs), the next larger one, and pipelining."""
    tp, gpus = parallelism.tp, parallelism.gpus
    smaller = [size for size in legal if size < tp]
    larger = [size for size in legal if size > tp]
    changes = []
    if smaller:
        replicas = gpus // smaller[-1]
        changes.append(f"TP={smaller[-1]} with {replicas} replica{'s' if replicas > 1 else ''}")
    if larger:
        changes.append(f"{larger[0]} GPUs TP={larger[0]}")
    changes.append(f"{gpus} GPUs PP={gpus} TP=1")
    return tuple(changes)


def _tensor_failures(model: ModelSpec, parallelism: Parallelism, form: WeightFormat) -> list[tuple[str, str]]:
    tp = parallelism.tp
    failures: dict[str, str] = {}
    for group in model.attention:
        if group.is_recurrent:
            if group.n_heads % tp or not kv_heads_fit(group.n_kv_heads, tp):
                detail = f"{group.n_heads} recurrent heads ({group.n_kv_heads} key heads) do not divide by tp={tp}"
                failures["tp_does_not_divide_recurrent_heads"] = detail
            continue
        if group.n_heads % tp:
            failures["tp_does_not_divide_heads"] = f"{group.n_heads} attention heads do not divide by tp={tp}"
        if group.kind != "mla" and not kv_heads_fit(group.n_kv_heads, tp):
            detail = f"{group.n_kv_heads} KV heads neither divide by tp={tp} nor repeat evenly over it"
            failures["tp_does_not_divide_kv_heads"] = detail
    failures |= _width_failures(model, parallelism, form)
    return list(failures.items())


def _width_failures(model: ModelSpec, parallelism: Parallelism, form: WeightFormat) -> dict[str, str]:
    failures: dict[str, str] = {}
    ranks = max(1, parallelism.expert_ranks // parallelism.ep)
    for mlp in model.mlp:
        widths = [("tp_does_not_divide_intermediate", "dense_mlp", mlp.intermediate, parallelism.tp)]
        if mlp.kind == "moe":
            widths = [
                ("tp_does_not_divide_expert_intermediate", "experts", mlp.intermediate, ranks),
                ("tp_does_not_divide_intermediate", "shared_experts", mlp.shared_intermediate, parallelism.tp),
            ]
        for code, component, width, shards in widths:
            if width % shards:
                failures[code] = f"intermediate size {width} does not divide by {shards}"
            elif _cuts_a_block(form, component, width, shards):
                detail = (
                    f"{width} over {shards} ranks is {width // shards}, not whole scale blocks of {form.scale_block}"
                )
                failures["tp_cuts_quantisation_block"] = detail
    return failures


def _cuts_a_block(form: WeightFormat, component: str, width: int, shards: int) -> bool:
    block = form.scale_block
    return bool(block and shards > 1 and component not in form.kept and (width // shards) % block)


def _expert_problems(model: ModelSpec, parallelism: Parallelism) -> list[Problem]:
    ep, ranks = parallelism.ep, parallelism.expert_ranks
    if ep == 1:
        return []
    if not model.is_moe:
        return [Problem("ep_without_experts", f"{model.id} has no experts to place: ep must be 1", ("1",), field="ep")]
    allowed = tuple(str(size) for size in divisors(ranks))
    if ranks % ep:
        detail = f"ep={ep} must divide tp x dp = {ranks}: experts are placed on GPUs of the replica"
        return [Problem("ep_does_not_divide_ranks", detail, allowed, field="ep")]
    uneven = [mlp.experts for mlp in model.mlp if mlp.kind == "moe" and mlp.experts % ep]
    if uneven:
        detail = f"{uneven[0]} experts do not divide by ep={ep}"
        return [Problem("ep_does_not_divide_experts", detail, allowed, field="ep")]
    return []
