"""Everything that a team has stored, as one zip of JSON files that people and programs can read without Staircase."""

import json
import tempfile
import zipfile
from collections.abc import Iterable
from typing import IO, Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet

from planner.datasets.models import Calibration, Measurement, Trace
from planner.datasets.own import entries_of
from planner.reports.models import ShareLink
from planner.runs.models import Backtest, Run
from planner.scenarios.models import Comment, Scenario, ScenarioVersion
from planner.teams.audit import audit_events_of
from planner.teams.members import members_of
from planner.teams.models import ApiToken, Invitation, LinkToken, Team

IN_MEMORY_BYTES = 8 << 20
README = """What a team had stored in Staircase.

team.json         name, default assumptions
members.json      people and roles
invitations.json  invitations ever made, without their secrets
tokens.json       tokens ever made, without their secrets
scenarios/        one file per scenario, with all its versions, tags and comments
runs.json         every run; `report` names its file
reports/          reports, byte for byte; runs with the same answer share one
traces.json       what was found in traces; the requests themselves are not exported
measurements.json load tests and metrics of servers, as read, where they ran, and what was predicted
backtests.json    the runs and versions that measured deployments followed
calibrations.json step-time factors fitted to them, with every figure before and after
catalog.json      prices, models and accelerators of the team's own
share_links.json  links to reports ever made, without their secrets
audit.json        the audit log, newest first
"""
_MEASUREMENT = (
    "id", "name", "format", "digest", "measured_on", "deployment", "plan_replicas", "inspection",
    "comparison", "outside", "created_at",
)  # fmt: skip
_BACKTEST = ("measurement_id", "run_id", "scenario_version_id", "created_at")
_CALIBRATION = (
    "id", "model", "weight_dtype", "gpu", "engine", "number", "sources", "stated", "told", "in_use", "created_at",
)  # fmt: skip
_SECRET_FREE = ("prefix", "name", "created_at", "expires_at", "revoked_at", "last_used_at")


def team_export(team: Team) -> IO[bytes]:
    """The zip, at its start. Kept in memory up to 8 MiB, in a temporary file beyond."""
    out = tempfile.SpooledTemporaryFile(max_size=IN_MEMORY_BYTES)  # noqa: SIM115 - the caller streams and closes it
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("README.txt", README)
        for name, content in _documents(team):
            archive.writestr(name, json.dumps(content, cls=DjangoJSONEncoder, ensure_ascii=False, indent=1))
        _reports(team, archive)
    out.seek(0)
    return out


def _documents(team: Team) -> Iterable[tuple[str, Any]]:
    yield "team.json", _fields(team, "id", "name", "created_at", "defaults")
    yield (
        "members.json",
        [
            {"email": row.user.email, "name": row.user.name, "role": row.role, "since": row.created_at}
            for row in members_of(team)
        ],
    )
    yield (
        "invitations.json",
        list(
            Invitation.objects.filter(team=team)
            .order_by("created_at")
            .values("id", "role", "email", "created_by__email", "created_at", "expires_at", "revoked_at", "used_at")
        ),
    )
    yield (
        "tokens.json",
        {
            "api": list(_of(ApiToken, team).values("user__email", "of_team", "scope", *_SECRET_FREE)),
            "link": list(_of(LinkToken, team).values("user__email", *_SECRET_FREE)),
        },
    )
    for scenario in Scenario.objects.filter(team=team).select_related("created_by").iterator():
        yield f"scenarios/{scenario.pk}.json", _scenario(scenario)
    runs = Run.objects.filter(team=team).order_by("-created_at").defer("report", "partial", "body")
    yield "runs.json", [_run(run) for run in runs.select_related("created_by", "scenario_version").iterator()]
    traces = Trace.objects.filter(team=team).defer("csv_gzip").order_by("-created_at")
    yield (
        "traces.json",
        [_fields(trace, "id", "name", "format", "requests", "digest", "inspection", "created_at") for trace in traces],
    )
    yield "measurements.json", [_fields(row, *_MEASUREMENT) for row in _of(Measurement, team)]
    followed = Backtest.objects.filter(measurement__team=team).order_by("created_at", "pk")
    yield "backtests.json", [_fields(row, *_BACKTEST) for row in followed]
    yield "calibrations.json", [_fields(row, *_CALIBRATION) for row in _of(Calibration, team)]
    own = entries_of(team)
    yield "catalog.json", [_fields(row, "kind", "name", "value", "source", "as_of", "created_at") for row in own]
    links = ShareLink.objects.filter(team=team).order_by("created_at")
    yield (
        "share_links.json",
        [_fields(row, "run_id", "name", "created_at", "expires_at", "revoked_at") for row in links],
    )
    yield (
        "audit.json",
        list(
            audit_events_of(team).values(
                "created_at", "actor_label", "via", "action", "object_kind", "object_id", "object_label", "details"
            )
        ),
    )


def _of(kind: type[Model], team: Team) -> "QuerySet[Any]":
    return kind._default_manager.filter(team=team).order_by("created_at")


def _scenario(scenario: Scenario) -> dict[str, Any]:
    versions = ScenarioVersion.objects.filter(scenario=scenario).select_related("created_by").order_by("number")
    return {
        **_fields(scenario, "id", "name", "created_at", "archived_at"),
        "created_by": scenario.created_by and scenario.created_by.email,
        "tags": [tag.name for tag in scenario.tags.all()],
        "comments": list(
            Comment.objects.filter(scenario=scenario)
            .order_by("created_at")
            .values("text", "version__number", "created_by__email", "created_at")
        ),
        "versions": [
            {
                **_fields(version, "number", "digest", "note", "created_at"),
                "created_by": version.created_by and version.created_by.email,
                "scenario": json.loads(version.body),
            }
            for version in versions
        ],
    }


def _run(run: Run) -> dict[str, Any]:
    version = run.scenario_version
    done = run.state == "done"
    return {
        **_fields(run, "id", "name", "state", "digest", "failure", "created_at", "started_at", "finished_at"),
        "created_by": run.created_by and run.created_by.email,
        "scenario": version and {"id": version.scenario_id, "version": version.number},
        "report": f"reports/{run.digest}.json" if done else None,
    }


def _reports(team: Team, archive: zipfile.ZipFile) -> None:
    written: set[str] = set()
    done = Run.objects.filter(team=team, state="done").values_list("digest", "report")
    for digest, report in done.iterator(chunk_size=50):
        if digest not in written:
            written.add(digest)
            archive.writestr(f"reports/{digest}.json", report)


def _fields(row: Model, *names: str) -> dict[str, Any]:
    return {name: getattr(row, name) for name in names}
