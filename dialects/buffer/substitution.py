"""Values in the place of names, in the operands of statements."""

from __future__ import annotations

from collections.abc import Mapping

from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node, preorder
from scaly_ir.graph.rewrite import Mode, substitute


def with_values(operand: Node, values: Mapping[str, Node]) -> Node:
    """Return an operand with what some names stand for in their place."""
    if not operand.args:
        return values.get(operand.attrs["name"], operand) if build.is_variable(operand) else operand
    found = {
        node: values[name]
        for node in preorder(operand)
        if build.is_variable(node) and (name := node.attrs["name"]) in values
    }
    return substitute(operand, found, mode=Mode.ONCE) if found else operand
