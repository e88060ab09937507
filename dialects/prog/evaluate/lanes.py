"""What the shared scalar operators mean on arrays of one element for each trip, to the bit as in `scalars.py`."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog.evaluate import scalars
from scaly_ir.dialects.prog.evaluate.faults import Fault
from scaly_ir.dialects.prog.evaluate.memory import Array
from scaly_ir.graph import Node
from scaly_ir.numeric.table import scalar_name
from scaly_ir.types import DType

Operation = Callable[..., Array]


class Retry(Exception):  # noqa: N818 - no error: the loop is evaluated trip by trip
    """Something is wrong in some trip, or may be."""


def operation(node: Node, in_index: bool, strict: bool) -> Operation:
    """Return an operator as a function of arrays, which have dimensions."""
    name, dtype = scalar_name(node.op), node.type
    if name is None:
        return _one_by_one(scalars.registered(node), dtype)
    if name == "cast":
        return _cast(node.args[0].type, dtype, strict)
    if dtype.is_float and name in scalars.APPROXIMATED:
        return _one_by_one(scalars.APPROXIMATED[name], dtype)
    if dtype.is_float and name in _EXTREMA:
        return _EXTREMA[name]
    function: Operation = node.op.get_attr("FNumpy")
    return _division(function, in_index) if dtype.is_int and name in scalars.TRUNCATING else function


def _one_by_one(function: Callable[..., Any], dtype: DType) -> Operation:
    kind = np.dtype(np.float64 if dtype.is_float else str(dtype))

    def apply(*operands: Array) -> Array:
        stretched = np.broadcast_arrays(*operands)
        lists: Iterable[Any] = [operand.reshape(-1).tolist() for operand in stretched]
        try:
            found = np.fromiter(map(function, *lists), kind, stretched[0].size)
        except Fault:
            raise Retry from None
        return found.reshape(stretched[0].shape).astype(str(dtype), copy=False)

    return apply


def _division(function: Operation, in_index: bool) -> Operation:
    def divide(x: Array, y: Array) -> Array:
        if not y.all() or (in_index and ((x < 0).any() or (y < 0).any())):
            raise Retry
        return function(x, y)

    return divide


def _cast(source: DType, target: DType, strict: bool) -> Operation:
    if not (source.is_float and target.is_int):
        return lambda x: x.astype(str(target))
    least, greatest = scalars.limits(target)

    def whole(x: Array) -> Array:
        # In float64, where the ends of int32 are exact; of int64 the end above is not, so it is left out.
        wide = np.trunc(x.astype(np.float64))
        fits = (wide >= float(least)) & (wide < float(greatest + 1))
        if strict and not fits.all():
            raise Retry
        return np.where(fits, np.where(fits, wide, 0.0).astype(str(target)), np.array(least, str(target)))

    return whole


def _minimum(x: Array, y: Array) -> Array:
    tie = np.where(np.signbit(x), x, y)
    return np.where(x == y, tie, np.where((x < y) | (y != y), x, y))


def _maximum(x: Array, y: Array) -> Array:
    tie = np.where(np.signbit(x), y, x)
    return np.where(x == y, tie, np.where((x > y) | (y != y), x, y))


_EXTREMA: Final = {"minimum": _minimum, "maximum": _maximum}
