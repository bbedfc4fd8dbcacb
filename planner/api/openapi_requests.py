"""What the OpenAPI document says about simulated requests."""

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiExample, OpenApiResponse

from planner.api import problems
from planner.api.openapi_parts import LINK, WORKBOOK, json_answer, reading
from planner.api.query import ListQuery
from planner.api.renderers import Csv, Parquet
from planner.api.wire import RequestPage
from planner.reports.tables import Table

_REQUEST = {
    "request": 0, "replica": 0, "class": "all", "arrival_s": 0.412871, "first_token_s": 0.471203, "end_s": 1.893124,
    "prompt_tokens": 612, "output_tokens": 204, "cached_tokens": 0, "ttft_ms": 58.332, "tpot_ms": 7.00454,
    "e2e_ms": 1480.253, "preemptions": 0, "outcome": "finished", "judged": False,
}  # fmt: skip

RUN_REQUESTS = reading(
    "runs_requests",
    "Read the simulated requests behind a report",
    {
        (200, "application/json"): json_answer(
            RequestPage, "Requests by arrival.", page={"items": [_REQUEST], "next": None}
        ),
        (200, "text/csv"): OpenApiResponse(
            OpenApiTypes.STR,
            description="All of them, at most 200,000 rows; sent as they are read.",
            examples=[
                OpenApiExample(
                    "table",
                    value=Csv().render(Table(list(_REQUEST), [_REQUEST])).decode(),
                    response_only=True,
                    media_type="text/csv",
                )
            ],
        ),
        WORKBOOK: OpenApiResponse(
            OpenApiTypes.BINARY,
            description="The same as a workbook, up to 300,000 cells: choose columns with `fields`.",
        ),
        (200, Parquet.media_type): OpenApiResponse(
            OpenApiTypes.BINARY, description="The same as Parquet, where the server has pyarrow; else 406."
        ),
    },
    query=ListQuery,
    formats=("json", "csv", "xlsx", "parquet"),
    also=(problems.NOT_FOUND, problems.NO_REPORT, problems.TOO_MANY_ROWS),
    headers=(LINK,),
)
