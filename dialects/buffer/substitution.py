"""Other values in the place of names, in the operands of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from scaly_ir.dialects.buffer import build
from scaly_ir.graph import Node, intern_node, postorder


def with_values(operand: Node, values: Mapping[str, Node]) -> Node:
    """Return an operand with what some names stand for, which is of their types, in their place."""
    if not operand.args:
        return values.get(operand.attrs["name"], operand) if build.is_variable(operand) else operand
    return _with_uses(operand, lambda use: values.get(use.attrs["name"], use))


def with_names(operand: Node, names: Mapping[str, str]) -> Node:
    """Return an operand with other names for the values in it; types stay as they are, of what is not valid too."""

    def renamed(use: Node) -> Node:
        new = names.get(use.attrs.get("name", ""))
        return use if new is None else build.value(new, use.type)

    return _with_uses(operand, renamed)


def _with_uses(operand: Node, become: Callable[[Node], Node]) -> Node:
    """Return an operand with what the uses of names in it become."""
    made: dict[Node, Node] = {}
    for node in postorder(operand):
        if node.args:
            args = tuple([made[below] for below in node.args])
            made[node] = node if args == node.args else intern_node(node.op, args, node.attrs, node.type)
        else:
            made[node] = become(node) if build.is_variable(node) else node
    return made[operand]
