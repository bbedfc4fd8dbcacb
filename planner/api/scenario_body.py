"""From the body of a request to a scenario that can be run."""

import hashlib
import json
from typing import Any

from django.utils import timezone
from pydantic import ValidationError

from planner import planning
from planner.api.problems import BODY_TOO_LARGE, INVALID_SCENARIO, MALFORMED_BODY, ApiProblem
from planner.api.wire import Fault, SavedVersionRequest
from planner.datasets.own import own_of
from planner.planning.errors import pointer, show
from planner.scenarios.models import Scenario, ScenarioVersion
from planner.scenarios.selectors import version_get
from planner.teams.models import Team

_UNREADABLE = {"invalid_json", "not_utf8", "too_deep", "duplicate_key", "not_an_object"}
_SAVED_KEY = "scenario_version"


def read_scenario(raw: bytes | str, own: planning.OwnCatalog | None = None) -> planning.Scenario:
    """The scenario of a document without `priced_at` is priced today. own: what the team puts in.

    ApiProblem: 400 when the text is no JSON object, 413 when it is too large, 422 with every fault of the scenario.
    """
    try:
        return planning.parse_scenario(raw, today=timezone.now().date(), own=own)
    except planning.ScenarioInvalid as error:
        raise invalid_scenario(error) from None


def scenario_within(document: dict[str, Any], field: str, own: planning.OwnCatalog | None = None) -> planning.Scenario:
    """The scenario that stands in a body under this name; faults point there. ApiProblem: as `read_scenario`."""
    try:
        return planning.parse_scenario(document, today=timezone.now().date(), own=own)
    except planning.ScenarioInvalid as error:
        raise invalid_scenario(error, pointer(field)) from None


def invalid_scenario(error: planning.ScenarioInvalid, within: str = "") -> ApiProblem:
    """The problem that tells every fault of a scenario, which stands in the body at the pointer `within`."""
    faults = [Fault(**{**e.as_dict(), "pointer": within + e.pointer}) for e in error.errors]
    whole = {fault.code for fault in faults if not fault.pointer}
    if "too_large" in whole:
        return ApiProblem(BODY_TOO_LARGE, faults[0].detail, errors=faults)
    if whole & _UNREADABLE:
        return ApiProblem(MALFORMED_BODY, faults[0].detail, errors=faults)
    count = f"{len(faults)} fault" + ("s" if len(faults) != 1 else "")
    return ApiProblem(INVALID_SCENARIO, f"The scenario has {count}; nothing was started or saved.", errors=faults)


def scenario_to_run(raw: bytes, team: Team) -> tuple[planning.Scenario, ScenarioVersion | None]:
    """The scenario that a POST to /runs asks for: written in the body, or a saved version that the body names.

    ApiProblem: as `read_scenario`; 422 too when the team has no such saved version.
    """
    request = _saved_request(raw)
    if request is None:
        return read_scenario(raw, own_of(team)), None
    version = _saved_version(request, team)
    if request.priced_at is None:
        return read_scenario(version.body), version
    return scenario_within({**version.document, "priced_at": request.priced_at.isoformat()}, ""), version


def request_sha256(raw: bytes) -> str:
    """Digest of a body that was read already: the same for two texts of one JSON value, whatever the day."""
    text = json.dumps(json.loads(raw), sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def _saved_request(raw: bytes) -> SavedVersionRequest | None:
    """None: the body does not name a saved version (or is no JSON, which `read_scenario` will say better)."""
    if _SAVED_KEY.encode() not in raw:
        return None
    try:
        document: Any = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    if not isinstance(document, dict) or _SAVED_KEY not in document:
        return None
    try:
        return SavedVersionRequest.model_validate(document)
    except ValidationError as error:
        faults = [_fault(str(e["type"]), tuple(e["loc"]), e["input"], e["msg"]) for e in error.errors()]
        raise ApiProblem(INVALID_SCENARIO, "This does not name a saved version.", errors=faults) from None


def _saved_version(request: SavedVersionRequest, team: Team) -> ScenarioVersion:
    wanted = request.scenario_version
    try:
        return version_get(team, wanted.scenario_id, wanted.number)
    except (Scenario.DoesNotExist, ScenarioVersion.DoesNotExist) as error:
        missing = "number" if isinstance(error, ScenarioVersion.DoesNotExist) else "scenario_id"
        given = getattr(wanted, missing)
        fault = _fault("not_found", (_SAVED_KEY, missing), str(given), "The team has no such saved version")
        raise ApiProblem(INVALID_SCENARIO, "This saved version does not exist.", errors=[fault]) from None


def _fault(kind: str, path: tuple[str | int, ...], given: object, detail: str) -> Fault:
    code = {"extra_forbidden": "unknown_field"}.get(kind, kind)
    allowed = "scenario_id and number of a saved scenario of the team"
    return Fault(code=code, pointer=pointer(*path), given=show(given), allowed=allowed, detail=f"{detail}.")
