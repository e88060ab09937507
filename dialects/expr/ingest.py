"""What may stand beside an expression, and what it becomes. Source: expression specification 1.3."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.numeric.machine import round_int
from scaly_ir.tables import Table
from scaly_ir.tensors import MOST_AXES, TensorType, read_dtype
from scaly_ir.text.spelling import round_float
from scaly_ir.types import BOOL, FLOAT64, DType, int_range

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.dialects.expr.node import Expr


def make_const(table: Table, hint: Attrs = NO_ATTRS) -> Expr:
    """Return the constant with the given entries."""
    return intern_node(ops.CONST, (), Attrs({**hint, "value": table}), TensorType(table.shape, table.dtype, False))  # type: ignore[return-value]


def splat(number: float, type_: TensorType) -> Expr:
    """Return a constant of a type's shape and dtype whose entries are all one number.

    `TypeError` or `OverflowError` for one that is none of the dtype.
    """
    entry = Table.of([entry_of(number, type_.dtype)], type_.dtype, ())
    return make_const(Table(type_.dtype, type_.shape, entry.data * type_.size))


def entry_of(value: Any, dtype: DType) -> float:
    """Return a Python number as an entry beside an expression of `dtype`.

    `TypeError` for a bool among numbers, a number among bools and a float among integers, `OverflowError` for an int
    out of range.
    """
    if isinstance(value, bool):
        if dtype is not BOOL:
            raise TypeError(f"{value} beside an expression of {dtype}; convert one with sc.cast")
        return value
    if dtype is BOOL:
        raise TypeError(f"{value!r} beside an expression of bool; convert one with sc.cast")
    if dtype.is_float:
        return round_float(value, dtype) if isinstance(value, float) else _as_float(value, dtype)
    if isinstance(value, float):
        raise TypeError(f"the float {value!r} beside an expression of {dtype}; convert one with sc.cast")
    return _in_range(value, dtype)


def _as_float(value: int, dtype: DType) -> float:
    float(value)  # Python's own OverflowError for what no float is near
    return round_int(value, dtype)


def _in_range(value: int, dtype: DType) -> int:
    if value not in int_range(dtype):
        raise OverflowError(f"{value} does not fit {dtype}")
    return value


def beside(value: Any, dtype: DType) -> Expr:
    """Return what stands beside an expression of `dtype` as an expression."""
    if isinstance(value, Node):
        return checked(value)
    if _is_numpy(value):
        return make_const(Table.from_array(_array(value)))
    if isinstance(value, bool | int | float):
        return make_const(Table.of([entry_of(value, dtype)], dtype, ()))
    if isinstance(value, list | tuple):
        shape, entries = flattened(value)
        numbers = [_entry(entry, dtype) for entry in entries]
        return make_const(Table.of(numbers, dtype, shape))
    raise TypeError(f"cannot make an expression of {value!r}, a '{type(value).__name__}'")


def _entry(entry: Any, dtype: DType) -> float:
    if _is_numpy(entry):
        if str(entry.dtype) != dtype:
            raise TypeError(f"mixed dtypes {dtype} and {entry.dtype}; convert one with sc.cast")
        entry = entry.item()
    return entry_of(entry, dtype)


def checked(value: Node) -> Expr:
    """Return a node that is a tensor; `TypeError` for any other."""
    if not isinstance(value, Node) or not isinstance(value.type, TensorType):
        raise TypeError(f"{value!r} is no tensor expression")
    return value  # type: ignore[return-value]


def operands(*values: Any) -> list[Expr]:
    """Return operands as expressions: what is none follows the dtype of the first that is, or is a `const`."""
    for value in values:
        if isinstance(value, Node):
            dtype = checked(value).type.dtype
            return [beside(operand, dtype) for operand in values]
    return [const(value) for value in values]


def _is_numpy(value: Any) -> bool:
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(value, numpy.ndarray | numpy.generic)


def _array(value: Any) -> Any:
    """Return a NumPy array, or scalar, as an array of an element type; `ValueError` for another dtype."""
    import numpy

    array = numpy.asarray(value)
    if array.dtype.hasobject:
        raise TypeError(f"cannot make an expression of an array of dtype {array.dtype}")
    read_dtype(array.dtype)
    return array


def flattened(nested: Sequence[Any]) -> tuple[tuple[int, ...], list[Any]]:
    """Return the shape and the entries of nested lists; `ValueError` for ragged ones, `TypeError` for other things."""
    shape: list[int] = []
    level: list[Any] = [nested]
    while level and all([isinstance(item, list | tuple) for item in level]):
        if len(shape) == MOST_AXES:
            raise ValueError(f"lists nest more than {MOST_AXES} deep")
        lengths = {len(item) for item in level}
        if len(lengths) > 1:
            raise ValueError(
                f"ragged lists: {len(shape)} deep, lengths {' and '.join(map(str, sorted(lengths)))} differ"
            )
        shape.append(lengths.pop())
        level = [entry for item in level for entry in item]
    for entry in level:
        if isinstance(entry, list | tuple):
            raise ValueError("ragged lists: numbers beside lists")
        if isinstance(entry, Node):
            raise TypeError("a list holds an expression; use sc.stack to make an array of expressions")
        if not isinstance(entry, bool | int | float) and not _is_numpy_scalar(entry):
            raise TypeError(f"a list holds {entry!r}, which is no number")
    return tuple(shape), level


def _is_numpy_scalar(entry: Any) -> bool:
    return _is_numpy(entry) and entry.shape == ()


def const(value: Any, *, dtype: Any = None) -> Expr:
    """Return a constant; the data are copied.

    NumPy values keep their dtype, everything else is float64. With `dtype`, values are converted as NumPy's
    ``same_kind`` allows, else `TypeError`; ints out of range are an `OverflowError`.
    """
    if isinstance(value, Node):
        raise TypeError("the value is an expression already")
    wanted = None if dtype is None else read_dtype(dtype)
    if _is_numpy(value):
        array = _array(value)
        if wanted is not None:
            _check_kind(str(array.dtype), wanted)
            array = array.astype(str(wanted))
        return make_const(Table.from_array(array))
    shape, entries = flattened(value) if isinstance(value, list | tuple) else flattened([value])
    shape = shape if isinstance(value, list | tuple) else ()
    convert = _to_float64 if wanted is None else _converter(wanted)
    plain = [entry.item() if _is_numpy(entry) else entry for entry in entries]
    target = wanted or FLOAT64
    return make_const(Table.of([convert(entry) for entry in plain], target, shape))


def _to_float64(value: float) -> float:
    return float(value)


def _check_kind(given: str, wanted: DType) -> None:
    import numpy

    if not numpy.can_cast(given, str(wanted), "same_kind"):
        raise TypeError(f"cannot make a constant of {wanted} of {given}; convert it with sc.cast")


def _converter(wanted: DType) -> Callable[[Any], float]:
    def convert(value: Any) -> float:
        given = "bool" if isinstance(value, bool) else "float64" if isinstance(value, float) else "int64"
        _check_kind(given, wanted)
        return entry_of(int(value) if given == "bool" and wanted is not BOOL else value, wanted)

    return convert


def input_dtype(what: str, formal: Expr, given: np.ndarray[Any, Any]) -> str:
    """Return the dtype to which numbers for an input are converted, which is its own.

    `TypeError` where NumPy's ``same_kind`` does not allow it, and for objects; `what` takes the input. Shapes are not
    looked at. Source: expression specification 3.3.
    """
    import numpy

    wanted = str(formal.type.dtype)
    if given.dtype.hasobject or not numpy.can_cast(given.dtype, wanted, "same_kind"):
        raise TypeError(f"{what}: expected {wanted} for '{formal.name}', got {given.dtype}")
    return wanted


def index_const(value: Any) -> Expr:
    """Return positions given as Python integers, or as a NumPy array of any integer dtype, as an int64 constant."""
    import numpy

    if isinstance(value, list | tuple):
        shape, entries = flattened(value)
    elif isinstance(value, int) and not isinstance(value, bool):
        shape, entries = (), [value]
    elif _is_numpy(value) and value.dtype.kind in "iu":
        array = numpy.asarray(value)
        shape, entries = array.shape, array.reshape(-1).tolist()
    else:
        raise TypeError(f"an index is made of integers, got {value!r}")
    numbers = []
    for entry in entries:
        if isinstance(entry, bool | float) or (_is_numpy(entry) and entry.dtype.kind not in "iu"):
            raise TypeError(f"an index is made of integers, got {entry!r}")
        numbers.append(_in_range(int(entry), ops.DTYPES["int64"]))
    return make_const(Table.of(numbers, ops.DTYPES["int64"], shape))
