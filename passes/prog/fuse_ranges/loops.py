"""The loops that compute what merged statements leave behind: one for each run of trips with the same stores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.prog.fuse_ranges.elements import Kind
from scaly_ir.passes.prog.fuse_ranges.indices import written
from scaly_ir.passes.prog.fuse_ranges.lanes import Array, Line, line
from scaly_ir.passes.prog.fuse_ranges.places import Unfusible, replaced
from scaly_ir.passes.prog.sharing import share


class Output(NamedTuple):
    """A store: a scalar of the trip into a place that follows the trip, in some trips."""

    kind: Kind
    root: str
    place: Line
    runs: list[tuple[int, int]]
    """Trips in which it happens, in order: from the first to before the second number."""


def output(kind: Kind, root: str, trips: Array, elements: Array) -> Output:
    """Return the store of elements of one kind, which have ascending trips."""
    place = line(trips, elements)
    if place is None:
        raise Unfusible("what is written does not follow the trip")
    parts = np.split(trips, np.flatnonzero(np.diff(trips) != 1) + 1)
    return Output(kind, root, place, [(int(part[0]), int(part[-1]) + 1) for part in parts])


def loops(outputs: Sequence[Output], trip: Node, names: Iterator[str], most_bounds: int, most: int) -> list[Node]:
    """Return loops that make the stores, with scalars shared, whose variables and scalars have fresh `names`.

    `Unfusible` when runs of trips begin and end at more than `most_bounds` places, or when there are more than `most`
    stores in all of the loops together.
    """
    bounds = sorted({bound for each in outputs for run in each.runs for bound in run})
    if len(bounds) > most_bounds:
        raise Unfusible("the trips differ too much")
    number = {bound: at for at, bound in enumerate(bounds)}
    if sum([number[last] - number[first] for each in outputs for first, last in each.runs]) > most:
        raise Unfusible("there are more stores than before")
    active: list[list[Output]] = [[] for _ in bounds]
    for each in outputs:
        for first, last in each.runs:
            for at in range(number[first], number[last]):
                active[at].append(each)
    return [
        _loop(first, last, stores, trip, names)
        for (first, last), stores in zip(pairwise(bounds), active, strict=False)
        if stores
    ]


def _loop(first: int, last: int, stores: list[Output], trip: Node, names: Iterator[str]) -> Node:
    """Return the loop over a run of trips."""
    variable = build.var(next(names))
    stores.sort(key=lambda each: (each.kind.order, each.place.constant + each.place.factor * first))
    done = {trip: variable}
    values = [replaced(each.kind.value, done) for each in stores]
    shared = share(values, names)
    made = [
        build.store(build.view(each.root, written(each.place, variable), value.type), value)
        for each, value in zip(stores, shared.values, strict=True)
    ]
    return build.for_(build.range_(variable.attrs["name"], first, last), [*shared.definitions, *made])
