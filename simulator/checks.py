"""Arguments of another kind than a public function or dataclass says: refused by their annotations.

What a value must be beyond its kind (ranges, lengths, what fits together) is checked where it is used.
"""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache, wraps
from types import NoneType, UnionType
from typing import Any, Literal, ParamSpec, TypeVar, Union, get_args, get_origin

import numpy as np
import numpy.typing as npt

from simulator.errors import SimulatorError

P = ParamSpec("P")
R = TypeVar("R")

_KINDS: Mapping[Any, tuple[str, str]] = {
    bool: ("not_a_flag", "True or False"),
    int: ("not_an_integer", "a whole number"),
    float: ("not_a_number", "a number"),
    str: ("not_a_text", "a text"),
}


def checked(function: Callable[P, R]) -> Callable[P, R]:
    """Let a public function raise SimulatorError for arguments that are not of the annotated kind.

    Arrays and what is like them are left to the function.
    """
    signature = inspect.signature(function)
    kinds = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    several = {name for name, parameter in signature.parameters.items() if parameter.kind is parameter.VAR_POSITIONAL}

    @wraps(function)
    def refusing(*args: P.args, **kwargs: P.kwargs) -> R:
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            for one in value if name in several else (value,):
                require_kind(name, one, kinds[name])
        return function(*args, **kwargs)

    return refusing


def check_fields(instance: Any) -> None:
    """The same for the fields of a dataclass, to be called first in its `__post_init__`."""
    for name, kind in _kinds_of(instance.__class__):
        require_kind(name, getattr(instance, name), kind)


@cache
def _kinds_of(kind: Any) -> tuple[tuple[str, Any], ...]:
    return tuple((field.name, field.type) for field in fields(kind))


def require_kind(field: str, value: object, kind: Any) -> None:
    """Raise SimulatorError unless `value` is of this kind (an annotation)."""
    if _is_a(value, kind):
        return
    first = next(one for one in _alternatives(kind) if one is not NoneType)
    code, words = _KINDS.get(first, ("wrong_type", _in_words(first)))
    raise SimulatorError(code, field, f"must be {words}, got {_shown(value)}")


def number_array(field: str, values: Any) -> npt.NDArray[np.float64]:
    """`values` as an array of float64, or SimulatorError where they are ragged, or no numbers; shape and range are
    the caller's."""
    array = as_array(field, values)
    if array.size and array.dtype.kind not in "iuf":
        raise SimulatorError("not_a_number", field, f"must be numbers, got {_shown(values)}")
    return np.asarray(array, np.float64)


def as_array(field: str, values: Any) -> npt.NDArray[Any]:
    """`values` as an array of whatever they are, or SimulatorError where lists of unequal lengths make none."""
    try:
        return np.asarray(values)
    except (TypeError, ValueError) as error:
        raise SimulatorError("shape", field, "must be a list of numbers, not lists of unequal lengths") from error


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, UnionType) else (kind,)


def _is_a(value: object, kind: Any) -> bool:
    """Kinds that are not known here (arrays, variables) are taken for granted."""
    if type(value) is kind:  # most are
        return True
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return any(_is_a(value, one) for one in get_args(kind))
    if origin is Literal:
        return isinstance(value, str)
    if origin is Callable:
        return callable(value)
    if origin in (tuple, Sequence):
        return isinstance(value, Sequence) and not isinstance(value, str | bytes) and _all_are(value, get_args(kind)[0])
    if origin is Mapping:
        return isinstance(value, Mapping) and _all_are(tuple(value.values()), get_args(kind)[1])
    if kind is bool:
        return isinstance(value, bool | np.bool_)
    if kind is int:
        return hasattr(value, "__index__") and not isinstance(value, bool | np.bool_ | np.ndarray)
    if kind is float:
        number = hasattr(value, "__float__") or hasattr(value, "__index__")
        return number and not isinstance(value, bool | np.bool_ | np.ndarray | complex)
    return not isinstance(kind, type) or origin is not None or isinstance(value, kind)


def _all_are(values: Sequence[object], kind: Any) -> bool:
    return all(_is_a(value, kind) for value in values)


def _in_words(kind: Any) -> str:
    origin = get_origin(kind)
    if origin in (tuple, Sequence):
        return f"a sequence, each entry {_in_words(get_args(kind)[0])}"
    if origin is Mapping:
        return f"a mapping, each value {_in_words(get_args(kind)[1])}"
    if origin is Callable:
        return "a function"
    if origin is Literal:
        return "a text"
    return _KINDS[kind][1] if kind in _KINDS else f"a {getattr(kind, '__name__', kind)}"


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
