"""Small calculators for teaching and checking: each answer carries its formula and its numbers put in."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

from costmodel import (
    Deployment,
    DeploymentError,
    Parallelism,
    UnknownIdError,
    break_even,
    divisibility_problems,
    engine_profile,
    load_catalog,
    make_deployment,
    staircase,
    usd_per_mtok_at,
)
from costmodel.memory.kv_cache import cache_shape
from planner.planning.report.plain import plain, usd, usd_per_mtok
from planner.planning.search.concurrency import poisson_quantile
from simulator import SimulatorError
from simulator.lesson import (
    LessonRequest,
    LessonRun,
    littles_law,
    run_chunked_prefill,
    run_lesson,
    run_unchunked_prefill,
)

GIB = 2**30
REFERENCE_GPU = "H200-SXM-141GB"
"""Only names a deployment; what a token takes in the cache does not depend on the accelerator."""
LessonPolicy = Literal["static", "continuous", "chunked_prefill", "unchunked_prefill"]
_LESSON_FORMULAS = {
    "static": "up to K requests start together; nobody joins until all of them have finished",
    "continuous": "a free slot takes the next request at the next step; admitted at s, n tokens: finished at s + n",
    "chunked_prefill": "as continuous; a prompt of p tokens first takes ⌈p / C⌉ steps in its slot",
    "unchunked_prefill": "as continuous; a whole prompt takes ⌈p / 256⌉ steps in which no slot decodes",
}


class CalculatorInvalid(ValueError):  # noqa: N818 - the name reads as the state of the question
    """A question without an answer. field: which value is to blame; allowed: what would be accepted, where known."""

    def __init__(self, code: str, field: str, detail: str, allowed: str = "") -> None:
        self.code, self.field, self.detail, self.allowed = code, field, detail, allowed
        super().__init__(f"{field}: {detail}")


@dataclass(frozen=True, slots=True)
class Calculation:
    """An answer: the formula, the same with numbers, and the results by name."""

    formula: str
    worked: str
    result: dict[str, Any]

    def as_dict(self) -> dict[str, Any]:
        return {"formula": self.formula, "worked": self.worked, "result": plain(self.result)}


def kv_memory(
    *, layers: int, kv_heads: int, head_dim: int, bytes_per_value: float, tp: int, context_tokens: int, sequences: int,
    block_size: int,
) -> Calculation:  # fmt: skip
    """KV cache of one GPU, of plain attention layers."""
    heads = max(Fraction(1), Fraction(kv_heads, tp))
    per_token = 2 * layers * heads * head_dim * Fraction(str(bytes_per_value))
    whole = -(-context_tokens // block_size) * block_size
    worked = (
        f"2 × {layers} × {float(heads):g} × {head_dim} × {bytes_per_value:g} = {float(per_token):,.0f} bytes per "
        f"token; × {whole:,} tokens in whole blocks of {block_size} × {sequences:,} sequences"
    )
    return Calculation(
        "bytes per token and GPU = 2 · layers · max(1, KV heads / TP) · head size · bytes per value; a sequence takes "
        "whole blocks",
        worked,
        _kv_result(float(per_token), float(per_token * whole), sequences),
    )


def kv_memory_of_model(
    *, model: str, kv_dtype: str, tp: int, context_tokens: int, sequences: int, block_size: int | str
) -> Calculation:
    """KV cache of one GPU for a model of the catalog, whatever its attention is made of. Raises CalculatorInvalid."""
    deployment = _deployment(model, kv_dtype, tp, context_tokens, int(block_size))
    shape = cache_shape(deployment, 0)
    groups = "; ".join(
        f"{group.layers} layers of {group.kind} attention"
        + (f", window {group.window_tokens:,}" if group.window_tokens else "")
        for group in deployment.model.attention
    )
    formula = (
        "sum over layers: plain attention 2 · max(1, KV heads / TP) · head size · bytes; MLA (latent + rope) · bytes "
        "on every GPU; windows hold at most their window; recurrent layers a constant state"
    )
    worked = (
        f"{groups}; {deployment.kv_dtype} cache: {shape.bytes_per_token_unbounded:,.0f} bytes per token within all "
        f"windows, {shape.sequence_bytes(context_tokens):,.0f} bytes for {context_tokens:,} tokens"
    )
    result = _kv_result(shape.bytes_per_token_unbounded, shape.sequence_bytes(context_tokens), sequences)
    return Calculation(formula, worked, result)


def _deployment(model: str, kv_dtype: str, tp: int, context_tokens: int, block_size: int) -> Deployment:
    catalog = load_catalog()
    try:
        spec = catalog.model(model)
        deployment = make_deployment(
            spec,
            catalog.accelerator(REFERENCE_GPU),
            engine_profile("vllm"),
            Parallelism(tp=tp),
            kv_dtype=kv_dtype,
            block_size=block_size,
            max_model_len=context_tokens,
        )
    except UnknownIdError as error:
        raise CalculatorInvalid(error.code, "model", str(error), ", ".join(error.suggestions)) from None
    except DeploymentError as error:
        problem = error.problems[0]
        raise CalculatorInvalid(problem.code, "model", problem.detail, ", ".join(problem.allowed)) from None
    indivisible = divisibility_problems(spec, deployment.parallelism, deployment.weights)
    if indivisible:
        raise CalculatorInvalid(indivisible[0].code, "tp", indivisible[0].detail, ", ".join(indivisible[0].allowed))
    return deployment


def _kv_result(per_token: float, per_sequence: float, sequences: int) -> dict[str, Any]:
    return {
        "kv_bytes_per_token": per_token,
        "kv_bytes_per_sequence": per_sequence,
        "kv_gib_per_gpu": per_sequence * sequences / GIB,
    }


def littles_law_of(*, arrival_rps: float, e2e_s: float) -> Calculation:
    """Requests in the system, and the 95th percentile of a Poisson number with that mean."""
    mean = littles_law(arrival_rps, e2e_s)
    return Calculation(
        "N = λ · E2E; its 95th percentile is that of a Poisson number with mean N (arrivals without bursts)",
        f"{arrival_rps:g} × {e2e_s:g} = {mean:g}",
        {"concurrency_mean": mean, "concurrency_p95": poisson_quantile(mean, 0.95)},
    )


MISMATCH_RATIO = 1.1
"""Counts that differ by more than a tenth do not come from one mix."""


def monthly_requests(
    *, input_tokens: float, output_tokens: float, prompt_tokens: float, answer_tokens: float
) -> Calculation:
    """Requests of a month from its tokens and a representative request.

    Input and output each imply a count. Sizing takes the greater one: dividing the sum of tokens by the sum of a
    request would drop part of the work where the mix is another than the representative request says.
    """
    by_input, by_output = input_tokens / prompt_tokens, output_tokens / answer_tokens
    count, least = max(by_input, by_output), min(by_input, by_output)
    fits = count <= MISMATCH_RATIO * least
    warning = (
        ""
        if fits
        else f"The month's tokens are not of such requests: input implies {by_input:,.0f}, output {by_output:,.0f}."
    )
    return Calculation(
        "requests = max(input tokens / prompt, output tokens / answer)",
        f"max({input_tokens:,.0f} / {prompt_tokens:g}, {output_tokens:,.0f} / {answer_tokens:g}) = {count:,.0f}",
        {
            "requests_per_month": count,
            "implied_by_input": by_input,
            "implied_by_output": by_output,
            "mix_fits": fits,
            "warning": warning,
        },
    )


def cost_per_mtok(*, usd_per_hour: float, tokens_per_s: float, utilisation_ratio: float) -> Calculation:
    """USD per million tokens at a utilisation."""
    per_hour = Fraction(str(tokens_per_s)) * 3600
    amount = usd_per_mtok_at(usd_per_hour, per_hour, utilisation_ratio)
    assert amount is not None
    return Calculation(
        "USD per million tokens = USD per hour / (tokens per second · 3600 · utilisation) · 10⁶",
        f"{usd_per_hour:g} / ({tokens_per_s:g} × 3600 × {utilisation_ratio:g}) × 10⁶ = {amount:.4f}",
        {"usd_per_mtok": usd_per_mtok(amount), "tokens_per_hour": float(per_hour) * utilisation_ratio},
    )


def break_even_of(
    *, usd_per_replica_hour: float, capacity_tokens_per_s: float, api_usd_per_mtok: float, spare_replicas: int,
    peak_to_mean: float, hours_per_month: float,
) -> Calculation:  # fmt: skip
    """Volume from which whole replicas are cheaper than an API, in tokens: a request of one token is as good as any."""
    stairs = staircase(
        capacity_rps=capacity_tokens_per_s,
        usd_per_replica_hour=usd_per_replica_hour,
        tokens_per_request=1,
        peak_to_mean_ratio=peak_to_mean,
        spare_replicas=spare_replicas,
        hours_per_month=hours_per_month,
    )
    found = break_even(stairs, Fraction(str(api_usd_per_mtok)) / 10**6, counted="tokens")
    first = found.crossings[0] if found.crossings else None
    last = found.crossings[-1] if found.crossings else None
    replica = stairs.usd_per_replica_month
    full_tokens = stairs.step_mean_rps * stairs.seconds_per_month
    return Calculation(
        "first crossing: (n + s) · R / API price, on the first step n with n · (x − R) > s · R; R a replica's month, x "
        "what the API charges for all that one replica serves in it, s spares; never where x ≤ R",
        f"R = {usd(replica)}, x = {usd(full_tokens * Fraction(str(api_usd_per_mtok)) / 10**6)}, s = {spare_replicas}",
        {
            "never": found.never,
            "always": found.always,
            "usd_per_replica_month": usd(replica),
            "break_even_tokens_per_month": None if first is None else round(first.tokens_per_month),
            "break_even_utilisation_ratio": None if first is None else float(first.tokens_per_month / full_tokens),
            "stays_cheaper_above_tokens_per_month": None if last is None else round(last.tokens_per_month),
            "crossings": found.crossings_total,
            "sentence": found.sentence,
        },
    )


def lesson(
    requests: Sequence[Mapping[str, int]], *, slots: int, policy: LessonPolicy, chunk_tokens: int
) -> Calculation:
    """The lesson's slots and steps. Raises CalculatorInvalid."""
    try:
        queue = [LessonRequest(**request) for request in requests]
        run = _lesson_run(queue, slots, policy, chunk_tokens)
    except SimulatorError as error:
        raise CalculatorInvalid(error.code, error.field, error.detail) from None
    result = {
        **{name: getattr(run, name) for name in (field.name for field in dataclasses.fields(run)) if name != "spans"},
        "spans": [{"slot": slot, "admitted_step": start, "finish_step": end} for slot, start, end in run.spans],
    }
    worked = f"{run.tokens:,} tokens in {run.makespan_steps:,} steps of {slots} slots"
    return Calculation(_LESSON_FORMULAS[policy], worked, result)


def _lesson_run(queue: Sequence[LessonRequest], slots: int, policy: LessonPolicy, chunk_tokens: int) -> LessonRun:
    if policy == "chunked_prefill":
        return run_chunked_prefill(queue, slots, chunk_tokens)
    if policy == "unchunked_prefill":
        return run_unchunked_prefill(queue, slots)
    return run_lesson(queue, slots, policy)
