"""What the OpenAPI document says about comparisons and share links."""

from typing import Any

from drf_spectacular.utils import OpenApiResponse

from planner.api import problems
from planner.api.openapi_examples import RUN_ID
from planner.api.openapi_parts import LINK, as_tables, json_answer, listed, reading
from planner.api.openapi_scenarios import LISTS, LOCATION, created, writing
from planner.api.query import ComparisonQuery, ShareLinkListQuery
from planner.api.wire_sharing import (
    Comparison,
    ComparisonRequest,
    ShareLinkCreated,
    ShareLinkPage,
    ShareLinkRequest,
    ShareLinkSummary,
)

_A = "0f3a5d0e-6c1b-4b53-9a0e-3b8f3f6f2f10"
_B = "5b0e9c1a-2f43-4a53-8a51-7d0a4b1f6c22"
_OF = [f"{_A}:3", f"{_B}:1"]
_QUERY = ",".join(_OF)


def _side(scenario_id: str, number: int, label: str) -> dict[str, Any]:
    return {
        "of": f"{scenario_id}:{number}",
        "label": label,
        "scenario_id": scenario_id,
        "number": number,
        "run_id": RUN_ID,
        "priced_at": "2026-11-30",
        "report": f"/api/v1/runs/{RUN_ID}/report",
    }


_COMPARISON: dict[str, Any] = {
    "sides": [_side(_A, 3, "Support chat"), _side(_B, 1, "Support chat, France")],
    "inputs": [{"pointer": "/traffic/arrival/mean_rps", "values": [6.0, 2.5]}],
    "results": [
        {
            "name": "usd_per_month",
            "label": "Self-host",
            "unit": "$/month",
            "values": [
                {"low": 6570.0, "mid": 6701.4, "high": 8760.0},
                {"low": 3285.0, "mid": 3350.7, "high": 4380.0},
            ],
        },
        {
            "name": "ttft_p95_ms",
            "label": "TTFT p95",
            "unit": "ms",
            "values": [{"low": 370.5, "mid": 499.2, "high": 764.3, "target": 1000.0, "met": True}, None],
        },
    ],
    "link": f"/api/v1/comparisons?of={_QUERY}",
    "page": f"/compare/?of={_QUERY}",
}
_LINES = (
    "part,name,label,unit,side,of,value,low,high,target,met\r\n"
    f"input,/traffic/arrival/mean_rps,,,1,{_A}:3,6.0,,,,\r\n"
    f"result,ttft_p95_ms,TTFT p95,ms,1,{_A}:3,499.2,370.5,764.3,1000.0,true\r\n"
)
_SHARE: dict[str, Any] = {
    "id": _B,
    "name": "Board",
    "run_id": RUN_ID,
    "author": "Ada",
    "created_at": "2026-11-30T09:00:00Z",
    "expires_at": "2026-12-30T09:00:00Z",
    "expired": False,
    "last_used_at": None,
    "link": f"/api/v1/share-links/{_B}",
}

COMPARISON_READ = reading(
    "comparisons_read",
    "Compare scenarios, versions or runs",
    {
        (200, "application/json"): json_answer(
            Comparison, "The sides, what differs between their inputs, their results.", two=_COMPARISON
        ),
        **as_tables("A line for each value of each side.", _LINES),
    },
    query=ComparisonQuery,
    formats=LISTS,
    also=(problems.NOT_FOUND,),
)
COMPARISON_MAKE = writing(
    "comparisons_make",
    "Compare scenarios, versions or runs, named in a body",
    {200: json_answer(Comparison, "The sides, what differs between their inputs, their results.", two=_COMPARISON)},
    description="The answer to GET with the same names; nothing is stored.",
    body=ComparisonRequest,
    example={"of": _OF},
    also=(problems.NOT_FOUND,),
)
SHARE_LINK_LIST = reading(
    "share_links_list",
    "List share links",
    listed(ShareLinkPage, "Share links.", {"items": [_SHARE], "next": None}),
    query=ShareLinkListQuery,
    formats=LISTS,
    also=(problems.TOO_MANY_ROWS,),
    headers=(LINK,),
)
SHARE_LINK_CREATE = writing(
    "share_links_create",
    "Make a share link to a report",
    created(
        ShareLinkCreated, "It was made.", _SHARE | {"path": "/shared/pDkTq8yW5mC0b1m0dJx2Zr7nUe3sVf6hKaLgYtXoQwE/"}
    ),
    description="Whoever has the address reads this report and nothing else, until it expires or is revoked.",
    body=ShareLinkRequest,
    example={"run_id": RUN_ID, "name": "Board", "expires_in_days": 30},
    parameters=(LOCATION,),
)
SHARE_LINK_READ = reading(
    "share_links_read",
    "Read a share link",
    {200: json_answer(ShareLinkSummary, "The link, without its secret.", link=_SHARE)},
    also=(problems.NOT_FOUND,),
)
SHARE_LINK_REVOKE = writing(
    "share_links_revoke",
    "Revoke a share link",
    {204: OpenApiResponse(description="It has ended.")},
    description="Doing it twice changes nothing.",
    also=(problems.NOT_FOUND,),
)
