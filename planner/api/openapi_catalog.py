"""What the OpenAPI document says about a team's own catalog entries."""

from typing import Any

from drf_spectacular.utils import OpenApiExample, OpenApiParameter

from planner.api import problems
from planner.api.openapi_parts import ALWAYS, SMALL_BODY, failures, header, json_answer, reading
from planner.api.openapi_teams import ending, listing
from planner.api.wire_catalog import Entry, EntryChange, EntryPage, EntryRequest

_SENT: dict[str, Any] = {
    "kind": "gpu-prices",
    "value": {"gpu": "H100-SXM5-80GB", "usd_per_gpu_hour": 1.9},
    "source": "Contract 17",
    "as_of": "2026-11-01",
}
_ENTRY: dict[str, Any] = {
    "id": "0197f0a6-5d3c-7c55-9c3d-2f6c0e6a9b10",
    "kind": "gpu-prices",
    "name": "H100-SXM5-80GB",
    "value": _SENT["value"],
    "source": "Contract 17",
    "as_of": "2026-11-01",
    "created_by": "ada@example.com",
    "created_at": "2026-11-30T09:00:00Z",
}


def _header(name: str, description: str, *, required: bool = False) -> OpenApiParameter:
    return OpenApiParameter(
        name, {"type": "string"}, OpenApiParameter.HEADER, required=required, description=description
    )


ENTRY_LIST = listing("catalog_entries_list", "the team's own catalog entries", EntryPage, _ENTRY, also=())
ENTRY_READ = reading(
    "catalog_entries_read",
    "Read an entry of the team's own",
    {200: json_answer(Entry, "The entry.", entry=_ENTRY)},
    also=(problems.NOT_FOUND,),
)
ENTRY_SAVE: dict[str, Any] = {
    "operation_id": "catalog_entries_save",
    "summary": "Keep a price, model or accelerator of the team's own",
    "description": "Held to the rules of a scenario. From then on the team's scenarios use it where they say nothing "
    "else: it is written into them, with its source. One of the same kind and name is replaced; with `If-Match` only "
    "while it is what that ETag names, with `If-None-Match: *` never.",
    "request": {"application/json": EntryRequest},
    "examples": [OpenApiExample("price", value=_SENT, request_only=True)],
    "parameters": [
        _header("If-Match", "ETag of the entry that this is to replace."),
        _header("If-None-Match", "`*`: only where there is none of this kind and name."),
        header("Location", "Path of the entry.", 200, 201),
    ],
    "responses": {
        200: json_answer(Entry, "It replaced the one before.", entry=_ENTRY),
        201: json_answer(Entry, "It is kept.", entry=_ENTRY),
        **failures(*ALWAYS, *SMALL_BODY, problems.VERSION_CONFLICT),
    },
}
ENTRY_CHANGE: dict[str, Any] = {
    "operation_id": "catalog_entries_change",
    "summary": "Change an entry of the team's own",
    "description": "Only while it is what If-Match names, so that a colleague's change is not overwritten unseen.",
    "request": {"application/json": EntryChange},
    "examples": [
        OpenApiExample("price", value={name: _SENT[name] for name in ("value", "source", "as_of")}, request_only=True)
    ],
    "parameters": [_header("If-Match", "ETag of the entry as it was read; `*`: whatever it is.", required=True)],
    "responses": {
        200: json_answer(Entry, "As it is now.", entry=_ENTRY),
        **failures(*ALWAYS, *SMALL_BODY, problems.NOT_FOUND, problems.VERSION_CONFLICT, problems.IF_MATCH_NEEDED),
    },
}
ENTRY_DELETE = ending(
    "catalog_entries_delete",
    "Forget an entry of the team's own",
    "Scenarios that used it hold it themselves and are not changed.",
)
