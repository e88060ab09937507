"""Tables: arrays of numbers as attribute values, immutable and compared by their bytes.

A table holds its elements as packed little-endian bytes, so that telling apart two of a million elements costs one
comparison of bytes and NaN payloads and signed zeros survive. NumPy is loaded only when an array is asked for.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, Sequence
from sys import byteorder
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

from scaly_ir.text.spelling import float_bits, float_from_bits, spell_float
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType

if TYPE_CHECKING:
    import numpy as np

_CODES: Final = {BOOL: "B", INT32: "i", INT64: "q", FLOAT32: "f", FLOAT64: "d"}
_BITS: Final = "I"
"""The code of an unsigned integer as wide as a float32, in which NaNs keep their payloads."""


class Table:
    """An array of one element type: `shape`, `dtype` and the elements in row-major order as bytes."""

    __slots__ = ("_array", "_hash", "_uniform", "data", "dtype", "shape")

    dtype: DType
    shape: tuple[int, ...]
    data: bytes
    _array: np.ndarray[Any, Any] | None
    _hash: int
    _uniform: float | None

    def __init__(self, dtype: DType, shape: Iterable[int], data: bytes) -> None:
        """Make a table of packed elements; `ValueError` when there are not as many as the shape says."""
        extents = tuple(shape)
        if math.prod(extents) * dtype.size != len(data):
            raise ValueError(f"{len(data)} bytes are no {dtype} table of shape {list(extents)}")
        for field, value in (("dtype", dtype), ("shape", extents), ("data", data), ("_array", None)):
            object.__setattr__(self, field, value)
        object.__setattr__(self, "_hash", hash((dtype, extents, data)))

    @staticmethod
    def of(values: Sequence[float], dtype: DType, shape: Iterable[int]) -> Table:
        """Make a table of Python numbers, flat and in row-major order, each one of `dtype`."""
        if dtype is FLOAT32:
            packed: array[Any] = array(_BITS, [float_bits(value, FLOAT32) for value in values])
        else:
            packed = array(_CODES[dtype], cast("Iterable[int]", values))
        return Table(dtype, shape, _swapped(packed).tobytes())

    @staticmethod
    def from_array(values: np.ndarray[Any, Any]) -> Table:
        """Copy a NumPy array of one of the element types; `ValueError` for another dtype."""
        dtype = DType(str(values.dtype.newbyteorder("=")))
        return Table(dtype, values.shape, values.astype(values.dtype.newbyteorder("<"), order="C").tobytes())

    @property
    def values(self) -> Sequence[float]:
        """The elements as Python numbers, flat: floats, ints, or for ``bool`` 0 and 1."""
        if self.dtype is FLOAT32:
            return [float_from_bits(bits, FLOAT32) for bits in _unpacked(_BITS, self.data)]
        return _unpacked(_CODES[self.dtype], self.data)

    @property
    def array(self) -> np.ndarray[Any, Any]:
        """The elements as a read-only NumPy array."""
        found = self._array
        if found is None:
            import numpy

            packed = numpy.frombuffer(self.data, numpy.dtype(str(self.dtype)).newbyteorder("<"))
            found = packed.astype(str(self.dtype), copy=False).reshape(self.shape)
            found.flags.writeable = False
            object.__setattr__(self, "_array", found)
        return found

    @property
    def uniform(self) -> float | None:
        """The number that all elements are, by bits; None when they differ or there is none."""
        try:
            return self._uniform
        except AttributeError:
            size = self.dtype.size
            alike = bool(self.data) and self.data == self.data[:size] * (len(self.data) // size)
            found = Table(self.dtype, (), self.data[:size]).values[0] if alike else None
            object.__setattr__(self, "_uniform", found)
            return found

    def spell(self) -> str:
        """Return a scalar, or nested lists of the table's shape, in full; the same elements read back from it."""
        words = self._words()
        if not self.shape:
            return words[0]
        for axis in range(len(self.shape) - 1, 0, -1):
            extent, count = self.shape[axis], math.prod(self.shape[:axis])
            words = [f"[{', '.join(words[at * extent : (at + 1) * extent])}]" for at in range(count)]
        return f"[{', '.join(words)}]"

    def _words(self) -> list[str]:
        if self.dtype is BOOL:
            return ["True" if value else "False" for value in self.data]
        if self.dtype.is_float:
            return [spell_float(value, self.dtype, point=True) for value in self.values]
        return [str(value) for value in self.values]

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Table)
            and self.data == other.data
            and self.dtype is other.dtype
            and self.shape == other.shape
        )

    def __hash__(self) -> int:
        return self._hash

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a table is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a table is immutable: cannot delete '{name}'")

    def __reduce__(self) -> tuple[type[Table], tuple[DType, tuple[int, ...], bytes]]:
        return Table, (self.dtype, self.shape, self.data)

    def __repr__(self) -> str:
        return f"Table({self.dtype}, {self.shape}, {len(self.data)} bytes)"


def _unpacked(code: str, data: bytes) -> Sequence[Any]:
    return _swapped(array(code, data))


def _swapped(numbers: array[Any]) -> array[Any]:
    if byteorder != "little":
        numbers.byteswap()
    return numbers
