"""Lowering of reductions: an ordered chain from the neutral element, one for each entry of the result.

A sum is one store for each term. The step of an extremum reads its term once, into a scalar, so that an expensive
producer can take the place of that load; NaN enters and stays. Source: lowering specification 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import row_major, source_index, summed
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.types import DType, int_range

Indexing = Callable[[Node], Node]
"""Gives the index of a term from its number."""


def lower_reduce(proc: Procedure, node: Node) -> None:
    """Emit the chain of a full reduction, or a loop over the entries of the result around their chains."""
    (source,) = node.args
    proc.value(source)
    buffer = proc.result(node)
    extents, own = source.type.shape, row_major(source.type.shape)
    axes = node.attrs["axes"]
    kept = [axis for axis in range(len(extents)) if axis not in axes]
    shape, strides = [extents[axis] for axis in axes], [own[axis] for axis in axes]
    terms = math.prod(shape)

    def term(number: Node) -> Node:
        return source_index(number, shape, strides)

    if not kept:
        proc.emit(*_chain(proc, node, build.view(buffer, 0), "i", terms, term))
        return
    kept_shape, kept_strides = [extents[axis] for axis in kept], [own[axis] for axis in kept]

    def entry(at: Node) -> list[Node]:
        first = source_index(at, kept_shape, kept_strides)
        return _chain(proc, node, build.view(buffer, at), "k", terms, lambda number: summed(first, term(number)))

    proc.emit(proc.loop("i", buffer, node.type.size, entry))


def _chain(proc: Procedure, node: Node, target: Node, prefix: str, terms: int, index: Indexing) -> list[Node]:
    """Return the statements that reduce the terms of one entry of the result, which is at `target`."""
    (source,) = node.args
    buffer, kind = proc.values[node], node.attrs["kind"]
    so_far = build.load(target)

    def add(number: Node) -> list[Node]:
        return [build.store(target, build.apply("add", so_far, proc.load(source, index(number))))]

    def choose(number: Node) -> list[Node]:
        name = proc.loop_name("x", buffer)
        x = build.var(name, node.type.dtype)
        better = build.apply("lt", so_far, x) if kind == "max" else build.apply("lt", x, so_far)
        if node.type.dtype.is_float:
            better = build.apply("or", better, build.apply("ne", x, x))
        return [
            build.assign(name, proc.load(source, index(number)), declare=True),
            build.store(target, build.apply("select", better, x, so_far)),
        ]

    first = build.const(_neutral(kind, node.type.dtype), node.type.dtype)
    return [build.store(target, first), proc.loop(prefix, buffer, terms, add if kind == "add" else choose, "reduce")]


def _neutral(kind: str, dtype: DType) -> float:
    """Return what a reduction of nothing is."""
    if kind == "add":
        return 0
    if dtype.is_float:
        return -math.inf if kind == "max" else math.inf
    return int_range(dtype).start if kind == "max" else int_range(dtype).stop - 1


RULES: Final = {ops.REDUCE: lower_reduce}
