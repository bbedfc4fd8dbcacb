"""Why a candidate is out, by cause. What one idle replica cannot do, no number of replicas does."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from costmodel import Deployment, Parallelism, Problem
from costmodel.deployment.parallelism import divisibility_problems
from costmodel.steptime import decode_floor_s
from planner.planning.search.capacity import Capacity
from planner.planning.search.replica import LONE_GAP_PS, Replica, lone_stream
from planner.planning.search.targets import Judged, Targets, judge, latencies
from planner.planning.traffic.load import Load
from simulator.statistics import nearest_rank

REMEDIES = {
    "ttft": "Higher tensor parallel, a faster GPU, shorter prompts, or a target above {value}.",
    "tpot": "Higher tensor parallel, a faster GPU, fewer bytes per weight, or a target above {value}.",
    "itl": "Higher tensor parallel, a faster GPU, fewer tokens per step, or a target above {value}.",
    "e2e": "Higher tensor parallel, a faster GPU, shorter outputs, or a target above {value}.",
    "goodput": "Higher tensor parallel, a faster GPU, or looser thresholds.",
}


@dataclass(frozen=True, slots=True)
class Reason:
    """The first thing that rules a candidate out, with its numbers, and the nearest change that would help.

    miss_ratio: how many times the target the value is, where the reason is a missed target; infinite elsewhere.
    """

    code: str
    detail: str
    nearest_change: str
    miss_ratio: float = math.inf

    def as_dict(self) -> dict[str, str]:
        return {"code": self.code, "detail": self.detail, "nearest_change": self.nearest_change}


def from_problem(problem: Problem) -> Reason:
    """A reason of the cost model, as a sentence."""
    changes = "; ".join(problem.nearest_change) or (f"Allowed: {', '.join(problem.allowed)}" if problem.allowed else "")
    return Reason(problem.code, _sentence(problem.detail), _sentence(changes))


def engine_reason(error: Exception, deployment: Deployment) -> Reason:
    """Settings that the engine would refuse, or rates that the catalog lacks."""
    budget = deployment.max_num_batched_tokens
    changes = {
        "budget_below_seats": f"Set max_num_seqs to at most {budget:,}, or raise max_num_batched_tokens.",
        "budget_below_prompt": f"Set max_model_len to at most {budget:,}, or switch chunked prefill on.",
    }
    code = getattr(error, "code", "engine_settings")
    return Reason(code, _sentence(str(error)), changes.get(code, "Change the engine settings."))


def tpot_floor_reason(deployment: Deployment, load: Load, targets: Targets) -> Reason | None:
    """Each decode step reads all weights once: bytes over bandwidth is a floor that no load changes. The context is
    that of the request which stands at the target's percentile."""
    for target in targets.all:
        mix = load.mix if target.traffic_class is None else load.mix.of_class(target.traffic_class)
        contexts = mix.decode_context_tokens
        if target.metric != "tpot" or target.percentile is None or not len(contexts):
            continue
        context_tokens = nearest_rank(contexts, target.percentile)
        floor_ms = decode_floor_s(deployment, context_tokens) * 1e3
        if floor_ms > target.limit:
            detail = (
                f"One step reads the weights and a context of {context_tokens:,.0f} tokens in {floor_ms:.3g} ms at "
                f"full memory bandwidth; {target.label} is to be {target.limit:g} ms. More replicas do not change that."
            )
            change = _faster(deployment, context_tokens, target.limit)
            return Reason("tpot_below_bandwidth_floor", detail, change, floor_ms / target.limit)
    return None


def _faster(deployment: Deployment, context_tokens: float, limit_ms: float) -> str:
    """The smallest tensor-parallel size within the node whose floor is below the target."""
    tp = deployment.parallelism.tp
    while (tp := tp * 2) <= deployment.accelerator.gpus_per_node:
        wider = replace(deployment, parallelism=Parallelism(tp=tp))
        if divisibility_problems(deployment.model, wider.parallelism, deployment.weights):
            break
        if decode_floor_s(wider, context_tokens) * 1e3 <= limit_ms:
            return f"Tensor parallel {tp} brings this floor under the target; so may fewer bytes per weight."
    return "Fewer bytes per weight, a GPU with more bandwidth, or a looser target."


def lone_request_reason(replica: Replica, load: Load, targets: Targets, *, widest: bool = False) -> Reason | None:
    """What an idle replica misses with requests that never meet, or what such requests cannot show at all. widest: no
    larger tensor-parallel size fits into the node, so none is offered."""
    stream = lone_stream(load)
    log = replica.run(stream, until_ps=int(stream.arrival_ps[-1]) + LONE_GAP_PS)
    return missed_alone_reason(judge(targets, latencies([log], steady=False)), len(log), widest=widest)


def missed_alone_reason(judged: Sequence[Judged], requests: int, *, widest: bool) -> Reason | None:
    """The first target that so many requests miss though none of them meets another; None when all are met."""
    missed = next((item for item in judged if not item.met), None)
    if missed is None:
        return None
    label, limit = missed.target.label, missed.target.show(missed.target.limit)
    if missed.predicted is None:
        detail = f"{label} cannot be told: of {requests:,} requests only {missed.samples} have a value of it."
        return Reason("too_few_samples", detail, "Take this target out, or state longer outputs.")
    detail = (
        f"Even without other load {label} is {missed.shown}; the target is {limit}. More replicas do not change that."
    )
    remedy = REMEDIES[missed.target.metric]
    if math.isinf(missed.predicted):
        remedy = remedy.replace(", or a target above {value}", "")
    if widest:
        remedy = remedy.removeprefix("Higher tensor parallel, a").replace(" faster GPU", "A faster GPU", 1)
    change = remedy.format(value=missed.shown)
    return Reason(f"{missed.target.metric}_of_single_request", detail, change, _miss_ratio(missed))


def _miss_ratio(missed: Judged) -> float:
    value, limit = missed.predicted or 0.0, missed.target.limit
    if missed.target.metric != "goodput":
        return value / limit
    return limit / value if value else math.inf


def load_reason(capacity: Capacity, load: Load) -> Reason:
    """No fleet of 20,000 replicas or fewer meets the targets, though one idle replica does."""
    if capacity.rps > 0:
        detail = f"{load.peak_rps:,.4g} requests/s at {capacity.rps:.3g} per replica need more than 20,000 replicas."
        return Reason("load", detail, "A faster replica (higher tensor parallel or a faster GPU).")
    failure = capacity.failing.failure() if capacity.failing else "no rate was found that meets the targets"
    rate = capacity.failing.rate_rps if capacity.failing else 0.0
    detail = f"At {rate:.3g} requests/s per replica already {failure}, and 20,000 replicas do not mend it."
    return Reason("load", detail, "Looser targets, a faster replica, or a queue in front that evens out bursts.")


def pools_reason(capacity: Capacity, load: Load, engines: int) -> Reason:
    """No fleet of prefill and decode pools up to so many engines meets the targets, though one engine of each does."""
    failure = capacity.failing.failure() if capacity.failing else "no fleet was found that meets the targets"
    detail = f"With {engines:,} engines in prefill and decode pools, at {load.peak_rps:,.4g} requests/s, {failure}."
    return Reason("load", detail, "Engines that do both, a faster engine (higher tensor parallel), or looser targets.")


def no_rate_reason(capacity_rps: float, load: Load) -> Reason:
    """The closed form finds no fleet of 20,000 replicas or fewer, though one idle replica meets the targets."""
    if capacity_rps > 0:
        detail = (
            f"By the closed form {load.peak_rps:,.4g} requests/s at {capacity_rps:.3g} per replica need more than "
            "20,000 replicas."
        )
    else:
        detail = "By the closed form a replica meets the targets alone, but at no load that is worth the name."
    return Reason("load", detail, "Looser targets, or a faster replica (higher tensor parallel or a faster GPU).")


def _sentence(text: str) -> str:
    text = text.strip()
    if not text:
        return ""
    if "_" in text.split()[0]:  # the name of a setting is spelt as it is
        return text + ("" if text.endswith(".") else ".")
    return text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
