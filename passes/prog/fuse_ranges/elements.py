"""What each element is that merged statements write: a trip, and a scalar of the number of that trip.

Statements are read in order, each for all its lanes at once. Lanes that draw from elements of the same kinds make
elements of one kind, which has at most one element in each trip; so within a kind the places that are read follow the
trip, and the scalar can say how. Nothing here changes the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node
from scaly_ir.passes.prog.fuse_ranges.indices import Indices
from scaly_ir.passes.prog.fuse_ranges.lanes import Array, Lanes
from scaly_ir.passes.prog.fuse_ranges.places import Store, Unfusible, replaced, surface

MOST_ELEMENTS: Final = 1 << 22
"""The most elements of all the buffers that are kept track of, and the most that all statements together write."""

_UNKNOWN: Final = -1
_NO_TRIP: Final = int(np.iinfo(np.int64).min)
_NOBODY: Final = -1


class Kind(NamedTuple):
    """Elements with the same scalar."""

    value: Node
    """The scalar, in terms of the trip."""
    order: tuple[int, int]
    """The position of the statement that writes them, and the number of the store in it."""


@dataclass(slots=True)
class _State:
    """What the elements of a buffer are."""

    kind: Array
    trip: Array
    writer: Array
    """The position of the merged statement that wrote each element last."""


class Elements:
    """The elements of the buffers `roots`; the lanes of a statement may make `most` kinds at most."""

    def __init__(self, roots: Sequence[Node], indices: Indices, integers: Mapping[str, Array], most: int) -> None:
        self.kinds: list[Kind] = []
        self._indices = indices
        self._integers = integers
        self._most = most
        self._lanes: dict[tuple[Node, ...], Lanes] = {}
        """Those of the statement at hand."""
        self._room = MOST_ELEMENTS
        self._states: dict[str, _State] = {}
        room = MOST_ELEMENTS
        for root in roots:
            size = buffer_size(root)
            if size is None or size > room:
                raise Unfusible("there are too many elements")
            room -= size
            kind, trip, writer = [np.full(size, value, np.int64) for value in (_UNKNOWN, _NO_TRIP, _NOBODY)]
            self._states[root.attrs["name"]] = _State(kind, trip, writer)

    # --- what statements write ----------------------------------------------------------------------------------------

    def fill(self, store: Store) -> None:
        """Note the constant that a statement outside writes."""
        state = self._states.get(store.root)
        if state is not None:
            self._lanes.clear()
            at = self._lanes_of([store]).elements(store.index, len(state.kind))
            state.kind[at] = self._new(store.value, _NOBODY, 0)

    def forget(self, root: str) -> None:
        """Note that a statement outside writes something."""
        if root in self._states:
            self._states[root].kind[:] = _UNKNOWN

    def write_stage(self, position: int, stores: Sequence[Store], trips: range) -> None:
        """Note what a stage writes that has these trips."""
        kept = [(number, store) for number, store in enumerate(stores) if store.root in self._states]
        if kept:
            self._lanes.clear()
            self._write(position, kept, trips)

    def write_nest(self, position: int, stores: Sequence[Store]) -> None:
        """Note what a nest writes; what it reads of that it has to read where its own lane writes."""
        self._lanes.clear()
        roots = {store.root for store in stores}
        written = {(store.loops, store.root, store.index) for store in stores}
        for number, store in enumerate(stores):
            views = [node.args[0] for node in surface(store.value) if node.op is ops.LOAD]
            read = {(store.loops, view.attrs["buffer"], view.args[0]) for view in views}
            if any([place not in written for place in read if place[1] in roots]):
                raise Unfusible("a nest reads what it may write in another trip")
            if store.root in self._states:
                self._write(position, [(number, store)], None)

    def _write(self, position: int, stores: Sequence[tuple[int, Store]], own: range | None) -> None:
        """Note what stores write that have the same lanes; `own` are the trips of a stage."""
        lanes = self._lanes_of([store for _, store in stores])
        places = [lanes.elements(store.index, len(self._states[store.root].kind)) for _, store in stores]
        nodes = surface(*[store.value for _, store in stores])
        if any([node.op is ops.VAR and node.attrs["name"] in lanes.variables for node in nodes]):
            raise Unfusible("a loop variable is used as a value")
        loads = [node for node in nodes if node.op is ops.LOAD]
        drawn = {load: found for load in loads if (found := self._drawn(load, lanes)) is not None}
        trips = _trips([trip for _, trip in drawn.values()], lanes.count)
        if own is not None:
            trips = np.where(trips == _NO_TRIP, np.array(own, np.int64), trips)
        if (trips == _NO_TRIP).any():
            raise Unfusible("an element belongs to no trip")
        others = [load for load in loads if load not in drawn]
        numbers = self._constants(others, lanes, [kinds for kinds, _ in drawn.values()], trips)
        columns = [*[kinds for kinds, _ in drawn.values()], *numbers.values()]
        for part in self._parts(columns, trips):
            done = {load: self.kinds[kinds[part[0]]].value for load, (kinds, _) in drawn.items()}
            for load in others:
                done[load] = self._indices.load(load, lanes, part, trips[part], load in numbers, own is not None)
            for (number, store), at in zip(stores, places, strict=True):
                kind = self._new(replaced(store.value, done), position, number)
                self._set(position, self._states[store.root], at[part], trips[part], kind)

    def _drawn(self, load: Node, lanes: Lanes) -> tuple[Array, Array] | None:
        """Return kinds and trips of the elements that lanes load; None when merged statements do not write these."""
        view = load.args[0]
        state = self._states.get(view.attrs["buffer"])
        if state is None:
            return None
        at = lanes.elements(view.args[0], len(state.kind))
        kinds = state.kind[at]
        if (kinds == _UNKNOWN).any():
            raise Unfusible("nobody knows what an element is")
        return kinds, state.trip[at]

    def _constants(
        self, loads: Sequence[Node], lanes: Lanes, kinds: Sequence[Array], trips: Array
    ) -> dict[Node, Array]:
        """Return the loads from tables that stand for a constant in each kind, with the number of each lane's value.

        Such are loads of one value in all trips, and those whose places do not follow the trip, which make more kinds.
        """
        candidates = {load: numbers for load in loads if (numbers := self._indices.numbers(load, lanes)) is not None}
        found: dict[Node, Array] = {}
        while True:
            parts = self._parts([*kinds, *found.values()], trips)
            left = [load for load in candidates if load not in found]
            new = [
                load
                for load in left
                if _are_constant(candidates[load], parts) or not self._indices.follows(load, lanes, parts, trips)
            ]
            if not new:
                return found
            found.update({load: candidates[load] for load in new})

    def _parts(self, columns: Sequence[Array], trips: Array) -> list[Array]:
        """Return the lanes of each kind, by trip: those that agree in all columns, and one for each trip of these."""
        key = np.zeros(len(trips), np.int64)
        for column in columns:
            key = _joined(key, column)
        if not key.any() and (np.diff(trips) > 0).all():
            return [np.arange(len(trips))]
        order = np.lexsort((trips, key))
        first = np.ones(len(order), bool)
        first[1:] = (np.diff(key[order]) != 0) | (np.diff(trips[order]) != 0)
        ranks = np.arange(len(order))
        occurrence = np.empty(len(order), np.int64)
        occurrence[order] = ranks - np.maximum.accumulate(np.where(first, ranks, 0))
        key = _joined(key, occurrence)
        if key.max() >= self._most:
            raise Unfusible("the lanes of a statement differ too much")
        return _split(np.lexsort((trips, key)), key)

    def _set(self, position: int, state: _State, at: Array, trips: Array, kind: int) -> None:
        if (state.writer[at] == position).any() or len(np.unique(at)) < len(at):
            raise Unfusible("a statement writes an element twice")
        state.kind[at], state.trip[at], state.writer[at] = kind, trips, position

    def _new(self, value: Node, position: int, number: int) -> int:
        self.kinds.append(Kind(value, (position, number)))
        return len(self.kinds) - 1

    def _lanes_of(self, stores: Sequence[Store]) -> Lanes:
        """Return the lanes that some stores have in common."""
        loops = stores[0].loops
        if loops not in self._lanes:
            self._lanes[loops] = Lanes(loops, self._integers)
        self._room -= self._lanes[loops].count * len(stores)
        if self._room < 0:
            raise Unfusible("too many elements are written")
        return self._lanes[loops]

    # --- what is left -------------------------------------------------------------------------------------------------

    def written(self, root: str) -> Iterator[tuple[Kind, Array, Array]]:
        """Yield the kinds of what merged statements left in a buffer, each with its trips, ascending, and elements."""
        state = self._states[root]
        at = np.flatnonzero(state.writer != _NOBODY)
        if len(at):
            for part in _split(at[np.lexsort((state.trip[at], state.kind[at]))], state.kind):
                yield self.kinds[state.kind[part[0]]], state.trip[part], part


def _trips(drawn: Sequence[Array], count: int) -> Array:
    """Return the trip of each lane, that of all elements it draws from that have one."""
    trips = np.full(count, _NO_TRIP, np.int64)
    for trip in drawn:
        if ((trip != trips) & (trip != _NO_TRIP) & (trips != _NO_TRIP)).any():
            raise Unfusible("an element draws from several trips")
        trips = np.maximum(trips, trip)  # no trip is the least of numbers
    return trips


def _are_constant(column: Array, parts: Sequence[Array]) -> bool:
    return all([column[part[0]] == column[part[-1]] and (column[part] == column[part[0]]).all() for part in parts])


def _joined(key: Array, column: Array) -> Array:
    """Return numbers from 0 on that are equal where both key and column are; neither has negative ones."""
    if column.min() == column.max():
        return key
    joined: Array = np.unique(key * (int(column.max()) + 1) + column, return_inverse=True)[1]
    return joined


def _split(order: Array, key: Array) -> list[Array]:
    """Cut a list of entries, which are sorted by key, where the key changes."""
    return np.split(order, np.flatnonzero(np.diff(key[order])) + 1)
