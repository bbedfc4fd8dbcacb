"""One accelerator in one layout: built, checked, and sized for the peak hour."""

from __future__ import annotations

from dataclasses import dataclass, replace

from costmodel import Deployment, DeploymentError, EngineProfile, ModelSpec, Parallelism, make_deployment
from costmodel.deployment.parallelism import divisibility_problems
from costmodel.memory.plan import MemoryPlan
from planner.planning.calibration.matching import calibrated
from planner.planning.report.names import candidate_name
from planner.planning.schema import Scenario
from planner.planning.search.apart import Apart, apart_rates, kv_transfer
from planner.planning.search.capacity import Capacity, find_capacity
from planner.planning.search.deployments import memory_of, tables_of
from planner.planning.search.feasibility import (
    Reason,
    engine_reason,
    from_problem,
    load_reason,
    lone_request_reason,
    pools_reason,
    tpot_floor_reason,
)
from planner.planning.search.fleet import Fleet, find_fleet
from planner.planning.search.inventory import Gpu, resolve_model, resolve_profile
from planner.planning.search.layouts import asked_layouts, further_layouts
from planner.planning.search.pools import find_pools
from planner.planning.search.precisions import Precision, precisions_of
from planner.planning.search.replica import Replica, Tick, make_replica
from planner.planning.search.routing import routed
from planner.planning.search.targets import Targets, all_targets
from planner.planning.traffic.load import Load, scenario_load
from simulator import SimulatorError


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate as far as it got: `reason` says why it is out, and what follows it is then None."""

    gpu: Gpu
    layout: Parallelism
    precision: Precision
    deployment: Deployment | None = None
    memory: MemoryPlan | None = None
    reason: Reason | None = None
    replica: Replica | None = None
    capacity: Capacity | None = None
    fleet: Fleet | None = None
    apart: bool = False

    @property
    def id(self) -> str:
        """Accelerator and the sizes of the layout above 1, TP always, -pd for prefill and decode pools; number formats
        where several are tried."""
        sizes = (("pp", self.layout.pp), ("dp", self.layout.dp), ("ep", self.layout.ep))
        more = "".join(f"-{name}{size}" for name, size in sizes if size > 1)
        apart = "-pd" if self.apart else ""
        return f"{self.gpu.accelerator.id}/tp{self.layout.tp}{more}{apart}{self.precision.tag}"

    @property
    def name(self) -> str:
        """The same for readers."""
        said = ", ".join(
            part for part in ("prefill and decode pools" if self.apart else "", self.precision.said) if part
        )
        return candidate_name(self.gpu.accelerator.id, self.layout, said)

    @property
    def split(self) -> tuple[int, int] | None:
        """Engines of a sized fleet that compute prompts, and outputs; None where all do both."""
        if self.replica is None or self.replica.apart is None or self.fleet is None:
            return None
        return self.replica.apart.split(self.fleet.serving)

    @property
    def pools(self) -> int:
        """Kinds of engines, each of which has spares of its own: an engine that computes prompts does not stand in for
        one that makes outputs unless the router is told so."""
        return 2 if self.apart else 1

    @property
    def together(self) -> int:
        """Replicas in a run that tells the capacity: one, or all that serve where they depend on each other."""
        together = self.replica is not None and self.replica.together
        return self.fleet.serving if together and self.fleet is not None else 1

    @property
    def gpus_per_replica(self) -> int:
        return self.layout.gpus

    @property
    def feasible(self) -> bool:
        return self.reason is None

    @property
    def widest(self) -> bool:
        """No larger tensor-parallel size fits into the node."""
        return 2 * self.layout.tp > self.gpu.accelerator.gpus_per_node


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
    return Job(
        scenario, model, resolve_profile(scenario), load, all_targets(scenario.slo, scenario.traffic.classes), tick
    )


@dataclass(frozen=True, slots=True)
class Setup:
    """What is to become a candidate."""

    gpu: Gpu
    layout: Parallelism
    precision: Precision


def setups_of(job: Job, gpu: Gpu) -> tuple[Setup, ...]:
    """Everything to try on this accelerator: each number format in its layouts."""
    return tuple(
        Setup(gpu, layout, precision)
        for precision in precisions_of(job.scenario.model, job.model, gpu.accelerator)
        for layout in layouts_of(job, gpu, precision)
    )


def layouts_of(job: Job, gpu: Gpu, precision: Precision) -> tuple[Parallelism, ...]:
    """Layouts to try on this accelerator, those asked for or the usual ones first."""
    asked = asked_layouts(job.scenario, gpu)
    try:
        deployment = _deployment(job, Setup(gpu, asked[0], precision))
    except DeploymentError:
        return asked
    return (*asked, *further_layouts(job.scenario, deployment))


def evaluate(job: Job, setup: Setup) -> Candidate:
    """Check in the order memory (with one sequence of the longest context), divisibility, floors, load; size the fleet
    of what is left."""
    return simulated(job, prepare(job, setup))


def simulated(job: Job, candidate: Candidate) -> Candidate:
    """A prepared candidate with what only simulations tell: floors of a single request, capacity, fleet."""
    replica = candidate.replica
    if replica is None:
        return candidate
    reason = lone_request_reason(replica, job.load, job.targets, widest=candidate.widest)
    if reason is not None:
        return replace(candidate, reason=reason)
    if candidate.apart:
        found = find_pools(replica, job.load, job.targets)
        reason = None if found.fleet else pools_reason(found.capacity, job.load, found.tried)
        return replace(candidate, replica=found.replica, reason=reason, capacity=found.capacity, fleet=found.fleet)
    capacity = find_capacity(replica, job.load, job.targets)
    fleet = find_fleet(replica, job.load, job.targets, capacity)
    if fleet is not None:
        replica, capacity, fleet = routed(job.scenario.serving.router, replica, job.load, job.targets, capacity, fleet)
    reason = None if fleet else load_reason(capacity, job.load)
    return replace(candidate, replica=replica, reason=reason, capacity=capacity, fleet=fleet)


def divided(job: Job, candidate: Candidate) -> Candidate | None:
    """The prepared candidate with prefill and decode pools in place of replicas that do both; None for layouts of
    several lanes, whose hand-over is not modelled."""
    replica, memory = candidate.replica, candidate.memory
    if replica is None or memory is None or replica.lanes > 1:
        return None
    transfer = kv_transfer(memory, job.scenario.serving)
    config = replace(replica.config, overlap_scheduling=False)
    rates = apart_rates(config, replica.step_time, job.load.mix, job.targets.step_limit_ms)
    shared = replace(replica, config=config, apart=Apart(transfer, rates.prefill_ratio))
    return replace(candidate, replica=shared, apart=True, reason=None)


def prepare(job: Job, setup: Setup) -> Candidate:
    """As far as nothing needs to be simulated: up to the replica, or to the reason why there is none."""
    gpu, layout = setup.gpu, setup.layout
    blank = Candidate(gpu, layout, setup.precision)
    if layout.tp > gpu.accelerator.gpus_per_node:
        most = gpu.accelerator.gpus_per_node
        detail = f"A node has {most} of these GPUs; tensor parallel {layout.tp} would cross nodes."
        return replace(blank, reason=Reason("tp_beyond_node", detail, f"Tensor parallel {most} or less."))
    try:
        deployment = _deployment(job, setup)
    except DeploymentError as error:
        return replace(blank, reason=from_problem(error.problems[0]))
    memory = memory_of(deployment)
    reason = _before_simulation(job, deployment, memory)
    if reason is not None:
        return replace(blank, deployment=deployment, memory=memory, reason=reason)
    try:
        replica = make_replica(deployment, memory, tables_of(deployment), job.load.mix, job.tick)
    except (SimulatorError, ValueError) as error:
        reason = engine_reason(error, deployment)
        return replace(blank, deployment=deployment, memory=memory, reason=reason)
    return replace(blank, deployment=deployment, memory=memory, replica=replica)


def _before_simulation(job: Job, deployment: Deployment, memory: MemoryPlan) -> Reason | None:
    if not memory.fits:
        assert memory.problem is not None
        return from_problem(memory.problem)
    indivisible = divisibility_problems(job.model, deployment.parallelism, deployment.weights)
    if indivisible:
        return from_problem(indivisible[0])
    return tpot_floor_reason(deployment, job.load, job.targets)


def _deployment(job: Job, setup: Setup) -> Deployment:
    engine = job.scenario.engine
    made = make_deployment(
        job.model,
        setup.gpu.accelerator,
        job.profile,
        setup.layout,
        weight_dtype=setup.precision.weight_dtype,
        kv_dtype=setup.precision.kv_dtype,
        max_model_len=engine.max_model_len,
        max_num_seqs=engine.max_num_seqs,
        max_num_batched_tokens=engine.max_num_batched_tokens,
        gpu_memory_utilization=engine.gpu_memory_utilization,
        block_size=engine.block_size,
        enable_prefix_caching=engine.enable_prefix_caching,
        enable_chunked_prefill=engine.enable_chunked_prefill,
    )
    return calibrated(made, job.scenario.calibrations or ())
