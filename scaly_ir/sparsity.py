"""Sparsity patterns: which entries of a matrix are stored; all others are exactly zero.

A pattern is a contract about storage: shapes and values keep their dense meaning. Equal patterns are the same object.
Source: expression specification 1.5 and 1.6.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NoReturn

if TYPE_CHECKING:
    import numpy as np


class SparsityPattern:
    """The stored coordinates of a matrix of shape `shape` (rows, columns), in row-major order.

    `ValueError` when the two lists differ in length and for coordinates out of range or given twice.
    """

    __slots__ = ("__weakref__", "columns", "rows", "shape")

    shape: tuple[int, int]
    rows: tuple[int, ...]
    columns: tuple[int, ...]

    def __new__(cls, shape: Sequence[int], rows: Iterable[int], columns: Iterable[int]) -> SparsityPattern:
        """Return the one pattern with these coordinates, given in any order."""
        extents, row_list, column_list = _checked(shape, rows, columns)
        pairs = sorted(zip(row_list, column_list, strict=True))
        for first, second in pairwise(pairs):
            if first == second:
                raise ValueError(f"sparsity: coordinate {first} is given twice")
        key = (extents, tuple([row for row, _ in pairs]), tuple([column for _, column in pairs]))
        known = _PATTERNS.get(key)
        if known is None:
            known = object.__new__(cls)
            for field, value in zip(("shape", "rows", "columns"), key, strict=True):
                object.__setattr__(known, field, value)
            known = _PATTERNS.setdefault(key, known)
        return known

    @property
    def nnz(self) -> int:
        """The number of stored entries."""
        return len(self.rows)

    @staticmethod
    def dense(shape: Sequence[int]) -> SparsityPattern:
        """Return the pattern that stores every entry."""
        rows, columns = shape
        return SparsityPattern(shape, [row for row in range(rows) for _ in range(columns)], [*range(columns)] * rows)

    @staticmethod
    def empty(shape: Sequence[int]) -> SparsityPattern:
        """Return the pattern that stores nothing."""
        return SparsityPattern(shape, (), ())

    @staticmethod
    def from_mask(mask: Any) -> SparsityPattern:
        """Return the pattern of the true entries of a matrix."""
        import numpy

        array = numpy.asarray(mask)
        if array.ndim != 2:
            raise ValueError(f"sparsity: a mask is a matrix, got shape {array.shape}")
        rows, columns = numpy.nonzero(array)
        return SparsityPattern(array.shape, rows.tolist(), columns.tolist())

    @staticmethod
    def from_csr(shape: Sequence[int], row_starts: Sequence[int], columns: Sequence[int]) -> SparsityPattern:
        """Return the pattern of compressed rows: row ``i`` holds ``columns[row_starts[i]:row_starts[i + 1]]``."""
        return SparsityPattern(shape, _expanded("row_starts", row_starts, shape[0], len(columns)), columns)

    @staticmethod
    def from_csc(shape: Sequence[int], column_starts: Sequence[int], rows: Sequence[int]) -> SparsityPattern:
        """Return the pattern of compressed columns: column ``j`` holds ``rows[column_starts[j]:...]``."""
        return SparsityPattern(shape, rows, _expanded("column_starts", column_starts, shape[1], len(rows)))

    def to_mask(self) -> np.ndarray[Any, Any]:
        """Return a matrix of bools, true where an entry is stored."""
        import numpy

        mask = numpy.zeros(self.shape, bool)
        mask[list(self.rows), list(self.columns)] = True
        return mask

    def to_csr(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return row starts and columns."""
        return _starts(self.rows, self.shape[0]), self.columns

    def to_csc(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return column starts and rows."""
        pairs = sorted(zip(self.columns, self.rows, strict=True))
        return _starts([column for column, _ in pairs], self.shape[1]), tuple([row for _, row in pairs])

    def transposed(self) -> SparsityPattern:
        """Return the pattern of the transposed matrix."""
        return SparsityPattern(self.shape[::-1], self.columns, self.rows)

    def __str__(self) -> str:
        return f"sparse<rows={list(self.rows)}, cols={list(self.columns)}>"

    def __repr__(self) -> str:
        return f"SparsityPattern({self.shape}, {list(self.rows)}, {list(self.columns)})"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a sparsity pattern is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a sparsity pattern is immutable: cannot delete '{name}'")

    def __reduce__(self) -> tuple[type[SparsityPattern], tuple[Any, ...]]:
        return SparsityPattern, (self.shape, self.rows, self.columns)


_PATTERNS: Final[dict[tuple[Any, ...], SparsityPattern]] = {}


def _checked(
    shape: Sequence[int], rows: Iterable[int], columns: Iterable[int]
) -> tuple[tuple[int, int], list[int], list[int]]:
    extents = tuple([int(extent) for extent in shape])
    if len(extents) != 2 or min(extents) < 0:
        raise ValueError(f"sparsity: a pattern has two non-negative extents, got {list(shape)}")
    try:
        row_list, column_list = [*map(operator.index, rows)], [*map(operator.index, columns)]
    except TypeError as error:
        raise ValueError(f"sparsity: a coordinate is no integer: {error}") from None
    if len(row_list) != len(column_list):
        raise ValueError(f"sparsity: {len(row_list)} rows and {len(column_list)} columns")
    for name, listed, extent in (("row", row_list, extents[0]), ("column", column_list, extents[1])):
        for position in listed:
            if not 0 <= position < extent:
                raise ValueError(f"sparsity: {name} {position} is outside [0, {extent})")
    return (extents[0], extents[1]), row_list, column_list


def _expanded(name: str, starts: Sequence[int], count: int, entries: int) -> list[int]:
    """Return for each entry the row (or column) it is in."""
    bounds = [int(start) for start in starts]
    if len(bounds) != count + 1 or bounds[0] != 0 or bounds[-1] != entries or bounds != sorted(bounds):
        raise ValueError(f"sparsity: {name} must rise from 0 to {entries} in {count} steps")
    return [line for line in range(count) for _ in range(bounds[line], bounds[line + 1])]


def _starts(lines: Sequence[int], count: int) -> tuple[int, ...]:
    starts = [0] * (count + 1)
    for line in lines:
        starts[line + 1] += 1
    for line in range(count):
        starts[line + 1] += starts[line]
    return tuple(starts)
