"""The lanes of a statement: how often it runs, and what its loop variables and indices are each time.

A lane has a number, in program order; what is known of all lanes is an array with an entry for each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from scaly_ir.dialects.prog.affine import count_of, loop_values
from scaly_ir.graph import Node
from scaly_ir.passes.prog.fuse_ranges.places import Unfusible
from scaly_ir.passes.prog.index_values import MOST_TRIPS, index_values
from scaly_ir.types import INT64, int_range

Array = np.ndarray[Any, Any]


_INDICES: Final = int_range(INT64)


class Line(NamedTuple):
    """The numbers ``constant + factor * t``."""

    constant: int
    factor: int


class Lanes:
    """The lanes of what stands in a nest of loops that all run."""

    def __init__(self, loops: Sequence[Node], tables: Mapping[str, Array]) -> None:
        self._tables = tables
        taken = [loop_values(domain) or range(0) for domain in loops]
        counts = [count_of(values) for values in taken]
        self.count = math.prod(counts)
        if self.count > MOST_TRIPS:
            raise Unfusible("loops run too often")
        self.variables: dict[str, Array] = {}
        inner = self.count
        for domain, values, count in zip(loops, taken, counts, strict=True):
            inner //= count
            array = np.array(values, np.int64)
            if count > 1:
                array = np.tile(np.repeat(array, inner), self.count // (count * inner))
            self.variables[domain.attrs["name"]] = array
        self._known: dict[Node, Array | None] = {}

    def variable(self, name: str) -> Array:
        """Return the values of a loop variable."""
        return np.broadcast_to(self.variables[name], (self.count,))

    def values(self, index: Node) -> Array | None:
        """Return the values of an index, or None when they are not known."""
        if index not in self._known:
            found = index_values(index, self.variables, self._tables)
            self._known[index] = None if found is None else np.broadcast_to(found.reshape(-1), (self.count,))
        return self._known[index]

    def elements(self, index: Node, size: int) -> Array:
        """Return the values of an index into a buffer of `size` elements."""
        found = self.values(index)
        if found is None or (found < 0).any() or (found >= size).any():
            raise Unfusible("nobody knows which elements are meant")
        return found


def line(trips: Array, values: Array) -> Line | None:
    """Return the line through points with whole numbers, or None when there is none; one point makes it constant."""
    if len(trips) == 1:
        return Line(int(values[0]), 0)
    run, rise = int(trips[1] - trips[0]), int(values[1] - values[0])
    factor = rise // run
    found = Line(int(values[0]) - factor * int(trips[0]), factor)
    if found.constant not in _INDICES or factor not in _INDICES:
        return None
    return found if (found.constant + factor * trips == values).all() else None
