"""Lowering of what moves entries: reshapes, slices, transposes, and arrays put together from parts.

A reshape has the buffer of its operand; a contiguous slice is an alias. Source: lowering specification 1.4.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import row_major, source_index
from scaly_ir.passes.expr.lowering.procedure import Procedure, storage_shape

MOST_AXES = 4
"""The most axes that a transpose may have."""


def lower_reshape(proc: Procedure, node: Node) -> None:
    """Let the result share the buffer of the operand."""
    proc.values[node] = proc.value(node.args[0])


def lower_slice(proc: Procedure, node: Node) -> None:
    """Alias what is contiguous, unless it is an output; copy everything else."""
    (source,) = node.args
    offset, shape, strides, contiguous = _selection(source.type.shape, node.attrs["index"])
    buffer = proc.value(source)
    if contiguous and node not in proc.targets and node.type.size:
        proc.values[node] = proc.alias(buffer, offset, storage_shape(node.type))
    else:
        proc.fill(proc.result(node), lambda at: proc.load(source, source_index(at, shape, strides, offset)))


def _selection(extents: Sequence[int], index: Sequence[Any]) -> tuple[int, list[int], list[int], bool]:
    """Return what an index selects: offset, extents and distances; and whether that is one run of entries."""
    offset, contiguous, ranged, partial = 0, True, False, False
    shape, strides = [], []
    for item, extent, stride in zip(index, extents, row_major(extents), strict=True):
        if not isinstance(item, slice):
            offset += item % extent * stride
            contiguous = contiguous and (not ranged or extent == 1)
            continue
        start, stop, step = item.indices(extent)
        count = len(range(start, stop, step))
        offset += start * stride if count else 0
        shape.append(count)
        strides.append(step * stride)
        whole = count == extent and step == 1
        contiguous = contiguous and step == 1 and (whole or not (ranged or partial))
        partial = partial or not whole
        ranged = True
    return offset, shape, strides, contiguous


def lower_transpose(proc: Procedure, node: Node) -> None:
    """Copy entry by entry in the order of the result."""
    (source,) = node.args
    if source.type.ndim > MOST_AXES:
        raise proc.refuse(node, f"a transpose of {source.type.ndim} axes; at most {MOST_AXES} are")
    own = row_major(source.type.shape)
    strides = [own[axis] for axis in node.attrs["axes"]]
    proc.value(source)
    proc.fill(proc.result(node), lambda at: proc.load(source, source_index(at, node.type.shape, strides)), "d")


def lower_joined(proc: Procedure, node: Node) -> None:
    """Copy each part of a stack or a concatenation into its window of the result."""
    axis = node.attrs["axis"]
    for part in node.args:
        proc.value(part)
    buffer = proc.result(node)
    stacked = node.op is ops.STACK
    if axis == 0 and len(set(node.args)) == 1 and len(node.args) > 1 and node.args[0].type.size:
        _repeat(proc, node, buffer)
        return
    own = row_major(node.type.shape)
    start = 0
    for number, part in enumerate(node.args):
        shape = list(part.type.shape)
        strides = [*own[:axis], *own[axis + 1 :]] if stacked else own
        _copy_part(proc, buffer, part, number, shape, strides, start * own[axis])
        start += 1 if stacked else shape[axis]


def _repeat(proc: Procedure, node: Node, buffer: Node) -> None:
    """Emit one loop for copies of one operand."""
    part = node.args[0]
    size = part.type.size

    def body(at: Node) -> list[Node]:
        index = build.apply("mod", at, build.index(size)) if size > 1 else build.index(0)
        return [build.store(build.view(buffer, at), proc.load(part, index))]

    proc.emit(proc.loop("j", buffer, node.type.size, body))


def _copy_part(
    proc: Procedure, buffer: Node, part: Node, number: int, shape: list[int], strides: Sequence[int], offset: int
) -> None:
    name = proc.loop_name("j", buffer, f"_{number}")
    at = build.var(name)
    target = build.view(buffer, source_index(at, shape, strides, offset))
    statement = build.store(target, proc.load(part, at))
    proc.emit(build.for_(build.range_(name, 0, math.prod(shape)), [statement]))


RULES = {
    ops.RESHAPE: lower_reshape,
    ops.SLICE: lower_slice,
    ops.TRANSPOSE: lower_transpose,
    ops.STACK: lower_joined,
    ops.CONCAT: lower_joined,
}
