"""Smaller extents, trip counts and constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of
from scaly_ir.dialects.expr.ingest import make_const, splat
from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import rebuild
from scaly_ir.tables import Table
from scaly_ir.tools.reduce.expr.rebuild import Make, Values, body_of, functions_of, with_operations
from scaly_ir.tools.reduce.extents import Extent, first, smaller
from scaly_ir.types import BOOL

# --- extents ----------------------------------------------------------------------------------------------------------


def extents(root: Node) -> list[Extent]:
    """Return the numbers above 1 that are extents, largest first, each as 1, half as large and one less."""
    found = set()
    for function in functions_of(root):
        for node in body_of(function):
            if node.op in (ops.INPUT, ops.CONST, ops.RESHAPE):
                found.update(node.type.shape)
            elif node.op is ops.LOOP:
                found.add(node.attrs["length"])
    return smaller(found)


def with_extents(root: Node, edits: Sequence[Extent]) -> Node | None:
    """Make extents smaller, wherever they stand; constants lose their last entries."""
    make = _with_sizes(first(edits))
    changed = []
    for at, function in enumerate(functions_of(root)):
        inputs = inputs_of(function) if function.op is ops.FUNC else ()
        changed += [(at, node, make) for node in [*body_of(function), *inputs] if node.op in _SIZED]
    return with_operations(root, changed)


_SIZED = frozenset({ops.INPUT, ops.CONST, ops.RESHAPE, ops.SLICE})


def _with_sizes(sizes: Mapping[int, int]) -> Make:
    def smaller(value: object) -> object:
        if isinstance(value, slice):
            return slice(*[smaller(part) for part in (value.start, value.stop, value.step)])
        return sizes.get(value, value) if type(value) is int else value

    def make(node: Node, values: Values) -> Node:
        if node.op is ops.CONST:
            table = node.attrs["value"]
            kept = tuple([slice(0, sizes.get(extent, extent)) for extent in table.shape])
            return rebuild(node, ()) if not kept else make_const(Table.from_array(table.array[kept]))
        if node.op is ops.INPUT:
            shape = tuple([sizes.get(extent, extent) for extent in node.type.shape])
            return node.replace(type=node.type if shape == node.type.shape else node.type.but(shape=shape))
        key = "shape" if node.op is ops.RESHAPE else "index"
        changed = node.with_attrs(**{key: [smaller(item) for item in node.attrs[key]]})
        return rebuild(changed, [values[operand] for operand in node.args])

    return make


# --- constants --------------------------------------------------------------------------------------------------------


class Constant(NamedTuple):
    """A constant, or the length of a loop, and the number that is tried for all of it."""

    function: int
    node: Node
    number: int


def constants(root: Node) -> list[Constant]:
    """Return the constants that are not all 0, and not all 1, with these; and loops of several trips, with one."""
    found = []
    for at, function in enumerate(functions_of(root)):
        for node in body_of(function):
            if node.op is ops.CONST:
                uniform = node.attrs["value"].uniform
                found += [Constant(at, node, number) for number in (0, 1) if uniform not in (0, number)]
            elif node.op is ops.LOOP and node.attrs["length"] > 1:
                found.append(Constant(at, node, 1))
    return found


def with_constants(root: Node, edits: Sequence[Constant]) -> Node | None:
    """Put simpler numbers in the place of constants; of several for one, the first."""
    return with_operations(root, [(at, node, _number(number)) for at, node, number in edits])


def _number(number: int) -> Make:
    def make(node: Node, values: Values) -> Node:
        if node.op is ops.CONST:
            return splat(bool(number) if node.type.dtype is BOOL else number, node.type)
        return rebuild(node.with_attrs(length=number), [values[operand] for operand in node.args])

    return make
