"""Smaller shapes, trip counts, tables and constants."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.rewrite import Mode, substitute
from scaly_ir.tools.reduce.extents import Extent, first, smaller
from scaly_ir.tools.reduce.prog.scalars import Replacement, found_in, replaced
from scaly_ir.tools.reduce.prog.walk import procedures_of, with_procedures
from scaly_ir.types import INT64

# --- extents everywhere -----------------------------------------------------------------------------------------------


def extents(root: Node) -> list[Extent]:
    """Return the numbers above 1 that are extents, largest first, each as 1, half as large and one less."""
    found = set()
    for node in preorder(root):
        if node.op is ops.BUFFER:
            found.update(node.attrs["shape"])
        elif node.op is ops.RANGE:
            found.update([bound.attrs["value"] for bound in node.args[1:2] if bound.op is ops.CONST_INT])
    return smaller(found)


def with_extents(root: Node, edits: Sequence[Extent]) -> Node:
    """Make extents smaller, wherever they stand; tables lose their last elements."""
    sizes = first(edits)
    mapping = {}
    for node in preorder(root):
        if node.op is ops.BUFFER:
            mapping[node] = _shaped(node, [sizes.get(extent, extent) for extent in node.attrs["shape"]])
        elif node.op is ops.RANGE and node.args[1].op is ops.CONST_INT:
            start, stop, step = node.args
            end: int = stop.attrs["value"]
            mapping[node] = node.replace(args=(start, build.index(sizes.get(end, end)), step))
    return substitute(root, mapping, mode=Mode.ONCE)


def _shaped(buffer: Node, shape: Sequence[int]) -> Node:
    attrs = {**buffer.attrs, "shape": tuple(shape)}
    if "values" in attrs:
        attrs["values"] = attrs["values"][: math.prod(shape)]
    return buffer.replace(attrs=attrs)


# --- single buffers and loops -----------------------------------------------------------------------------------------


class Smaller(NamedTuple):
    """A buffer or the range of a loop in a procedure, and what takes its place there."""

    procedure: int
    node: Node
    instead: Node


def sizes(root: Node) -> list[Smaller]:
    """Return the buffers of more than one element, of one axis if they have several, and the loops of several trips."""
    return _smaller(root, _of_one)


def tables(root: Node) -> list[Smaller]:
    """Return the tables that could be zeros, and the windows of others that could begin where these do."""
    return _smaller(root, _of_zeros)


def _smaller(root: Node, change: Callable[[Node], Node | None]) -> list[Smaller]:
    found = []
    for at, procedure in enumerate(procedures_of(root)):
        for node in preorder(procedure):
            instead = change(node)
            if instead is not None and instead is not node:
                found.append(Smaller(at, node, instead))
    return found


def _of_one(node: Node) -> Node | None:
    if node.op is ops.BUFFER:
        size = math.prod(node.attrs["shape"])
        return _shaped(node, (1,) if size > 1 and len(node.attrs["shape"]) == 1 else (size,))
    if node.op is ops.RANGE:
        start, _, step = node.args
        once = build.apply("add", start, build.index(1))
        if start.op is ops.CONST_INT:
            once = build.index(start.attrs["value"] + 1)
        return node.replace(args=(start, once, step))
    return None


def _of_zeros(node: Node) -> Node | None:
    if node.op is not ops.BUFFER:
        return None
    zeros = {key: 0 for key in ("alias_offset", "workspace_offset") if node.attrs.get(key)}
    values = node.attrs.get("values", ())
    if any(values):
        return node.with_attrs(values=tuple([type(value)(0) for value in values]))
    return node.with_attrs(**zeros)


def with_smaller(root: Node, edits: Sequence[Smaller]) -> Node | None:
    """Make buffers and loops smaller, wherever their procedures refer to them."""
    mappings: dict[int, dict[Node, Node]] = defaultdict(dict)
    for at, node, instead in edits:
        mappings[at][node] = instead
    listed = procedures_of(root)
    return with_procedures(
        root, [substitute(each, mappings.get(at, {}), mode=Mode.ONCE) for at, each in enumerate(listed)]
    )


# --- constants --------------------------------------------------------------------------------------------------------


def constants(root: Node) -> list[Replacement]:
    """Return the constants that could be 0 or 1; large indices could be half as large."""
    return found_in(root, simpler_constants)


def simpler_constants(node: Node) -> list[Node]:
    """Return the constants that are simpler than a constant of theirs; none for another node."""
    if node.op is ops.CONST_INT or node.op is ops.CONST_FLOAT:
        value = node.attrs["value"]
        simpler = [number for number in (0, 1) if value not in (0, number)]
        if node.op is ops.CONST_INT and node.type is INT64 and value > 3:
            simpler.append(value // 2)
        return [build.const(number, node.type) for number in simpler]
    return []


def with_constants(root: Node, edits: Sequence[Replacement]) -> Node | None:
    """Put other constants in the place of some; of several for one, the first."""
    return replaced(root, edits, mode=Mode.ONCE)
