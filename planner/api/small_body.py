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
_ONE = {"entries": "entry", "characters": "character"}
_LENGTHS = {
    "too_short": ("least", "entries"),
    "too_long": ("most", "entries"),
    "string_too_short": ("least", "characters"),
    "string_too_long": ("most", "characters"),
}


def read_body(request: Request, model: type[Body]) -> Body:
    """The body as its model. ApiProblem: 400 when it is no JSON object, 413, 415, and 422 with every fault."""
    document = read_document(request)
    try:
        return model.model_validate(document)
    except ValidationError as error:
        faults = [_fault(dict(e), model) for e in error.errors(include_url=False)]
        raise _not_accepted(faults) from None


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
    return _not_accepted(faults)


def _not_accepted(faults: list[Fault]) -> ApiProblem:
    told = "1 of its values is" if len(faults) == 1 else f"{len(faults)} of its values are"
    return ApiProblem(INVALID_BODY, f"{told} not accepted.", errors=faults)


def _fault(error: dict[str, Any], model: type[BaseModel]) -> Fault:
    kind, context, at = str(error["type"]), error.get("ctx") or {}, error["loc"]
    name = str(at[-1]) if at else "the body"
    allowed = ", ".join(str(value) for value in context.values() if isinstance(value, str | int | float))
    detail = f"{error['msg']}."
    if kind == "missing":
        allowed, detail = "required", f"{name} is required."
    elif kind == "extra_forbidden":
        fields = [field.alias or of for of, field in model.model_fields.items()]
        allowed = ", ".join(fields) if len(at) == 1 else "a field of the schema"
        detail = f"There is no field {show(name)} here."
    elif kind in _LENGTHS:
        side, counted = _LENGTHS[kind]
        limit = context["min_length" if side == "least" else "max_length"]
        allowed = f"at {side} {limit} {counted if limit != 1 else _ONE[counted]}"
        detail = f"{name} must have {allowed}."
    return Fault(
        code=_CODES.get(kind, kind),
        pointer=pointer(*at),
        given="" if kind == "missing" else show(name if kind == "extra_forbidden" else error["input"]),
        allowed=allowed,
        detail=detail,
    )
