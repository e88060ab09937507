"""Tensor types: shape, element type, whether a value can carry a derivative, and a pattern of stored entries.

Types are immutable and interned, so equal types are one object. Source: expression specification 1.1 and 1.6.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Final, NoReturn

from scaly_ir.sparsity import SparsityPattern
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.types import DTYPES, FLOAT64, DType, unknown_dtype

MOST_AXES: Final = 64
"""The most axes that an array of NumPy has. A type may have more; nothing evaluates such a value."""


class TensorType:
    """The type of an array value.

    `shape` is an int (rank 1) or a sequence of non-negative ints, ``()`` for a scalar; `dtype` a `DType`, its name, or
    a NumPy dtype or scalar type; `diff` says whether the value can carry a derivative; `pattern` describes the stored
    entries of the last two axes. `ValueError` for a negative extent, a dtype that is none of the five and a pattern
    that does not fit; `TypeError` for an extent that is no int and for what is no dtype at all.
    """

    __slots__ = ("diff", "dtype", "pattern", "shape", "text")

    shape: tuple[int, ...]
    dtype: DType
    diff: bool
    pattern: SparsityPattern | None
    text: str
    """The spelling, as ``tensor<2x3xfloat64 diff>``."""

    node_class: ClassVar[Any] = None
    """The class of nodes of such a type; None for that of all nodes."""

    def __new__(
        cls, shape: Any = (), dtype: Any = FLOAT64, diff: bool = True, pattern: SparsityPattern | None = None
    ) -> TensorType:
        """Return the one type with these fields."""
        if type(shape) is tuple and type(dtype) is DType:  # as nearly always; a bool that equals 1 is caught below
            known = _TENSORS.get((shape, dtype, diff, pattern))
            if known is not None and all([type(extent) is int for extent in shape]):
                return known
        fields = (read_shape(shape), read_dtype(dtype), bool(diff), pattern)
        known = _TENSORS.get(fields)
        if known is None:
            if pattern is not None and pattern.shape != fields[0][-2:]:
                raise ValueError(f"a pattern of shape {pattern.shape} does not fit a tensor of shape {fields[0]}")
            known = object.__new__(cls)
            for field, value in zip(("shape", "dtype", "diff", "pattern"), fields, strict=True):
                object.__setattr__(known, field, value)
            object.__setattr__(known, "text", _spelled(known))
            known = _TENSORS.setdefault(fields, known)
        return known

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """The number of entries; 1 for a scalar."""
        return math.prod(self.shape)

    @property
    def storage_shape(self) -> tuple[int, ...]:
        """The shape of what is stored: the last two axes are one where there is a pattern."""
        return self.shape if self.pattern is None else (*self.shape[:-2], self.pattern.nnz)

    def but(self, **changes: Any) -> TensorType:
        """Return this type with other fields."""
        fields = {name: getattr(self, name) for name in ("shape", "dtype", "diff", "pattern")}
        return TensorType(**{**fields, **changes})

    @staticmethod
    def read(text: str, patterns: Mapping[str, Coordinates] | None = None) -> TensorType:
        """Read the spelling ``tensor<3x4xfloat64 diff>``; `TensorError` says what is wrong with it, and where.

        `patterns` are the coordinates that names such as ``#sp0`` stand for.
        """
        known = _READ_TENSORS.get(text)
        if known is None:
            known = _read_tensor(text, patterns or {})
            if "#" not in text and len(_READ_TENSORS) < 4096:
                _READ_TENSORS[text] = known
        return known

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        pattern = "" if self.pattern is None else f", pattern={self.pattern!r}"
        return f"TensorType({self.shape}, {self.dtype}, diff={self.diff}{pattern})"

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a tensor type is immutable: cannot set '{name}'")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a tensor type is immutable: cannot delete '{name}'")

    def __reduce__(self) -> tuple[type[TensorType], tuple[Any, ...]]:
        return TensorType, (self.shape, self.dtype, self.diff, self.pattern)


_TENSORS: Final[dict[tuple[Any, ...], TensorType]] = {}
_READ_TENSORS: Final[dict[str, TensorType]] = {}


def _spelled(type_: TensorType) -> str:
    extents = "".join([f"{extent}x" for extent in type_.shape])
    pattern = "" if type_.pattern is None else f", {type_.pattern}"
    return f"tensor<{extents}{type_.dtype}{' diff' if type_.diff else ''}{pattern}>"


def read_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape given as an int, a sequence of ints or None (a scalar)."""
    if shape is None:
        return ()
    if isinstance(shape, tuple | list):
        return tuple([_extent(extent) for extent in shape])
    return (_extent(shape),)


def _extent(value: Any) -> int:
    if isinstance(value, bool):
        raise TypeError(f"an extent is an int, got {value!r}")
    try:
        extent = operator.index(value)
    except TypeError:
        raise TypeError(f"an extent is an int, got {value!r} of type {type(value).__name__}") from None
    if extent < 0:
        raise ValueError(f"an extent cannot be negative, got {extent}")
    return extent


_ALIASES: Final = {"bool_": "bool"}


def read_dtype(dtype: Any) -> DType:
    """Return an element type given as one, by its name, or as a NumPy dtype or scalar type.

    `ValueError` for another dtype of NumPy or an unknown name, `TypeError` for what is no dtype.
    """
    if type(dtype) is DType:
        return dtype
    if isinstance(dtype, str):
        return DType(_ALIASES.get(dtype, dtype))
    if isinstance(dtype, type) and dtype in (bool, int, float):
        raise TypeError(f"{dtype.__name__} is no dtype; write 'bool', 'int64' or 'float64'")
    import numpy

    try:
        if not isinstance(dtype, numpy.dtype | type) or (
            isinstance(dtype, type) and not issubclass(dtype, numpy.generic)
        ):
            raise TypeError
        name = numpy.dtype(dtype).newbyteorder("=").name
    except TypeError:
        raise TypeError(f"{dtype!r} is no dtype") from None
    return DType(name)


# --- reading ----------------------------------------------------------------------------------------------------------


class TensorError(ValueError):
    """A text is no tensor type, or no pattern; `text[start:end]` is the part to blame."""

    def __init__(self, message: str, start: int, end: int) -> None:
        self.start = start
        self.end = end
        super().__init__(message)


Coordinates = tuple[tuple[int, ...], tuple[int, ...]]
"""The rows and columns of stored entries, as they are written."""

_tensor_parts = re.compile(r"tensor<[ \t]*((?:[0-9]+x)*+)([^,<>\s]*)([^,<>]*)(?:,(.*))?>", re.DOTALL).fullmatch
_wrong_extent = re.compile(r"([^A-Za-z_x][^x]*)x").match
_sparse_parts = re.compile(
    r"\s*sparse<\s*(?:(#\w+)|rows\s*=\s*\[([^\]]*)\]\s*,\s*cols\s*=\s*\[([^\]]*)\])\s*>\s*"
).fullmatch
_is_integers = re.compile(r"(?:\s*[0-9]{1,18}\s*(?:,\s*[0-9]{1,18}\s*)*+)?+\s*").fullmatch
_LONGEST_EXTENT: Final = 18


def _read_tensor(text: str, patterns: Mapping[str, Coordinates]) -> TensorType:
    parts = _tensor_parts(text)
    if parts is None:
        raise TensorError(f"malformed type '{text}'; {_AS_IN_TYPE}", 0, len(text))
    extents, element, flag, pattern = parts.groups()
    start = parts.start(1)
    shape = []
    for extent in extents.split("x")[:-1]:
        if len(extent) > _LONGEST_EXTENT:
            raise TensorError(f"an extent of {len(extent)} digits is too large", start, start + len(extent))
        start += len(extent) + 1
        shape.append(int(extent))
    if element not in _BY_NAME:
        if element.isdigit() or not element:
            raise TensorError(
                f"a dtype is missing; {_AS_IN_TYPE}", parts.start(2), max(parts.end(2), parts.start(2) + 1)
            )
        wrong = _wrong_extent(element)
        if wrong is not None:
            raise TensorError(f"an extent is a non-negative integer, found '{wrong[1]}'", start, start + wrong.end(1))
        raise TensorError(unknown_dtype(element), *parts.span(2))
    if flag.strip() not in ("", "diff"):
        at = parts.start(3) + len(flag) - len(flag.lstrip())
        hint = did_you_mean(flag.strip(), ["diff"]) or "; expected 'diff', ',' or '>'"
        raise TensorError(f"unknown word '{flag.strip()}' in a type{hint}", at, at + len(flag.strip()))
    stored = None
    if pattern is not None:
        at = parts.start(4) + len(pattern) - len(pattern.lstrip())
        if len(shape) < 2:
            raise TensorError("a sparse tensor has two axes or more", at, at + len(pattern.strip()))
        stored = _read_pattern(text, at, pattern.strip(), (shape[-2], shape[-1]), patterns)
    return TensorType(tuple(shape), _BY_NAME[element], bool(flag.strip()), stored)


_BY_NAME: Final[dict[str, DType]] = {str(dtype): dtype for dtype in DTYPES}


def _read_pattern(
    text: str, start: int, pattern: str, shape: tuple[int, int], patterns: Mapping[str, Coordinates]
) -> SparsityPattern:
    """Return the pattern that is written as `pattern`, which begins at `start` of `text`."""
    parts = _sparse_parts(pattern)
    end = start + len(pattern)
    if parts is None:
        raise TensorError(f"malformed pattern '{pattern}'; {_AS_IN}", start, end)
    name = parts[1]
    if name is None:
        rows, columns = _read_coordinates(pattern, start)
    elif name in patterns:
        rows, columns = patterns[name]
    else:
        at = start + parts.start(1)
        raise TensorError(f"undefined pattern '{name}'{did_you_mean(name, patterns)}", at, at + len(name))
    try:
        return SparsityPattern(shape, rows, columns)
    except ValueError as error:
        reason = str(error).removeprefix("sparsity: ")
        raise TensorError(reason, *_blamed(text, start, end, shape, rows, columns)) from None


_AS_IN_TYPE: Final = "write it as in 'tensor<2x4xfloat64 diff>'"
_AS_IN: Final = "write it as in 'sparse<rows=[0, 2], cols=[1, 0]>'"


def read_coordinates(text: str) -> Coordinates:
    """Read ``sparse<rows=[0, 2], cols=[1, 0]>``; `TensorError` for another text and for a coordinate given twice."""
    rows, columns = _read_coordinates(text, 0)
    seen = set()
    for pair in zip(rows, columns, strict=True):
        if pair in seen:
            raise TensorError(f"coordinate {pair} is given twice", *_blamed(text, 0, len(text), None, rows, columns))
        seen.add(pair)
    return rows, columns


def _read_coordinates(text: str, start: int) -> Coordinates:
    parts = _sparse_parts(text)
    if parts is None or parts[1] is not None:
        raise TensorError(f"malformed pattern '{text}'; {_AS_IN}", start, start + len(text))
    lists = []
    for group in (2, 3):
        if not _is_integers(parts[group]):
            message = "the coordinates of a pattern are lists of non-negative integers"
            raise TensorError(message, start + parts.start(group), start + parts.end(group))
        lists.append(tuple(map(int, parts[group].split(","))) if parts[group].strip() else ())
    if len(lists[0]) != len(lists[1]):
        message = f"a pattern has as many rows as columns, found {len(lists[0])} and {len(lists[1])}"
        raise TensorError(message, start, start + len(text))
    return lists[0], lists[1]


def _blamed(
    text: str, start: int, end: int, shape: tuple[int, int] | None, rows: Sequence[int], columns: Sequence[int]
) -> tuple[int, int]:
    """Return the range of the first coordinate that is out of range or repeated; that of the pattern if it is named."""
    numbers = [found.span() for found in re.compile("[0-9]+").finditer(text, start, end)]
    if len(numbers) != len(rows) + len(columns):
        return start, end
    seen = set()
    for at, pair in enumerate(zip(rows, columns, strict=True)):
        if pair in seen or (shape is not None and pair[0] >= shape[0]):
            return numbers[at]
        if shape is not None and pair[1] >= shape[1]:
            return numbers[len(rows) + at]
        seen.add(pair)
    return start, end
