"""`If-Match` on a change: it is made only while the thing is what the caller saw.

Of most things that is the ETag of their answer; of a saved scenario it is the version, so that a tag or a comment
meanwhile stands in no editor's way.
"""

import re

from django.utils.http import parse_etags
from rest_framework.request import Request

from planner.api.problems import IF_MATCH_NEEDED, VERSION_CONFLICT, ApiProblem
from planner.api.wire import Fault
from planner.planning.errors import show
from planner.scenarios.models import ScenarioVersion
from planner.scenarios.selectors import person

_NUMBER = re.compile(r'"([0-9]{1,10})(?:\.[0-9a-f]{64})?"')


def check_if_match(request: Request, etag: str | None) -> None:
    """Holds the change to the answer that the header names. etag: that of the present one; None: there is none.

    ApiProblem 412: it is another. A weak tag counts as a strong one, because proxies that pack answers weaken them.
    """
    tags = _tags(request)
    if etag is not None and ("*" in tags or etag in tags):
        return
    fault = Fault(
        code="version_conflict",
        pointer="If-Match",
        given=show(request.headers.get("If-Match", "")),
        allowed=etag or "",
        detail="It was changed since, or is not there any more." if etag else "There is none yet.",
    )
    raise ApiProblem(VERSION_CONFLICT, f"{fault.detail} Nothing was done; read it again.", errors=[fault])


def check_version(
    request: Request, newest: ScenarioVersion, *, required: bool = False, etag: str | None = None
) -> None:
    """Holds the change to the version that the header names: an ETag of the scenario, or its number in quotes.

    What follows the number in an ETag is not looked at. etag: another tag that is taken too.
    ApiProblem: 428 where it is required and missing, 412 when another version is the newest.
    """
    given = request.headers.get("If-Match", "").strip()
    if not given:
        if required:
            detail = f"Send If-Match with the ETag of the scenario that you read, or its version: {_tag(newest)}."
            raise ApiProblem(IF_MATCH_NEEDED, detail)
        return
    tags = _tags(request)
    if etag in tags:
        return
    numbers = {int(found[1]) for tag in parse_etags(given) if (found := _NUMBER.fullmatch(tag))}
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


def _tags(request: Request) -> set[str]:
    return {tag.removeprefix("W/") for tag in parse_etags(request.headers.get("If-Match", ""))}


def _tag(newest: ScenarioVersion) -> str:
    return f'"{newest.number}"'
