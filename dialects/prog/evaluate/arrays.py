"""Evaluates all trips of a loop at once with NumPy, where that is the same to the bit as one trip after the other.

Each statement is executed for all trips before the next one. That changes nothing when no trip touches an element that
another one writes, which is proved by the numbers at hand each time. A read of a poisoned element, an index out of
bounds and the like undo what was written; the loop is then evaluated trip by trip, which finds the first such trip.
Operators that libraries approximate are applied to one element at a time, since their results may depend on the length
of an array.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import Affine, affine
from scaly_ir.dialects.prog.evaluate.independence import Numbers, written_spans
from scaly_ir.dialects.prog.evaluate.lanes import Retry, operation
from scaly_ir.dialects.prog.evaluate.memory import Array, Place, Storage
from scaly_ir.dialects.prog.evaluate.site import FEWEST_TRIPS, Assign, Inner, Site, Step, Write
from scaly_ir.graph import Node
from scaly_ir.types import BOOL

_MOST_TRIPS: Final = 1 << 20
"""So many trips at a time; more would need arrays that do not fit the caches, or memory."""
_MOST_REFUSALS: Final = 8
"""After so many vain attempts a site is given up for the rest of the run."""
_UNDO_PER_TRIP: Final = 64
"""How many elements may be kept for each trip in case that something goes wrong."""

Key = tuple[Node, bool]
Compute = Callable[["_Run"], Array]


class Runner:
    """Runs a site; counts how often that was in vain."""

    def __init__(self, site: Site, strict: bool) -> None:
        self._site = site
        self._dimensions = len(site.chain)
        self._refusals = 0
        self._code = _Code(self._dimensions, strict)
        self._chain = [[self._code.of(bound) for bound in domain.args] for domain in site.chain]
        for step in site.steps:
            self._code.prepare(step)

    def __call__(self, places: Sequence[Place], values: Sequence[Any]) -> bool:
        """Run all trips, or none and return False."""
        if self._refusals > _MOST_REFUSALS:
            return False
        site = self._site
        run = _Run(self._code, self._dimensions)
        for (name, dtype), value in zip(site.outer_variables, values, strict=True):
            run.arrays[name] = np.full((1,) * self._dimensions, value, str(dtype))
            if dtype.is_int:
                run.integers[name] = value
        ranges = self._ranges(run)
        trips = math.prod([len(values) for values in ranges])
        if trips < FEWEST_TRIPS:
            return False
        run.places = {name: place for (name, _), place in zip(site.buffers, places, strict=True)}
        if self._attempt(run, ranges, trips):
            self._refusals = 0
            return True
        self._refusals += 1
        return False

    def _ranges(self, run: _Run) -> list[range]:
        try:
            bounds = [[run.integer(code) for code in codes] for codes in self._chain]
        except Retry:
            return [range(0)]
        return [range(*found) if found[2] > 0 else range(0) for found in bounds]

    def _attempt(self, run: _Run, ranges: Sequence[range], trips: int) -> bool:
        site = self._site
        names = [domain.attrs["name"] for domain in site.chain]
        chain = dict(zip(names, ranges, strict=True))
        written = written_spans(site, Numbers(run.places, run.integers, chain, run.span))
        if written is None:
            return False
        if trips // len(ranges[0]) > _MOST_TRIPS:
            return False  # the inner loops are a site of their own
        chunk = max(len(ranges[0]) * _MOST_TRIPS // trips, 1)
        kept: list[tuple[Storage, int, Array, Array]] = []
        if not site.single or chunk < len(ranges[0]):
            if sum([high - low for _, low, high in written]) > _UNDO_PER_TRIP * trips:
                return False
            for storage, low, high in written:
                kept.append((storage, low, storage.values[low:high].copy(), storage.defined[low:high].copy()))
        try:
            for first in range(0, len(ranges[0]), chunk):
                run.begin(names, [ranges[0][first : first + chunk], *ranges[1:]])
                run.steps(site.steps)
        except Retry:
            for storage, low, values, defined in kept:
                storage.values[low : low + len(values)] = values
                storage.defined[low : low + len(values)] = defined
            return False
        return True


# --- evaluation -------------------------------------------------------------------------------------------------------


class _Code:
    """How the scalars of a site are computed: for each root a list of computations, operands first."""

    def __init__(self, dimensions: int, strict: bool) -> None:
        self._dimensions = dimensions
        self._strict = strict
        self.by_root: dict[Node, list[tuple[Key, Compute]]] = {}

    def prepare(self, step: Step) -> None:
        """Make the code of a step ready; steps nest but a few deep."""
        roots = step.values if isinstance(step, Write) else step.bounds if isinstance(step, Inner) else (step.value,)
        for root in roots:
            self.of(root)
        if isinstance(step, Inner):
            for inner in step.steps:
                self.prepare(inner)

    def of(self, root: Node) -> list[tuple[Key, Compute]]:
        """Return the code of a scalar."""
        known = self.by_root.get(root)
        if known is None:
            known = self.by_root[root] = self._made(root)
        return known

    def _made(self, root: Node) -> list[tuple[Key, Compute]]:
        code: list[tuple[Key, Compute]] = []
        seen: set[Key] = set()
        pending: list[tuple[Key, bool]] = [((root, False), False)]
        while pending:
            key, finished = pending.pop()
            if finished:
                code.append((key, self._computation(*key)))
            elif key not in seen:
                seen.add(key)
                pending.append((key, True))
                pending.extend([(operand, False) for operand in reversed(_operands(*key))])
        return code

    def _computation(self, node: Node, in_index: bool) -> Compute:
        if node.op is ops.VAR:
            name = node.attrs["name"]
            return lambda run: run.arrays[name]
        if node.op is ops.LOAD:
            return self._load(node)
        if "value" in node.attrs and node.op in (ops.CONST_INT, ops.CONST_FLOAT):
            constant = np.full((1,) * self._dimensions, node.attrs["value"], str(node.type))
            return lambda run: constant
        function, operands = operation(node, in_index, self._strict), _operands(node, in_index)
        return lambda run: function(*[run.found[operand] for operand in operands])

    def _load(self, node: Node) -> Compute:
        view = node.args[0]
        name, form, index = view.attrs["buffer"], affine(view.args[0]), (view.args[0], True)
        if node.type is BOOL:
            return lambda run: run.read(name, form, index).astype(bool)
        return lambda run: run.read(name, form, index)


def _operands(node: Node, in_index: bool) -> list[Key]:
    if node.op is ops.LOAD:
        index = node.args[0].args[0]
        return [(index, True)]
    return [(operand, in_index) for operand in node.args]


class _Run:
    """One evaluation of a site. All arrays have as many dimensions as the site has loops; those of length 1 stretch."""

    def __init__(self, code: _Code, dimensions: int) -> None:
        self._code = code
        self._dimensions = dimensions
        self.arrays: dict[str, Array] = {}
        self.integers: dict[str, int] = {}
        """The variables that are the same in all trips, inner loops among them."""
        self.places: dict[str, Place] = {}
        self.found: dict[Key, Array] = {}
        self._chain: dict[str, tuple[int, range]] = {}

    def begin(self, names: Sequence[str], ranges: Sequence[range]) -> None:
        """Set the trips."""
        for number, (name, values) in enumerate(zip(names, ranges, strict=True)):
            self._chain[name] = number, values
            shape = [1] * self._dimensions
            shape[number] = len(values)
            self.arrays[name] = (np.arange(len(values), dtype=np.int64) * values.step + values.start).reshape(shape)

    def steps(self, steps: Sequence[Step]) -> None:
        """Execute statements for all trips."""
        for step in steps:
            if isinstance(step, Write):
                self._write(step)
            elif isinstance(step, Assign):
                self.arrays[step.name] = np.array(self.compute(step.value))  # memory may change before it is read
            else:
                self._loop(step)

    def compute(self, root: Node) -> Array:
        """Return a scalar for all trips; it may be a part of memory."""
        return self.execute(self._code.of(root))

    def execute(self, code: list[tuple[Key, Compute]]) -> Array:
        """Return the last of several computations."""
        self.found = found = {}
        for key, function in code:
            found[key] = function(self)
        return found[code[-1][0]]

    def integer(self, code: list[tuple[Key, Compute]]) -> int:
        """Return a scalar that is the same in all trips."""
        return int(self.execute(code).reshape(-1)[0])

    def _bounds(self, loop: Inner) -> range:
        start, stop, step = [self.integer(self._code.of(bound)) for bound in loop.bounds]
        if step <= 0:
            raise Retry
        return range(start, stop, step)

    def span(self, loop: Inner) -> tuple[int, int] | None:
        """Return the least and the greatest value of an inner loop's variable, or None when nobody knows."""
        if not loop.fixed:
            return None
        try:
            values = self._bounds(loop)
        except Retry:
            return None
        return (values[0], values[-1]) if values else (values.start, values.start)

    def _loop(self, loop: Inner) -> None:
        for value in self._bounds(loop):
            self.integers[loop.name] = value
            self.arrays[loop.name] = np.full((1,) * self._dimensions, value, np.int64)
            self.steps(loop.steps)
        self.integers.pop(loop.name, None)  # the name may be that of a scalar next

    def _write(self, step: Write) -> None:
        place = self.places[step.buffer]
        values = [self.compute(value) for value in step.values]
        if len(values) > 1:
            values = [values[0], np.array(values[1])]
        for number, value in enumerate(values):
            elements, marks = self._window(place, step.form, number)
            elements[...] = value
            marks[...] = 1

    def _window(self, place: Place, form: Affine, beyond: int = 0) -> tuple[Array, Array]:
        """Return the elements that an affine index reaches in the trips, and their marks, as parts of memory."""
        first = low = high = form.constant + beyond
        shape, strides = [1] * self._dimensions, [0] * self._dimensions
        for name, factor in form.coefficients.items():
            known = self._chain.get(name)
            if known is None:
                moved = factor * self.integers[name]
                first, low, high = first + moved, low + moved, high + moved
                continue
            number, values = known
            ends = factor * values[0], factor * values[-1]
            first, low, high = first + ends[0], low + min(ends), high + max(ends)
            shape[number], strides[number] = len(values), factor * values.step
        if low < 0 or high >= place.size:
            raise Retry
        width = place.values.itemsize
        elements: Array = np.ndarray(
            shape, place.values.dtype, place.values, first * width, [stride * width for stride in strides]
        )
        return elements, np.ndarray(shape, np.uint8, place.written, first, strides)

    def read(self, name: str, form: Affine | None, index: Key) -> Array:
        """Return elements of a buffer."""
        place = self.places[name]
        if form is not None and all([n in self._chain or n in self.integers for n in form.coefficients]):
            elements, marks = self._window(place, form)
        else:
            at = self.found[index]
            if not (at >= 0).all() or not (at < place.size).all():
                raise Retry
            elements, marks = place.values[at], place.written[at]
        if not marks.all():
            raise Retry
        return elements
