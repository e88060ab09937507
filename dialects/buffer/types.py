"""The types of values in functions of buffers: storage, scalars, and the values of loops and index expressions.

Source: matrix specification 1.
"""

from __future__ import annotations

from typing import Any, Final

from scaly_ir.graph.encoding import register_type
from scaly_ir.types import INT64, DType, MemRefType


class IndexType:
    """The type of loop variables and index expressions, which count as int64 in scalars: one object."""

    __slots__ = ()

    dtype: Final = INT64

    def __new__(cls) -> IndexType:
        """Return the one object."""
        return _INDEX[0] if _INDEX else object.__new__(cls)

    def __reduce__(self) -> tuple[type[IndexType], tuple[()]]:
        return IndexType, ()

    def __repr__(self) -> str:
        return "index"


_INDEX: Final[list[IndexType]] = []
INDEX: Final = IndexType()
_INDEX.append(INDEX)
register_type("index", lambda text: INDEX)

ValueType = MemRefType | DType | IndexType


def folded(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape without its axes of extent 1: those that an element's indices are about."""
    return tuple([extent for extent in shape if extent != 1])


def are_compatible(first: Any, second: Any) -> bool:
    """Tell whether two buffers have the same elements in the same order: one element type and one folded shape."""
    return (
        isinstance(first, MemRefType)
        and isinstance(second, MemRefType)
        and first.dtype is second.dtype
        and folded(first.shape) == folded(second.shape)
    )


def scalar_type(type_: ValueType | None) -> DType | None:
    """Return the element type of a buffer, int64 for an index, a scalar's own type; None for no type."""
    return None if type_ is None else type_ if isinstance(type_, DType) else type_.dtype
