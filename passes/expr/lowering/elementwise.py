"""Lowering of elementwise operations: one loop over the flat result, operands loaded at broadcast indices.

Source: lowering specification 1.4.
"""

from __future__ import annotations

from scaly_ir.attributes import Attrs
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.passes.expr.lowering.access import broadcast_strides, source_index
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.prim import form


def lower_elementwise(proc: Procedure, node: Node) -> None:
    """Emit the loop of an operation that maps over entries."""
    shape = node.type.shape
    for operand in node.args:
        proc.value(operand)  # before the buffer of the result, as numbers follow the order of the operations
    strides = [broadcast_strides(operand.type.shape, shape) for operand in node.args]

    def entry(at: Node) -> Node:
        pairs = zip(node.args, strides, strict=True)
        return apply(node, [proc.load(operand, source_index(at, shape, steps)) for operand, steps in pairs])

    proc.fill(proc.result(node), entry)


def apply(node: Node, operands: list[Node]) -> Node:
    """Return the scalar operation of the same meaning; one of a third party stays the operator that it is."""
    shared: str | None = node.op.get_attr("TScalarOp", None)
    op = node.op if shared is None else form("prog", Op.get(shared).mnemonic)
    attrs = Attrs({key: value for key, value in node.attrs.items() if key != "lowering"})
    return intern_node(op, tuple(operands), attrs, node.type.dtype)
