"""`If-Match` on a change of a saved scenario: it holds only while the version that the caller saw is the newest."""

import re

from django.utils.http import parse_etags
from rest_framework.request import Request

from planner.api.problems import IF_MATCH_NEEDED, VERSION_CONFLICT, ApiProblem
from planner.api.wire import Fault
from planner.planning.errors import show
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.selectors import person

_NUMBER = re.compile(r'"([0-9]{1,10})(?:\.[0-9a-f]{64})?"')


def check_if_match(request: Request, newest: ScenarioVersion, *, required: bool = False) -> None:
    """Holds the change to the version that the header names: an ETag of the scenario, or its number in quotes.

    What follows the number in an ETag is not looked at: a tag or a comment meanwhile stands in no editor's way.
    ApiProblem: 428 where it is required and missing, 412 when another version is the newest.
    """
    given = request.headers.get("If-Match", "").strip()
    if not given:
        if required:
            detail = f"Send If-Match with the ETag of the scenario that you read, or its version: {_tag(newest)}."
            raise ApiProblem(IF_MATCH_NEEDED, detail)
        return
    tags = parse_etags(given)
    numbers = {int(found[1]) for tag in tags if (found := _NUMBER.fullmatch(tag))}
    if "*" not in tags and newest.number not in numbers:
        raise conflict(newest, given)


def conflict(newest: ScenarioVersion, given: str) -> ApiProblem:
    """412, naming who saved the newest version and when."""
    saved = f"{newest.created_at:%Y-%m-%d at %H:%M} UTC"
    fault = Fault(
        code="version_conflict",
        pointer="If-Match",
        given=show(given),
        allowed=_tag(newest),
        detail=f"Version {newest.number} was saved by {person(newest.created_by)} on {saved}.",
    )
    detail = f"{fault.detail} Nothing was changed; compare with it, then send yours again on top of it or as a copy."
    return ApiProblem(VERSION_CONFLICT, detail, errors=[fault])


def _tag(newest: ScenarioVersion) -> str:
    return f'"{newest.number}"'
