"""The simulated requests behind a run's report, as JSON pages, streamed CSV, a workbook or Parquet."""

from collections.abc import Iterator, Sequence
from uuid import UUID

from django.http.response import HttpResponseBase
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from planner import planning
from planner.api import openapi_requests as openapi
from planner.api.answers import answer_bytes, answer_stream
from planner.api.fields import chosen_fields
from planner.api.listing import list_table
from planner.api.problems import NOT_ACCEPTABLE, TOO_MANY_ROWS, ApiProblem
from planner.api.query import ListQuery, read_query
from planner.api.renderers import Csv, Json, Parquet, Xlsx
from planner.api.views.base import ApiView
from planner.api.views.runs import finished_run
from planner.reports.csv_text import csv_of_columns
from planner.reports.requests import ParquetMissing, RequestRows, requests_parquet
from planner.reports.tables import Row, Table

MAX_XLSX_CELLS = 300_000
"""Some two seconds of writing; the longest log has ten times as many."""


class RunRequests(ApiView):
    """One row per request of the run that confirmed the recommended fleet."""

    renderer_classes = [Json, Csv, Xlsx, Parquet]

    @extend_schema(**openapi.RUN_REQUESTS)
    def get(self, request: Request, run_id: UUID) -> HttpResponseBase:
        query = read_query(request, ListQuery)
        names = chosen_fields(query.fields, planning.REQUEST_COLUMNS)
        run = finished_run(self.caller.team, run_id)
        rows = RequestRows(run)
        kind = request.accepted_renderer.format
        headers = {"Content-Disposition": f'attachment; filename="requests-{run_id}.{kind}"'}
        if kind == Csv.format:
            version = f"requests {run.digest} {len(rows)} {','.join(names)}"
            return answer_stream(
                request, _lines(rows, names), "text/csv; charset=utf-8", version=version, headers=headers
            )
        if kind == Parquet.format:
            return answer_bytes(request, _parquet(rows, names), Parquet.media_type, headers=headers)
        table = Table(planning.REQUEST_COLUMNS, rows)
        if kind == Xlsx.format:
            table = Table(table.columns, _few_enough(rows, names))
        return list_table(request, query, table, f"requests-{run_id}")


def _few_enough(rows: RequestRows, names: Sequence[str]) -> Sequence[Row]:
    """All rows, read at once. ApiProblem 413: their workbook would take the server too long."""
    if len(rows) * len(names) > MAX_XLSX_CELLS:
        detail = (
            f"{len(rows):,} requests of {len(names)} columns are more than {MAX_XLSX_CELLS:,} cells; choose columns "
        )
        raise ApiProblem(TOO_MANY_ROWS, detail + "with `fields`, or take format=csv.")
    return rows[:]


def _lines(rows: RequestRows, names: Sequence[str]) -> Iterator[bytes]:
    yield csv_of_columns([[name] for name in names])
    for columns in rows.columns():
        yield csv_of_columns([columns[name] for name in names])


def _parquet(rows: RequestRows, names: Sequence[str]) -> bytes:
    try:
        return requests_parquet(rows, names)
    except ParquetMissing:
        detail = "Parquet needs pyarrow on the server (requirements-parquet.txt); take format=csv."
        raise ApiProblem(NOT_ACCEPTABLE, detail) from None
