"""The query of a sheet's cell: every flat parameter as text, since the scenario's own rules judge it."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, StringConstraints, WithJsonSchema, create_model

from planner.api.authentication import LINK_PARAMETER
from planner.api.flat_scenario import PARAMETERS, Parameter
from planner.api.query import Query

_Text = Annotated[str, StringConstraints(max_length=200)]


class _SheetBase(Query):
    """What every cell may ask beside the scenario's parameters."""

    elsewhere: ClassVar[frozenset[str]] = frozenset({LINK_PARAMETER})
    needed: ClassVar[frozenset[str]] = frozenset(parameter.name for parameter in PARAMETERS if parameter.required)

    fields: Annotated[str, StringConstraints(max_length=2000)] | None = Field(
        None, description="Columns to answer with, separated by commas; left out: all."
    )
    header: Literal["0", "1"] = Field(
        "1", description="0 leaves the header row out; with one field that gives its bare value."
    )


def _typed(parameter: Parameter) -> Any:
    schema = {"type": parameter.kind, "examples": [parameter.example]}
    return (Annotated[_Text | None, WithJsonSchema(schema)], Field(None, description=parameter.description))


def _model() -> type[_SheetBase]:
    fields = {parameter.name: _typed(parameter) for parameter in PARAMETERS}
    return create_model("SheetQuery", __base__=_SheetBase, **fields)


SheetQuery = _model()
