"""Tensor types: shape, element type, whether a value can carry a derivative, and a pattern of stored entries.

Types are immutable and interned, so equal types are one object. Source: expression specification 1.1 and 1.6.
"""

from __future__ import annotations

import math
import operator
from typing import Any, ClassVar, Final, NoReturn

from scaly_ir.sparsity import SparsityPattern
from scaly_ir.types import FLOAT64, DType


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
