"""Runs: start, list, read, cancel, and the report."""

import json
import re
from typing import Any, ClassVar
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework.exceptions import NotFound
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_runs as openapi
from planner.api.answers import answer, answer_bytes
from planner.api.body import read_json_body
from planner.api.fields import chosen_fields
from planner.api.listing import list_rows, list_table, table_answer
from planner.api.problems import IDEMPOTENCY_CONFLICT, INVALID_PARAMETER, NO_REPORT, TOO_MANY_REQUESTS, ApiProblem
from planner.api.query import ListQuery, NoQuery, ReportQuery, RunListQuery, RunQuery, read_query
from planner.api.renderers import Csv, Json, Xlsx
from planner.api.scenario_body import request_sha256, scenario_to_run
from planner.api.throttles import EveryRequest, NewRuns
from planner.api.views.base import ApiView, ListView
from planner.api.waiting import wait_while
from planner.api.wire import Fault, RunDetail, RunFailure, RunLinks, RunSummary, ScenarioRef
from planner.planning.errors import show
from planner.reports.export_xlsx import report_xlsx
from planner.reports.tables import TABLES, flat
from planner.runs.backtests import measurements_after
from planner.runs.limits import LimitReached
from planner.runs.models import FINAL_STATES, Run, State
from planner.runs.selectors import runs_of
from planner.runs.services import IdempotencyConflict, run_cancel, run_submit
from planner.teams.models import Scope, Team

POLL_AGAIN_S = 2
MOST_MEASUREMENTS = 100
_WHOLE_ONLY = Fault(
    code="not_with_format",
    pointer="?fields",
    given="",
    allowed="format=json or csv",
    detail="A workbook has no sections.",
)
PATH = "/api/v1/runs"
_KEY = re.compile(r"[\x21-\x7e]{1,200}")


class RunList(ListView):
    """All runs of the team."""

    scopes: ClassVar = {"POST": Scope.RUN}
    throttle_classes = [EveryRequest, NewRuns]

    @extend_schema(**openapi.RUN_LIST)
    def get(self, request: Request) -> HttpResponse:
        query = read_query(request, RunListQuery)
        rows = runs_of(self.caller.team).select_related("scenario_version").defer("scenario_version__body")
        if query.state is not None:
            rows = rows.filter(state=query.state)
        return list_rows(request, query, rows, RunSummary, lambda run: RunSummary(**_summary(run)), "runs")

    @extend_schema(**openapi.RUN_START)
    def post(self, request: Request) -> HttpResponse:
        read_query(request, NoQuery)
        key = _idempotency_key(request)
        raw = read_json_body(request)
        parsed, version = scenario_to_run(raw, self.caller.team)
        try:
            run = run_submit(
                team=self.caller.team,
                user=self.caller.user,
                parsed=parsed,
                scenario_version=version,
                idempotency_key=key,
                request_sha256=request_sha256(raw),
            )
        except LimitReached as reached:
            raise ApiProblem(TOO_MANY_REQUESTS, f"{reached}") from None
        except IdempotencyConflict:
            raise ApiProblem(
                IDEMPOTENCY_CONFLICT, "Send a new key with a new request; the first run of this key stands."
            ) from None
        headers = {"Location": _path(run), **_retry_after(run)}
        return answer(request, _detail(run), status=202, headers=headers)


class RunItem(ApiView):
    """One run."""

    scopes: ClassVar = {"DELETE": Scope.RUN}

    @extend_schema(**openapi.RUN_READ)
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        query = read_query(request, RunQuery)
        open_rows = runs_of(self.caller.team).filter(pk=run_id).exclude(state__in=FINAL_STATES)
        wait_while(open_rows.exists, query.wait)
        run = _find(self.caller.team, run_id)
        return answer(request, _detail(run), headers=_retry_after(run))

    @extend_schema(**openapi.RUN_CANCEL)
    def delete(self, request: Request, run_id: UUID) -> HttpResponse:
        read_query(request, NoQuery)
        run_cancel(run=_find(self.caller.team, run_id), user=self.caller.user)
        run = _find(self.caller.team, run_id)
        if run.state in FINAL_STATES:
            return HttpResponse(status=204)
        return answer(request, _detail(run), status=202, headers={"Location": _path(run), **_retry_after(run)})


class RunReport(ApiView):
    """The report of one run: its bytes, of some sections the same serialisation or one long table of their values, or
    all of it as a workbook."""

    renderer_classes = [Json, Csv, Xlsx]

    @extend_schema(**openapi.RUN_REPORT)
    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        query = read_query(request, ReportQuery)
        stored = _report(self.caller.team, run_id)
        if request.accepted_renderer.format == Xlsx.format:
            if query.fields is not None:
                raise ApiProblem(INVALID_PARAMETER, "A workbook is of the whole report.", errors=[_WHOLE_ONLY])
            headers = {"Content-Disposition": f'attachment; filename="report-{run_id}.xlsx"'}
            return answer_bytes(request, report_xlsx(json.loads(stored)), Xlsx.media_type, headers=headers)
        if query.fields is None and request.accepted_renderer.format == Json.format:
            return answer_bytes(request, stored, "application/json")
        report = json.loads(stored)
        chosen = {name: report[name] for name in chosen_fields(query.fields, tuple(report))}
        if request.accepted_renderer.format == Csv.format:
            return table_answer(request, flat(chosen), f"report-{run_id}")
        return answer_bytes(request, planning.report_bytes(chosen), "application/json")


class RunTable(ListView):
    """One table of a run's report."""

    table: ClassVar[str]

    def get(self, request: Request, run_id: UUID) -> HttpResponse:
        query = read_query(request, ListQuery)
        report = json.loads(_report(self.caller.team, run_id))
        return list_table(request, query, TABLES[self.table](report), f"{self.table}-{run_id}")


def run_table(name: str) -> type[RunTable]:
    """The view of one table."""
    view = type(f"Run{name.title().replace('-', '')}", (RunTable,), {"table": name})
    return extend_schema_view(get=extend_schema(**openapi.run_table(name)))(view)


def finished_run(team: Team, run_id: UUID) -> Run:
    """A run that is done. NotFound: the team has no such run; ApiProblem 409: it has no report."""
    run = _find(team, run_id)
    if run.state != State.DONE:
        raise _no_report(run)
    return run


def _report(team: Team, run_id: UUID) -> bytes:
    """The stored report; else as `finished_run`."""
    return finished_run(team, run_id).report.encode()


def _find(team: Any, run_id: UUID) -> Run:
    """The run without its two heavy texts, which no answer but the report needs."""
    rows = runs_of(team).select_related("scenario_version").defer(None)
    rows = rows.defer("body", "report", "scenario_version__body")
    run = rows.filter(pk=run_id).first()
    if run is None:
        raise NotFound("The team has no such run.")
    return run


def _idempotency_key(request: Request) -> str | None:
    key = request.headers.get("Idempotency-Key")
    if key is None or _KEY.fullmatch(key):
        return key
    allowed = "1 to 200 visible ASCII characters"
    fault = Fault(
        code="invalid_key",
        pointer="Idempotency-Key",
        given=show(key),
        allowed=allowed,
        detail=f"The key must be {allowed}.",
    )
    raise ApiProblem(INVALID_PARAMETER, "The Idempotency-Key is not valid.", errors=[fault])


def _no_report(run: Run) -> ApiProblem:
    if run.state not in FINAL_STATES:
        return ApiProblem(NO_REPORT, f"The run is {run.state}; ask again when it is done.", headers=_retry_after(run))
    detail = "The run was cancelled." if run.state == State.CANCELLED else "The run failed."
    failure = run.failure or {}
    errors = [
        Fault(
            code=str(failure.get("code", run.state)),
            pointer="",
            given="",
            allowed="",
            detail=str(failure.get("detail", detail)),
        )
    ]
    return ApiProblem(NO_REPORT, detail, errors=errors)


def _retry_after(run: Run) -> dict[str, str]:
    return {} if run.state in FINAL_STATES else {"Retry-After": str(POLL_AGAIN_S)}


def _path(run: Run) -> str:
    return f"{PATH}/{run.pk}"


def _summary(run: Run) -> dict[str, Any]:
    version = run.scenario_version
    return {
        "id": run.pk,
        "name": run.name,
        "state": run.state,
        "progress_ratio": run.progress_ratio,
        "stage": run.stage,
        "cancel_requested": run.cancel_requested,
        "scenario_version": version and ScenarioRef(scenario_id=version.scenario_id, number=version.number),
        "failure": run.failure and RunFailure(**{key: str(run.failure.get(key, "")) for key in ("code", "detail")}),
        "created_at": run.created_at,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "links": RunLinks(own=_path(run), report=f"{_path(run)}/report" if run.state == State.DONE else None),
        "priced_at": run.priced_at,
        "repriced": run.repriced,
        "result_version": run.result_version,
    }


def _detail(run: Run) -> RunDetail:
    after = measurements_after(run).values_list("pk", flat=True)[:MOST_MEASUREMENTS] if run.state == State.DONE else ()
    return RunDetail(
        **_summary(run), candidates=run.partial, measurements=[f"/api/v1/measurements/{key}" for key in after]
    )
