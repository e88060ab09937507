"""Lowering of products of vectors and matrices: zeros, to which the terms are added in rising order of the inner index.

Every entry is one ordered chain, however the loops are nested. Source: lowering specification 1.6.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import plus, scaled, shifted
from scaly_ir.passes.expr.lowering.procedure import Procedure

MOST_AXES = 2
"""The most axes that an operand may have."""

BLOCK = 4
"""How many rows of a matrix are multiplied by a vector at once: the vector is read once for all of them."""


def lower_matmul(proc: Procedure, node: Node) -> None:
    """Emit the loops of a product; `LoweringError` when an operand has more axes than a matrix."""
    x, y = node.args
    if max(x.type.ndim, y.type.ndim) > MOST_AXES:
        raise proc.refuse(node, f"an operand of {max(x.type.ndim, y.type.ndim)} axes; at most {MOST_AXES} are")
    proc.value(x)
    proc.value(y)
    proc.result(node)
    _FORMS[x.type.ndim, y.type.ndim](proc, node)


def _step(proc: Procedure, node: Node, out: Node, left: Node, right: Node) -> Node:
    """Return the statement that adds the product of two entries to an entry of the result."""
    x, y = node.args
    target = build.view(proc.values[node], out)
    product = build.apply("mul", proc.load(x, left), proc.load(y, right))
    return build.store(target, build.apply("add", build.load(target), product))


def _zero(proc: Procedure, node: Node, at: Node) -> Node:
    return build.store(build.view(proc.values[node], at), build.const(0, node.type.dtype))


def _lower_dot(proc: Procedure, node: Node) -> None:
    """Vector by vector: one sum."""
    out, (inner,) = build.index(0), node.args[0].type.shape
    proc.emit(_zero(proc, node, out))
    proc.emit(proc.loop("k", proc.values[node], inner, lambda k: [_step(proc, node, out, k, k)], "reduce"))


def _lower_matrix_vector(proc: Procedure, node: Node) -> None:
    """Matrix by vector: rows in blocks, then what rows remain."""
    buffer, (rows, inner) = proc.values[node], node.args[0].type.shape
    blocks = rows // BLOCK
    proc.emit(proc.loop("i", buffer, rows, lambda i: [_zero(proc, node, i)]))

    def block(number: Node) -> list[Node]:
        def steps(k: Node) -> list[Node]:
            left = plus(scaled(number, BLOCK * inner), k, 1)
            outs = [shifted(scaled(number, BLOCK), row) for row in range(BLOCK)]
            return [_step(proc, node, out, shifted(left, row * inner), k) for row, out in enumerate(outs)]

        return [proc.loop("k", buffer, inner, steps, "reduce")]

    def single(row: Node) -> list[Node]:
        def step(k: Node) -> list[Node]:
            return [_step(proc, node, row, plus(scaled(row, inner), k, 1), k)]

        return [proc.loop("k", buffer, inner, step, "reduce")]

    if blocks:
        proc.emit(proc.loop("ib", buffer, blocks, block))
    if rows % BLOCK:
        name = proc.loop_name("it", buffer)
        proc.emit(build.for_(build.range_(name, BLOCK * blocks, rows), single(build.var(name))))


def _lower_vector_matrix(proc: Procedure, node: Node) -> None:
    """Vector by matrix: row after row of the matrix is added to the result."""
    buffer, (inner, columns) = proc.values[node], node.args[1].type.shape
    proc.emit(proc.loop("j", buffer, columns, lambda j: [_zero(proc, node, j)]))

    def row(k: Node) -> list[Node]:
        return [proc.loop("j", buffer, columns, lambda j: [_step(proc, node, j, k, plus(scaled(k, columns), j, 1))])]

    proc.emit(proc.loop("k", buffer, inner, row, "reduce"))


def _lower_matrix_matrix(proc: Procedure, node: Node) -> None:
    """Matrix by matrix: for each inner index, column by row is added to the result."""
    buffer, (rows, inner), columns = proc.values[node], node.args[0].type.shape, node.args[1].type.shape[1]

    def zeros(i: Node) -> list[Node]:
        return [proc.loop("j", buffer, columns, lambda j: [_zero(proc, node, plus(scaled(i, columns), j, 1))])]

    def outer(k: Node) -> list[Node]:
        def row(i: Node) -> list[Node]:
            left = plus(scaled(i, inner), k, 1)

            def step(j: Node) -> list[Node]:
                out, right = plus(scaled(i, columns), j, 1), plus(scaled(k, columns), j, 1)
                return [_step(proc, node, out, left, right)]

            return [proc.loop("j", buffer, columns, step)]

        return [proc.loop("i", buffer, rows, row)]

    proc.emit(proc.loop("i", buffer, rows, zeros), proc.loop("k", buffer, inner, outer, "reduce"))


_FORMS: Final = {
    (1, 1): _lower_dot,
    (2, 1): _lower_matrix_vector,
    (1, 2): _lower_vector_matrix,
    (2, 2): _lower_matrix_matrix,
}
"""How to multiply, by the number of axes of the operands."""

RULES: Final = {ops.MATMUL: lower_matmul}
