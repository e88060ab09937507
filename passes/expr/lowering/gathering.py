"""Lowering of gathers and scatters.

Positions that are known become arithmetic of the loop variable; those outside of the array are told apart here.
Positions that are computed are checked where they are used, unless they are promised to be in bounds. Source: lowering
specification 1.7.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.identities import is_zero
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import scaled, source_index, summed
from scaly_ir.passes.expr.lowering.positions import indexed
from scaly_ir.passes.expr.lowering.procedure import Procedure

if TYPE_CHECKING:
    import numpy

    Array = numpy.ndarray[Any, Any]


class Lines(NamedTuple):
    """How an index selects: the array is ``before * extent * inner`` entries, the index runs over the extent."""

    before: int
    extent: int
    inner: int

    @staticmethod
    def of(node: Node) -> Lines:
        """Return the lines of the array that a gather reads or a scatter writes."""
        shape, axis = node.args[0].type.shape, node.attrs["axis"]
        if axis is None:
            return Lines(1, math.prod(shape), 1)
        return Lines(math.prod(shape[:axis]), shape[axis], math.prod(shape[axis + 1 :]))


# --- gather -----------------------------------------------------------------------------------------------------------


def lower_gather(proc: Procedure, node: Node) -> None:
    """Emit the loop over the result that reads entry by entry."""
    if node.args[1].op is ops.CONST:
        _gather_known(proc, node)
    else:
        _gather_computed(proc, node)


def _fill(node: Node) -> Node:
    return build.const(node.attrs.get("fill", 0), node.type.dtype)


def _gather_known(proc: Procedure, node: Node) -> None:
    """Read what is inside; where a position is outside, store the fill in a loop of its own."""
    import numpy

    source = node.args[0]
    positions, inside = _known_positions(node)
    if inside.all():
        proc.value(source)
        index = indexed(proc, positions)
        proc.fill(proc.result(node), lambda at: proc.load(source, index(at)))
        return
    if inside.any():
        proc.value(source)
    read, filled = numpy.flatnonzero(inside), numpy.flatnonzero(~inside)
    index, targets, others = indexed(proc, positions[read]), indexed(proc, read), indexed(proc, filled)
    buffer = proc.result(node)

    def fill(at: Node) -> list[Node]:
        return [build.store(build.view(buffer, others(at)), _fill(node))]

    def entry(at: Node) -> list[Node]:
        return [build.store(build.view(buffer, targets(at)), proc.load(source, index(at)))]

    proc.emit(proc.loop("z", buffer, filled.size, fill))
    if read.size:
        proc.emit(proc.loop("i", buffer, read.size, entry))


def _known_positions(node: Node) -> tuple[Array, Array]:
    """Return the flat position of each entry that a constant index selects, and which of them are inside."""
    import numpy

    before, extent, inner = Lines.of(node)
    idx = node.args[1].attrs["value"].array.reshape(1, -1, 1)
    inside = (idx >= 0) & (idx < extent)
    outer = numpy.arange(before).reshape(-1, 1, 1) * (extent * inner)
    flat = outer + numpy.where(inside, idx, 0) * inner + numpy.arange(inner)
    return flat.reshape(-1), numpy.broadcast_to(inside, flat.shape).reshape(-1)


def _gather_computed(proc: Procedure, node: Node) -> None:
    """Read at a checked address, and keep what was read only where the position is inside."""
    source, idx = node.args
    proc.computed_index = True
    proc.value(source)
    proc.value(idx)
    address = _Address(proc, node)

    def entry(at: Node) -> Node:
        position = address.position(at)
        if not address.checked:
            return proc.load(source, address.flat(at, position))
        if not address.lines.extent:
            return _fill(node)
        inside = address.inside(position)
        taken = proc.load(source, address.flat(at, address.safe(position, inside)))
        return build.apply("select", inside, taken, _fill(node))

    proc.fill(proc.result(node), entry)


class _Address:
    """Where an entry with a computed index is: of a gather's result, or of a scatter's values."""

    def __init__(self, proc: Procedure, node: Node) -> None:
        self.proc = proc
        self.idx = node.args[1]
        self.lines = Lines.of(node)
        self.shape = (self.lines.before, self.idx.type.size, self.lines.inner)
        self.checked = node.attrs["mode"] == "fill"

    def position(self, at: Node) -> Node:
        """Return the position that was computed for the entry with a number."""
        return self.proc.load(self.idx, source_index(at, self.shape, (0, 1, 0)))

    def inside(self, position: Node) -> Node:
        """Return whether a position is inside of the array."""
        least = build.apply("le", build.index(0), position)
        return build.apply("and", least, build.apply("lt", position, build.index(self.lines.extent)))

    def safe(self, position: Node, inside: Node) -> Node:
        """Return a position that is inside of the array in any case."""
        return build.apply("select", inside, position, build.index(0))

    def flat(self, at: Node, position: Node) -> Node:
        """Return where the entry with a number is when its position is known."""
        _, extent, inner = self.lines
        before = source_index(at, self.shape, (extent * inner, 0, 0))
        behind = source_index(at, self.shape, (0, 0, 1))
        return summed(before, scaled(position, inner), behind)


# --- scatter ----------------------------------------------------------------------------------------------------------


def lower_scatter(proc: Procedure, node: Node) -> None:
    """Emit the loop that copies the base, or fills with its zeros, and the loop that writes or adds the values."""
    base = node.args[0]
    zeros = is_zero(base)
    if not zeros:
        proc.value(base)
    body, trips, kind = _writes(proc, node, onto_zeros=zeros)
    buffer = proc.result(node)
    if zeros:
        zero = build.const(base.attrs["value"].uniform, base.type.dtype)
        proc.fill(buffer, lambda at: zero, "z", base.type.size)
    else:
        proc.copy(proc.value(base), buffer, base.type.size)
    proc.emit(proc.loop("i", buffer, trips, lambda at: body(buffer, at), kind))


class _Writes(NamedTuple):
    """The loop of a scatter: its statements for a buffer and a loop variable, its trips and its kind."""

    body: Callable[[Node, Node], list[Node]]
    trips: int
    kind: str


def _writes(proc: Procedure, node: Node, *, onto_zeros: bool = False) -> _Writes:
    """Return what writes the values of a scatter into a buffer that holds the base; tables are declared here.

    A base of zeros makes a sum of one term a plain write.
    """
    proc.value(node.args[2])
    if node.args[1].op is ops.CONST:
        return _known_writes(proc, node, onto_zeros)
    return _computed_writes(proc, node)


def _known_writes(proc: Procedure, node: Node, onto_zeros: bool) -> _Writes:
    values, adds = node.args[2], node.attrs["combine"] == "add"
    written, taken, distinct = _known_pairs(node)
    target, source = indexed(proc, written), indexed(proc, taken)

    def body(buffer: Node, at: Node) -> list[Node]:
        view, value = build.view(buffer, target(at)), proc.load(values, source(at))
        if adds and not (distinct and onto_zeros):
            value = build.apply("add", build.load(view), value)
        return [build.store(view, value)]

    return _Writes(body, written.size, "global" if distinct else "reduce")


def _known_pairs(node: Node) -> tuple[Array, Array, bool]:
    """Return where to write, the numbers of the values for it, and whether all places are different.

    What is outside is dropped. Of several writes to one place the last is kept; the terms of a sum are, in order.
    """
    import numpy

    positions, inside = _known_positions(node)
    taken = numpy.flatnonzero(inside)
    written = positions[taken]
    places, last = numpy.unique(written[::-1], return_index=True)
    distinct = places.size == written.size
    if distinct or node.attrs["combine"] == "add":
        return written, taken, distinct
    kept = numpy.sort(written.size - 1 - last)
    return written[kept], taken[kept], True


def _computed_writes(proc: Procedure, node: Node) -> _Writes:
    """Write at a checked address: where the position is outside, what is there is written back.

    As the address is used for what is read and what is written, its parts are scalars.
    """
    values, adds = node.args[2], node.attrs["combine"] == "add"
    proc.computed_index = True
    proc.value(node.args[1])
    address = _Address(proc, node)

    def body(buffer: Node, at: Node) -> list[Node]:
        scalars: list[Node] = []

        def scalar(prefix: str, value: Node) -> Node:
            name = proc.loop_name(prefix, buffer)
            scalars.append(build.assign(name, value, declare=True))
            return build.var(name, value.type)

        position, inside = address.position(at), None
        if address.checked:
            position = scalar("p", position)
            inside = scalar("in", address.inside(position))
            position = address.safe(position, inside)
        view = build.view(buffer, scalar("at", address.flat(at, position)))
        value, old = proc.load(values, at), build.load(view)
        if adds:
            value = build.apply("add", old, value)
        if inside is not None:
            value = build.apply("select", inside, value, old)
        return [*scalars, build.store(view, value)]

    trips = values.type.size if address.lines.extent else 0
    return _Writes(body, trips, "reduce")


RULES: Final = {ops.GATHER: lower_gather, ops.SCATTER: lower_scatter}
