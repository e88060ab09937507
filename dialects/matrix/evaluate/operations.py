"""Operations on whole buffers: their `FNumpy` on the elements, and checks of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from typing import Any, Final, NamedTuple

import numpy as np

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.dialects.buffer.types import folded
from scaly_ir.dialects.matrix.evaluate.combiner import Vectorized, one_by_one
from scaly_ir.dialects.matrix.evaluate.faults import check_finite, unwritten
from scaly_ir.dialects.prog.evaluate.faults import Fault
from scaly_ir.dialects.prog.evaluate.lanes import Retry
from scaly_ir.dialects.prog.evaluate.memory import ELEMENTS, Array, Place, filled, poisoned, without_memory
from scaly_ir.dialects.prog.evaluate.watching import NOBODY, Watch
from scaly_ir.graph import Node
from scaly_ir.numeric.evaluate import failed_reference
from scaly_ir.types import BOOL, DType, MemRefType


class Options(NamedTuple):
    """How a function is run."""

    shuffle: Random | None = None
    """Decides on the order of trips of global loops."""
    strict: bool = True
    watch: Watch = NOBODY


def elements(place: Place, type_: MemRefType) -> Array:
    """Return the elements of a buffer as an array of its written shape, of the dtype that its type says."""
    values = place.values.view(np.bool_) if type_.dtype is BOOL else place.values
    return values.reshape(type_.shape)


def storage(name: str, array: Array, dtype: DType, *, read_only: bool = False) -> Place:
    """Return memory that holds a copy of an array."""
    try:
        return filled(name, np.array(array, str(dtype)).reshape(-1).view(ELEMENTS[dtype]), dtype, read_only=read_only)
    except MemoryError as error:
        raise Fault(without_memory(value_name(name), array.size, dtype)) from error


def constant(name: str, type_: MemRefType, value: Any) -> Place:
    """Return memory with one value in every element."""
    place = poisoned(name, type_.size, type_.dtype)
    place.values[...] = value
    place.written[...] = 1
    return place


class Operation:
    """An operation, as a function of places and numbers that returns a place or a number.

    `outer` are the uses of scalars around the combiner, if there is one, that it uses; `scalar_code` returns it as a
    function of numbers and is called where an element goes wrong, so that the statement to blame is found.
    """

    def __init__(
        self, node: Node, outer: Sequence[Node], scalar_code: Callable[[], Callable[..., Any]], options: Options
    ) -> None:
        self._node: Final = node
        self._operands: Final = build.operands_of(node)
        self._region: Final = build.region_of(node)
        self._attrs: Final = {key: value for key, value in node.attrs.items() if key != "results"}
        self._scalar_code: Final = scalar_code
        self._vectorized = None if self._region is None else Vectorized(self._region, outer, options.strict)
        self._finite: Final = options.watch.finite

    def __call__(self, values: Sequence[Any], outer: Sequence[Any] = ()) -> Any:
        """Compute."""
        arrays = [self._array(operand, value) for operand, value in zip(self._operands, values, strict=True)]
        poisonous = [value for value in values if isinstance(value, Place) and not value.written.all()]
        if self._vectorized is None:
            result = self._applied(arrays)
            if poisonous and result.size:
                place = poisonous[0]
                type_ = next(node.type for node, value in zip(self._operands, values, strict=True) if value is place)
                unwritten(place.name, int(place.written.argmin()), folded(type_.shape))
            return self._result(result)
        if poisonous:
            self._check_written(values)
        try:
            result = self._applied(arrays, self._vectorized.bind(outer))
        except Retry:
            result = self._applied(arrays, one_by_one(self._scalar_code(), outer, self._dtype))
        return self._result(result)

    @property
    def _dtype(self) -> np.dtype[Any]:
        type_ = self._node.type
        return np.dtype(str(type_ if isinstance(type_, DType) else type_.dtype))

    def _array(self, operand: Node, value: Any) -> Any:
        if isinstance(value, Place):
            return elements(value, operand.type)
        if operand.op is ops.UNDEF:
            return np.zeros((), str(operand.type))  # nobody reads it
        return np.array(value, str(operand.type))[()]

    def _applied(self, arrays: Sequence[Any], comb: Callable[..., Array] | None = None) -> Array:
        """Return what the operator computes of arrays."""
        node = self._node
        function = node.op.get_attr("FNumpy")
        if function is None:
            raise Fault(f"'{node.op.name}' cannot be evaluated: it has no attribute FNumpy")
        given = {"comb": comb, "shape": node.type.shape, "dtype": str(node.type.dtype)} if comb else {}
        try:
            return np.asarray(function(*arrays, **self._attrs, **given))
        except (Fault, Retry):
            raise
        except MemoryError as error:
            raise Fault(f"'{node.op.name}' finds no memory") from error
        except Exception as error:  # of a third party: whatever it raises is shown
            raise Fault(failed_reference(node, error).reason) from error

    def _check_written(self, values: Sequence[Any]) -> None:
        """Check that the elements that a combiner gets were written: the same on marks in place of elements."""
        marks = [
            value.written.view(np.bool_).reshape(operand.type.shape) if isinstance(value, Place) else np.True_
            for operand, value in zip(self._operands, values, strict=True)
        ]
        dtype = {"dtype": "bool"}

        def conjunction(*arrays: Array) -> Array:
            found = arrays[0]
            for array in arrays[1:]:
                found = found & array
            return found

        node = self._node
        shape = {"shape": node.type.shape}
        if not node.op.get_attr("FNumpy")(*marks, **self._attrs, **shape, **dtype, comb=conjunction).all():
            names = [value_name(value.name) for value in values if isinstance(value, Place) and not value.written.all()]
            raise Fault(f"'{node.op.name}' reads elements of {' or '.join(names)} that are never written before")

    def _result(self, result: Array) -> Any:
        """Return what came out as a place or number, if it is of the operation's type."""
        type_ = self._node.type
        shape = type_.shape if isinstance(type_, MemRefType) else ()
        if result.dtype != self._dtype or result.shape != shape:
            given = f"{result.dtype} of shape {list(result.shape)}"
            raise Fault(f"FNumpy of '{self._node.op.name}' gave {given}, expected {type_}")
        if self._finite:
            check_finite(self._node, result)
        if isinstance(type_, MemRefType):
            return storage("".join(self._node.attrs.get("results", ())), result, type_.dtype)
        return result.item()
