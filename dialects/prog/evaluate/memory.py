"""The memory of a run: storages with a mark for each element that was written, and windows of them.

Elements are NumPy arrays; compiled statements reach single elements through memory views of the same memory, which is
faster, and loops that are evaluated at once through the arrays. Source: program specification 4.1.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog.context import value_name
from scaly_ir.dialects.prog.evaluate.faults import Fault, counted
from scaly_ir.types import DTYPES, DType

Array = np.ndarray[Any, Any]

ELEMENTS: Final[dict[str, np.dtype[Any]]] = {
    str(dtype): np.dtype("uint8" if dtype.kind == "bool" else str(dtype)) for dtype in DTYPES
}
"""How elements are kept: a bool as a byte, which memory views can index."""


class Storage:
    """Memory with one owner; an element is poisoned until it is written."""

    __slots__ = ("defined", "values")

    def __init__(self, values: Array, *, defined: bool) -> None:
        self.values = values
        self.defined = (np.ones if defined else np.zeros)(len(values), np.uint8)


class Place:
    """What the name of a buffer stands for: a window of some storage."""

    def __init__(self, name: str, storage: Storage, offset: int, size: int, dtype: DType, read_only: bool) -> None:
        self.name = name
        self.storage = storage
        self.offset = offset
        self.size = size
        self.dtype = dtype
        self.read_only = read_only

    @cached_property
    def values(self) -> Array:
        """The elements."""
        return self.storage.values[self.offset : self.offset + self.size]

    @cached_property
    def written(self) -> Array:
        """A byte for each element: whether it was written."""
        return self.storage.defined[self.offset : self.offset + self.size]

    @cached_property
    def cells(self) -> memoryview:
        """The elements, for access to one at a time."""
        return memoryview(self.values)  # type: ignore[arg-type]

    @cached_property
    def defined(self) -> memoryview:
        """The marks, for access to one at a time."""
        return memoryview(self.written)  # type: ignore[arg-type]

    def window(self, name: str, start: int, size: int, read_only: bool) -> Place:
        """Return a part of this window under another name."""
        if start < 0 or start + size > self.size:
            needs = f"{value_name(name)} needs [{start}, {start + size}) of {value_name(self.name)}"
            raise Fault(f"{needs}, which has {counted(self.size)}")
        return Place(name, self.storage, self.offset + start, size, self.dtype, self.read_only or read_only)

    def overlaps(self, other: Place) -> bool:
        """Tell whether two windows share an element."""
        if self.storage is not other.storage or not self.size or not other.size:
            return False
        return self.offset < other.offset + other.size and other.offset < self.offset + self.size


def poisoned(name: str, size: int, dtype: DType) -> Place:
    """Return new memory that nothing was written to."""
    return Place(name, empty(value_name(name), size, dtype), 0, size, dtype, read_only=False)


def empty(label: str, size: int, dtype: DType) -> Storage:
    """Return a poisoned storage; `label` says in messages what it is for."""
    try:
        # Zeros rather than garbage: what is never read must not make a run depend on what the memory held before.
        return Storage(np.zeros(size, ELEMENTS[dtype]), defined=False)
    except (MemoryError, ValueError) as error:  # which of them depends on how far too large it is
        raise Fault(without_memory(label, size, dtype)) from error


def without_memory(label: str, size: int, dtype: DType) -> str:
    """Return what to say of something that is too large."""
    return f"{label} needs {counted(size)} of {dtype}, for which there is no memory"


def filled(name: str, values: Array, dtype: DType, *, read_only: bool) -> Place:
    """Return memory that holds a flat array, which is not copied."""
    return Place(name, Storage(values, defined=True), 0, len(values), dtype, read_only)
