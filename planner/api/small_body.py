"""Bodies that are not scenarios: read as strictly, held to a closed pydantic model, every fault at once."""

from typing import Any, TypeVar

from django.core.exceptions import ValidationError as DjangoValidationError
from pydantic import BaseModel, ValidationError
from rest_framework.request import Request

from planner import planning
from planner.api.body import read_json_body
from planner.api.problems import BODY_TOO_LARGE, INVALID_BODY, MALFORMED_BODY, ApiProblem
from planner.api.wire import Fault
from planner.planning.errors import pointer, show
from planner.planning.schema.read import read_object

Body = TypeVar("Body", bound=BaseModel)
_CODES = {"extra_forbidden": "unknown_field", "int_parsing": "not_whole", "int_from_float": "not_whole"}


def read_body(request: Request, model: type[Body]) -> Body:
    """The body as its model. ApiProblem: 400 when it is no JSON object, 413, 415, and 422 with every fault."""
    document = read_document(request)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        faults = [_fault(dict(e)) for e in error.errors(include_url=False)]
        raise ApiProblem(INVALID_BODY, f"{len(faults)} of its values are not accepted.", errors=faults) from None


def read_document(request: Request) -> dict[str, Any]:
    """The body as a JSON object without doubled keys. ApiProblem: 400, 413 or 415."""
    try:
        return read_object(read_json_body(request))
    except planning.ScenarioInvalid as error:
        faults = [Fault(**e.as_dict()) for e in error.errors]
        kind = BODY_TOO_LARGE if faults[0].code == "too_large" else MALFORMED_BODY
        raise ApiProblem(kind, faults[0].detail, errors=faults) from None


def refused(error: DjangoValidationError, field: str = "") -> ApiProblem:
    """What a service would not store, as a fault of the body. field: where faults without a field of their own lie."""
    named = error.message_dict if hasattr(error, "error_dict") else {field: error.messages}
    faults = [
        Fault(code="not_accepted", pointer=pointer(*filter(None, [name])), given="", allowed="", detail=message)
        for name, messages in named.items()
        for message in messages
    ]
    return ApiProblem(INVALID_BODY, f"{len(faults)} of its values are not accepted.", errors=faults)


def _fault(error: dict[str, Any]) -> Fault:
    kind, context = str(error["type"]), error.get("ctx") or {}
    allowed = ", ".join(f"{name} {value}" for name, value in context.items() if isinstance(value, str | int | float))
    return Fault(
        code=_CODES.get(kind, kind),
        pointer=pointer(*error["loc"]),
        given="" if kind == "missing" else show(error["input"]),
        allowed=allowed,
        detail=f"{error['msg']}.",
    )
