"""Which plan a deployment followed: measurements named to a run or to a saved version, of the same team."""

import json
import uuid
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models import Q, QuerySet

from planner.datasets.comparing import comparison_again
from planner.datasets.measurements import Kept, measurement_confirm
from planner.datasets.models import Measurement, TraceUpload
from planner.runs.models import Backtest, Run, State
from planner.runs.selectors import newest_reports, run_get
from planner.scenarios.models import ScenarioVersion
from planner.teams.audit import record
from planner.teams.models import Team, User

_DEPLOYED = {
    "name": "engine",
    "version": "engine_version",
    "weight_dtype": "weight_dtype",
    "kv_dtype": "kv_dtype",
    "tensor_parallel_size": "tensor_parallel",
    "pipeline_parallel_size": "pipeline_parallel",
    "max_model_len": "max_model_len",
    "max_num_seqs": "max_num_seqs",
    "max_num_batched_tokens": "max_num_batched_tokens",
    "gpu_memory_utilization": "gpu_memory_utilization",
    "enable_prefix_caching": "enable_prefix_caching",
    "enable_chunked_prefill": "enable_chunked_prefill",
}
"""Engine settings of a report's fleet, as a measurement names them."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a deployment followed: a run, or a saved version, whose newest report counts."""

    run: Run | None = None
    version: ScenarioVersion | None = None

    @property
    def report_run(self) -> Run | None:
        """The run whose report it is; None where none is done."""
        if self.run is not None:
            return self.run if self.run.state == State.DONE else None
        assert self.version is not None
        return newest_reports([self.version], Run.objects.all()).get(self.version.pk)


class PlanUnknown(Exception):  # noqa: N818 - the name says what is the case
    """The team has no such run or version."""


def plan_get(
    team: Team, *, run_id: uuid.UUID | None = None, scenario_id: uuid.UUID | None = None, number: int | None = None
) -> Plan:
    """The plan of the team that is named; number None: the newest version. PlanUnknown."""
    if run_id is not None:
        try:
            return Plan(run=run_get(team, run_id))
        except Run.DoesNotExist:
            raise PlanUnknown("The team has no such run.") from None
    versions = ScenarioVersion.objects.filter(scenario__team=team, scenario=scenario_id).order_by("-number")
    found = (versions if number is None else versions.filter(number=number)).select_related("scenario").first()
    if found is None:
        raise PlanUnknown("The team has no such scenario, or it has no such version.")
    return Plan(version=found)


def measurement_keep(
    *, upload: TraceUpload, user: User | None, deployment: Mapping[str, Any], plan: Plan | None = None
) -> Kept:
    """Keeps an upload as a measurement, of the deployment that followed a plan if one is named: what neither the file
    nor `deployment` says is as it was planned. Raises as `measurement_confirm` does."""
    report = _report(plan)
    with transaction.atomic():
        kept = measurement_confirm(
            upload=upload,
            user=user,
            deployment=deployment,
            planned=planned_deployment(report),
            plan_replicas=planned_replicas(report),
        )
        if plan is not None:
            backtest_set(measurement=kept.measurement, plan=plan, actor=user)
    return kept


@transaction.atomic
def backtest_set(*, measurement: Measurement, plan: Plan | None, actor: User | None) -> None:
    """Names the plan that the measured deployment followed; None: none any more. Where the number of replicas came
    from the plan, it is set beside its prediction again."""
    row = Measurement.objects.select_for_update().get(pk=measurement.pk)
    before = Backtest.objects.filter(measurement=row).first()
    if plan is None:
        if before is not None:
            record(team=row.team, actor=actor, action="measurement.plan_left", thing=row)
            before.delete()
    elif before is None or (before.run, before.scenario_version) != (plan.run, plan.version):
        Backtest.objects.update_or_create(
            measurement=row, defaults={"run": plan.run, "scenario_version": plan.version, "created_by": actor}
        )
        named = str(plan.run or plan.version)
        record(team=row.team, actor=actor, action="measurement.plan_named", thing=row, details={"plan": named})
    counted, replicas = row.replicas, planned_replicas(_report(plan))
    if row.plan_replicas != replicas:
        row.plan_replicas = replicas
        row.save(update_fields=["plan_replicas"])
        if row.replicas != counted:
            comparison_again(measurement=row, actor=actor)


def plan_of(measurement: Measurement) -> Plan | None:
    """The plan that it is named to."""
    rows = Backtest.objects.select_related("run", "scenario_version__scenario")
    found = rows.filter(measurement=measurement).first()
    return None if found is None else Plan(found.run, found.scenario_version)


def measurements_after(run: Run) -> QuerySet[Measurement]:
    """Measurements named to this run or to its saved version, newest first."""
    named = Q(backtest__run=run)
    if run.scenario_version_id is not None:
        named |= Q(backtest__scenario_version=run.scenario_version_id)
    rows = Measurement.objects.filter(named, team=run.team_id).defer("inspection", "comparison")
    return rows.order_by("-measured_on", "-created_at", "pk")


def recent_plans(team: Team, most: int) -> Iterable[Run]:
    """The team's newest reports, to choose from."""
    done = Run.objects.filter(team=team, state=State.DONE).select_related("scenario_version__scenario")
    return done.defer("body", "report", "partial", "scenario_version__body").order_by("-created_at", "pk")[:most]


def planned_deployment(report: Mapping[str, Any] | None) -> dict[str, Any]:
    """A replica of the recommended fleet, as a measurement states it; nothing where there is none."""
    fleet = (report or {}).get("recommended")
    if not fleet:
        return {}
    assert report is not None
    found = {
        ours: fleet["engine"][theirs] for theirs, ours in _DEPLOYED.items() if fleet["engine"].get(theirs) is not None
    }
    model = report["provenance"]["scenario"]["model"].get("id")
    return {**found, "gpu": fleet["gpu"], **({"model": model} if model else {})}


def planned_replica(plan: Plan | None) -> dict[str, Any]:
    """The same of a plan that is named; nothing without one."""
    return planned_deployment(_report(plan))


def planned_replicas(report: Mapping[str, Any] | None) -> int | None:
    """Replicas of the recommended fleet, spare ones included: they serve, too."""
    fleet = (report or {}).get("recommended")
    return int(fleet["replicas"]) if fleet else None


def _report(plan: Plan | None) -> dict[str, Any] | None:
    run = plan.report_run if plan is not None else None
    return json.loads(run.report) if run is not None else None
