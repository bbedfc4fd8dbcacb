"""One accelerator at one tensor-parallel size: built, checked, and sized for the peak hour."""

from __future__ import annotations

from dataclasses import dataclass, replace

from costmodel import Deployment, DeploymentError, EngineProfile, ModelSpec, Parallelism, make_deployment
from costmodel.deployment.parallelism import divisibility_problems
from costmodel.memory.plan import MemoryPlan
from planner.planning.schema import Scenario
from planner.planning.search.capacity import Capacity, find_capacity
from planner.planning.search.deployments import memory_of, tables_of
from planner.planning.search.feasibility import (
    Reason,
    engine_reason,
    from_problem,
    load_reason,
    lone_request_reason,
    tpot_floor_reason,
)
from planner.planning.search.fleet import Fleet, find_fleet
from planner.planning.search.inventory import Gpu, resolve_model, resolve_profile
from planner.planning.search.replica import Replica, Tick, make_replica
from planner.planning.search.targets import Targets, slo_targets
from planner.planning.traffic.load import Load, scenario_load
from simulator import SimulatorError

USUAL_TP = (1, 2, 4, 8)


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate as far as it got: `reason` says why it is out, and what follows it is then None."""

    gpu: Gpu
    tp: int
    deployment: Deployment | None = None
    memory: MemoryPlan | None = None
    reason: Reason | None = None
    replica: Replica | None = None
    capacity: Capacity | None = None
    fleet: Fleet | None = None

    @property
    def id(self) -> str:
        return f"{self.gpu.accelerator.id}/tp{self.tp}"

    @property
    def feasible(self) -> bool:
        return self.reason is None

    @property
    def widest(self) -> bool:
        """No larger tensor-parallel size fits into the node."""
        return 2 * self.tp > self.gpu.accelerator.gpus_per_node


@dataclass(frozen=True, slots=True)
class Job:
    """What all candidates of a plan share."""

    scenario: Scenario
    model: ModelSpec
    profile: EngineProfile
    load: Load
    targets: Targets
    tick: Tick


def make_job(scenario: Scenario, tick: Tick) -> Job:
    """What a scenario asks, resolved: model, engine, load and targets."""
    model = resolve_model(scenario.model)
    load = scenario_load(scenario, scenario.engine.max_model_len or model.max_context_tokens)
    return Job(scenario, model, resolve_profile(scenario), load, slo_targets(scenario.slo), tick)


def tp_sizes(scenario: Scenario, gpu: Gpu) -> tuple[int, ...]:
    """Sizes to try on this accelerator: those asked for, or 1, 2, 4 and 8 within a node."""
    asked = scenario.hardware.tensor_parallel
    if asked is not None:
        return tuple(sorted(set(asked)))
    return tuple(tp for tp in USUAL_TP if tp <= gpu.accelerator.gpus_per_node)


def evaluate(job: Job, gpu: Gpu, tp: int) -> Candidate:
    """Check in the order memory (with one sequence of the longest context), divisibility, floors, load; size the fleet
    of what is left."""
    candidate = prepare(job, gpu, tp)
    replica = candidate.replica
    if replica is None:
        return candidate
    reason = lone_request_reason(replica, job.load, job.targets, widest=candidate.widest)
    if reason is not None:
        return replace(candidate, reason=reason)
    capacity = find_capacity(replica, job.load, job.targets)
    fleet = find_fleet(replica, job.load, job.targets, capacity)
    reason = None if fleet else load_reason(capacity, job.load)
    return replace(candidate, reason=reason, capacity=capacity, fleet=fleet)


def prepare(job: Job, gpu: Gpu, tp: int) -> Candidate:
    """As far as nothing needs to be simulated: up to the replica, or to the reason why there is none."""
    if tp > gpu.accelerator.gpus_per_node:
        most = gpu.accelerator.gpus_per_node
        detail = f"A node has {most} of these GPUs; tensor parallel {tp} would cross nodes."
        return Candidate(gpu, tp, reason=Reason("tp_beyond_node", detail, f"Tensor parallel {most} or less."))
    try:
        deployment = _deployment(job, gpu, tp)
    except DeploymentError as error:
        return Candidate(gpu, tp, reason=from_problem(error.problems[0]))
    memory = memory_of(deployment)
    reason = _before_simulation(job, deployment, memory)
    if reason is not None:
        return Candidate(gpu, tp, deployment, memory, reason)
    try:
        replica = make_replica(deployment, memory, tables_of(deployment), job.load.mix, job.tick)
    except (SimulatorError, ValueError) as error:
        reason = engine_reason(error, deployment)
        return Candidate(gpu, tp, deployment, memory, reason)
    return Candidate(gpu, tp, deployment, memory, None, replica)


def _before_simulation(job: Job, deployment: Deployment, memory: MemoryPlan) -> Reason | None:
    if not memory.fits:
        assert memory.problem is not None
        return from_problem(memory.problem)
    indivisible = divisibility_problems(job.model, deployment.parallelism, deployment.weights)
    if indivisible:
        return from_problem(indivisible[0])
    return tpot_floor_reason(deployment, job.load, job.targets)


def _deployment(job: Job, gpu: Gpu, tp: int) -> Deployment:
    engine, model = job.scenario.engine, job.scenario.model
    return make_deployment(
        job.model,
        gpu.accelerator,
        job.profile,
        Parallelism(tp=tp),
        weight_dtype=model.weight_dtype,
        kv_dtype=model.kv_dtype,
        max_model_len=engine.max_model_len,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        gpu_memory_utilization=engine.gpu_memory_utilization,
        block_size=engine.block_size,
        enable_prefix_caching=engine.enable_prefix_caching,
        enable_chunked_prefill=engine.enable_chunked_prefill,
    )
