"""Ways to spread one replica over GPUs that are worth a try."""

from __future__ import annotations

from collections.abc import Iterator

from costmodel import Deployment, Parallelism
from costmodel.deployment.feasibility import fits, with_parallelism
from costmodel.deployment.parallelism import divisibility_problems
from costmodel.models.spec import ModelSpec
from planner.planning.schema import Scenario
from planner.planning.search.deployments import fits_in_a_node
from planner.planning.search.inventory import Gpu

USUAL_TP = (1, 2, 4, 8)
MOST_NODES = 4


def asked_layouts(scenario: Scenario, gpu: Gpu) -> tuple[Parallelism, ...]:
    """Tensor-parallel sizes asked for, or 1, 2, 4 and 8 within a node, with each pipeline asked for."""
    hardware, node = scenario.hardware, gpu.accelerator.gpus_per_node
    sizes = hardware.tensor_parallel or tuple(tp for tp in USUAL_TP if tp <= node)
    stages = hardware.pipeline_parallel or (1,)
    return tuple(Parallelism(tp=tp, pp=pp) for pp in sorted(set(stages)) for tp in sorted(set(sizes)))


def further_layouts(scenario: Scenario, deployment: Deployment) -> tuple[Parallelism, ...]:
    """Beside tensor parallel, where the scenario does not say sizes: for experts a node of attention-DP ranks that
    share them whole; where no node holds the model, the fewest nodes that do, as a pipeline and as such ranks.

    deployment: any of this model on this accelerator.
    """
    hardware, node = scenario.hardware, deployment.accelerator.gpus_per_node
    if hardware.tensor_parallel is not None or hardware.pipeline_parallel is not None:
        return ()
    model = deployment.model
    if fits_in_a_node(deployment):
        return tuple(_that_fit(deployment, [_experts(model, node)])) if node > 1 else ()
    pipelines = [Parallelism(tp=node, pp=nodes) for nodes in range(2, MOST_NODES + 1)]
    wide = [_experts(model, node * nodes) for nodes in range(2, MOST_NODES + 1)]
    first = (next(_that_fit(deployment, kind), None) for kind in (pipelines, wide))
    return tuple(layout for layout in first if layout is not None)


def _experts(model: ModelSpec, ranks: int) -> Parallelism | None:
    return Parallelism(tp=1, dp=ranks, ep=ranks) if model.is_moe else None


def _that_fit(deployment: Deployment, layouts: list[Parallelism] | list[Parallelism | None]) -> Iterator[Parallelism]:
    for layout in layouts:
        if layout is None or layout.pp > deployment.model.layers:
            continue
        if divisibility_problems(deployment.model, layout, deployment.weights):
            continue
        if fits(with_parallelism(deployment, layout)):
            yield layout
