# mypy: disable-error-code="no-untyped-call, untyped-decorator"
"""Arrays as kernels see them: bare pointers, without the checks and the bulk of numba's arrays.

numba passes an array to a function as seven words or more, and lets an index count from the end, which is tested at
every access. The kernels' arrays are made for them and are never indexed from their end; what they pass on from the
entry is one word for an arena, two for columns. Without compilation these are the arrays themselves.
"""

import operator
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy.typing as npt
from numba.core import cgutils, types
from numba.core.typing.templates import AbstractTemplate, infer_global, signature
from numba.extending import intrinsic, lower_builtin, models, register_model

Array = TypeVar("Array", bound=npt.NDArray[Any])


class Columns(types.Type):
    """A two-dimensional array, one row per column of a table: `columns[field, request]`."""

    def __init__(self, dtype: types.Type) -> None:
        self.dtype = dtype
        super().__init__(name=f"Columns({dtype})")


@register_model(Columns)
class _ColumnsModel(models.StructModel):
    def __init__(self, manager: Any, columns: Columns) -> None:
        super().__init__(manager, columns, [("data", types.CPointer(columns.dtype)), ("length", types.intp)])


@infer_global(operator.getitem)
class _GetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Columns) and isinstance(args[1], types.BaseTuple):
            return signature(args[0].dtype, *args)
        return None


@infer_global(operator.setitem)
class _SetItem(AbstractTemplate):
    def generic(self, args: Any, kws: Any) -> Any:
        if isinstance(args[0], Columns) and isinstance(args[1], types.BaseTuple):
            return signature(types.none, args[0], args[1], args[0].dtype)
        return None


def _place(context: Any, builder: Any, columns_type: Columns, index_type: Any, columns: Any, index: Any) -> Any:
    table = cgutils.create_struct_proxy(columns_type)(context, builder, value=columns)
    field, request = (
        context.cast(builder, value, kind, types.intp)
        for value, kind in zip(cgutils.unpack_tuple(builder, index), index_type, strict=True)
    )
    return builder.gep(table.data, [builder.add(builder.mul(field, table.length), request)])


@lower_builtin(operator.getitem, Columns, types.BaseTuple)
def _load(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    return builder.load(_place(context, builder, sig.args[0], sig.args[1], *args))


@lower_builtin(operator.setitem, Columns, types.BaseTuple, types.Any)
def _store(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    columns, index, value = args
    cast_value = context.cast(builder, value, sig.args[2], sig.args[0].dtype)
    builder.store(cast_value, _place(context, builder, sig.args[0], sig.args[1], columns, index))
    return context.get_dummy_value()


def _data(context: Any, builder: Any, array_type: Any, array: Any) -> Any:
    return context.make_array(array_type)(context, builder, array)


@intrinsic
def _arena(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _data(context, builder, sig.args[0], args[0]).data

    return types.CPointer(array.dtype)(array), generate


@intrinsic
def _columns(typing_context: Any, array: Any) -> Any:
    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        table = cgutils.create_struct_proxy(sig.return_type)(context, builder)
        source = _data(context, builder, sig.args[0], args[0])
        table.data, table.length = source.data, cgutils.unpack_tuple(builder, source.shape)[1]
        return table._getvalue()

    return Columns(array.dtype)(array), generate


def _as_kernels_see_it(pointer_to: Any) -> Callable[[Array], Array]:
    interpreted = bool(cast(Any, numba.config).DISABLE_JIT)
    return (lambda array: array) if interpreted else pointer_to


arena = _as_kernels_see_it(_arena)
columns = _as_kernels_see_it(_columns)
