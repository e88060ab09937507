"""Places in terms of the trip: how an index that follows the trip is written, and constants for what tables hold.

The index of a stage keeps its form, with the trip in place of the loop variable; others are written as a constant plus
a multiple of the trip, unless such an index was written before.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import numpy as np

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.affine import affine
from scaly_ir.graph import Node, postorder
from scaly_ir.passes.prog.fuse_ranges.lanes import Array, Lanes, Line, line
from scaly_ir.passes.prog.fuse_ranges.places import Unfusible, replaced


def written(place: Line, trip: Node) -> Node:
    """Return an index as a constant plus a multiple of the trip, whichever of them there is."""
    constant, factor = build.index(place.constant), build.index(place.factor)
    if place.factor == 0:
        return constant
    multiple = trip if place.factor == 1 else build.apply("mul", factor, trip)
    return build.apply("add", constant, multiple) if place.constant else multiple


class Indices:
    """Writes the places that lanes load from, in terms of `trip`; `roots` are the declarations of buffers."""

    def __init__(self, roots: Iterable[Node], trip: Node) -> None:
        self._trip = trip
        self._tables: Final[dict[str, Node]] = {r.attrs["name"]: r for r in roots if "values" in r.attrs}
        self._numbers: dict[str, Array] = {}
        self._spelled: dict[Line, Node] = {}
        self._trip_name: str = trip.attrs["name"]

    # --- tables -------------------------------------------------------------------------------------------------------

    def numbers(self, load: Node, lanes: Lanes) -> Array | None:
        """Return which value lanes load from a table, equal numbers for equal bits; None when that is not known."""
        view = load.args[0]
        table = self._tables.get(view.attrs["buffer"])
        if table is None or lanes.values(view.args[0]) is None:
            return None
        name = table.attrs["name"]
        if name not in self._numbers:
            first: dict[Node, int] = {}  # equal constants are one node
            self._numbers[name] = np.array(
                [first.setdefault(_constant(table, at), at) for at in range(len(table.attrs["values"]))], np.int64
            )
        numbers: Array = self._numbers[name][lanes.elements(view.args[0], len(self._numbers[name]))]
        return numbers

    def follows(self, load: Node, lanes: Lanes, parts: Sequence[Array], trips: Array) -> bool:
        """Tell whether the place of a load follows the trip in each part of the lanes."""
        values = lanes.values(load.args[0].args[0])
        assert values is not None
        return all([line(trips[part], values[part]) is not None for part in parts])

    # --- loads --------------------------------------------------------------------------------------------------------

    def load(self, load: Node, lanes: Lanes, part: Array, trips: Array, constant: bool, stage: bool) -> Node:
        """Return what some lanes load, which have ascending trips; `constant` when they load one value of a table."""
        view = load.args[0]
        index = view.args[0]
        if constant:
            values = lanes.values(index)
            assert values is not None
            return _constant(self._tables[view.attrs["buffer"]], int(values[part[0]]))
        return build.load(build.view(view.attrs["buffer"], self._index(index, lanes, part, trips, stage), view.type))

    def _index(self, index: Node, lanes: Lanes, part: Array, trips: Array, stage: bool) -> Node:
        if stage:
            (name,) = lanes.variables
            if (lanes.variable(name)[part] == trips).all() and affine(index) is not None:
                return self._substituted(index, {name: self._trip})
        values = lanes.values(index)
        if values is not None:
            place = line(trips, values[part])
            if place is None:
                raise Unfusible("what is read does not follow the trip")
            return self._spelled[place] if place in self._spelled else written(place, self._trip)
        if affine(index) is None:
            raise Unfusible("nobody knows what is read")
        variables = {}
        used = {node.attrs["name"] for node in postorder(index) if node.op is ops.VAR}
        for name in sorted(used & lanes.variables.keys()):
            place = line(trips, lanes.variable(name)[part])
            if place is None:
                raise Unfusible("what is read does not follow the trip")
            variables[name] = written(place, self._trip)
        return self._substituted(index, variables)

    def _substituted(self, index: Node, variables: Mapping[str, Node]) -> Node:
        """Return an index in terms of the trip."""
        made = replaced(index, {build.var(name): value for name, value in variables.items()})
        form = affine(made)
        if form is not None and form.coefficients.keys() <= {self._trip_name}:
            place = Line(form.constant, form.coefficients.get(self._trip_name, 0))
            self._spelled.setdefault(place, made)
        return made


def _constant(table: Node, at: int) -> Node:
    """Return an element of a table as a constant."""
    return build.const(table.attrs["values"][at], table.type)
