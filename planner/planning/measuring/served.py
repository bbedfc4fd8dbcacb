"""What a simulated server serves: a planned deployment as a fleet that can be driven live, and how long answers are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal

import numpy as np

from planner.planning.errors import FieldError, ScenarioInvalid
from planner.planning.plan import plan
from planner.planning.schema import Scenario, parse_scenario
from planner.planning.search.candidates import Candidate, Job, make_job, prepare, setups_of
from planner.planning.search.inventory import resolve_gpus
from planner.planning.search.targets import Targets
from planner.planning.traffic.lengths import IntArray
from simulator import Admission, Fleet, Pool
from simulator.live import Ended, LiveFleet

__all__ = ["Ended", "Router", "Served", "served"]

Router = Literal["round_robin", "least_requests", "kv_aware"]


@dataclass(frozen=True, slots=True, eq=False)
class Served:
    """A deployment to be driven live.

    replicas       as the plan counts them; the fleet has `lanes` schedulers in each
    request_ps, request_token_ps   time outside the engine, of each request and of each token of its prompt
    output_tokens  a sample of the scenario's answers, from which those are drawn that a client does not fix
    """

    name: str
    model: str
    engine: str
    fleet: Fleet
    replicas: int
    lanes: int
    max_model_len: int
    block_size: int
    prefix_caching: bool
    request_ps: int
    request_token_ps: int
    output_tokens: IntArray
    seed: int

    def start(self) -> LiveFleet:
        """The fleet, idle, at time 0."""
        return LiveFleet(self.fleet)


def served(
    document: Mapping[str, Any],
    today: date,
    *,
    planned: bool,
    gpu: str | None = None,
    tp: int | None = None,
    replicas: int | None = None,
    max_waiting: int | None = None,
    router: Router = "round_robin",
) -> Served:
    """The deployment of a scenario document, on this GPU and with this tensor-parallel size where they are given.

    planned: GPU, size and replicas that are not given are those of its plan. Otherwise, and with GPU and size given, it
    is one replica of the first GPU in the smallest size that holds the model, be it within the targets or not.

    Raises ScenarioInvalid: the document, or a deployment that cannot be, or a plan in which nothing meets the targets.
    """
    given = document.get("hardware")
    hardware = dict(given) if isinstance(given, Mapping) else {}
    hardware |= {"gpus": [gpu]} if gpu else {}
    hardware |= {"tensor_parallel": [tp]} if tp else {}
    scenario = parse_scenario({**document, "hardware": hardware} if gpu or tp else document, today=today)
    job = replace(make_job(scenario, lambda: None), targets=Targets((), {}))
    gpus = resolve_gpus(scenario.hardware, scenario.priced_at)
    if planned and not (gpu and tp):
        chosen = _recommended(scenario)
        if chosen["pools"]:
            raise _refused("pools", "The plan has prefill and decode pools, which this server does not play.",
                           "a GPU and a tensor-parallel size, or serving.disaggregation off")  # fmt: skip
        every = (prepare(job, setup) for each in gpus for setup in setups_of(job, each))
        named = next(candidate for candidate in every if candidate.id == chosen["candidate"])
        return _served(job, named, replicas or chosen["serving_replicas"], max_waiting, router)
    tried = [prepare(job, setup) for setup in setups_of(job, gpus[0])]
    fitting = next((candidate for candidate in tried if candidate.replica is not None), tried[0])
    return _served(job, fitting, replicas or 1, max_waiting, router)


def _recommended(scenario: Scenario) -> Mapping[str, Any]:
    report = plan(scenario)
    chosen: Mapping[str, Any] | None = report["recommended"]
    if chosen is None:
        raise _refused("no_candidate", report["verdict"]["sentence"], "a GPU and a tensor-parallel size")
    return chosen


def _served(job: Job, candidate: Candidate, replicas: int, max_waiting: int | None, router: Router) -> Served:
    replica = candidate.replica
    if replica is None:
        assert candidate.reason is not None
        raise _refused(candidate.reason.code, candidate.reason.detail, candidate.reason.nearest_change)
    pool = Pool(replica.config, replica.step_time, replicas * replica.lanes)
    fleet = Fleet((pool,), router=router, admission=Admission(max_waiting=max_waiting))
    return Served(
        name=f"{replicas} x {candidate.name}",
        model=job.scenario.model.id or job.model.id,
        engine=job.profile.name,
        fleet=fleet,
        replicas=replicas,
        lanes=replica.lanes,
        max_model_len=replica.config.max_model_len,
        block_size=replica.config.block_size,
        prefix_caching=replica.config.enable_prefix_caching,
        request_ps=replica.step_time.request_ps,
        request_token_ps=replica.step_time.request_token_ps,
        output_tokens=np.asarray(job.load.mix.output_tokens),
        seed=job.scenario.seed,
    )


def _refused(code: str, detail: str, allowed: str) -> ScenarioInvalid:
    return ScenarioInvalid((FieldError(code, "/hardware", "", allowed, detail),))
