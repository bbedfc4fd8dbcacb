"""The query of a sheet's cell: every flat parameter as text, since the scenario's own rules judge it."""

from typing import Annotated, Any, ClassVar

from pydantic import Field, StringConstraints, WithJsonSchema, create_model

from planner.api.cells import CellQuery
from planner.api.flat_scenario import PARAMETERS, Parameter

_Text = Annotated[str, StringConstraints(max_length=200)]


class _SheetBase(CellQuery):
    """What a cell asks beside the scenario's parameters."""

    needed: ClassVar[frozenset[str]] = frozenset(parameter.name for parameter in PARAMETERS if parameter.required)


def _typed(parameter: Parameter) -> Any:
    schema = {"type": parameter.kind, "examples": [parameter.example]}
    return (Annotated[_Text | None, WithJsonSchema(schema)], Field(None, description=parameter.description))


def _model() -> type[_SheetBase]:
    fields = {parameter.name: _typed(parameter) for parameter in PARAMETERS}
    return create_model("SheetQuery", __base__=_SheetBase, **fields)


SheetQuery = _model()
