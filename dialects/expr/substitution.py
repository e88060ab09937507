"""Rebuilding graphs on other operands: simultaneous substitution of inputs, and what follows for types.

Source: expression specification 4.1 (substitution at a call is simultaneous).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scaly_ir.dialects.expr.typing import Misuse, infer
from scaly_ir.graph import Node, intern_node, postorder


def substitute_inputs(roots: Sequence[Node], values: Mapping[Node, Node]) -> list[Node]:
    """Return the roots with nodes replaced all at once: what comes in their place is not looked into."""
    done: dict[Node, Node] = dict(values)
    for node in postorder(*roots):
        if node not in done:
            args = tuple([done[operand] for operand in node.args])
            done[node] = node if args == node.args else on_operands(node, args)
    return [done[root] for root in roots]


def on_operands(node: Node, args: Sequence[Node]) -> Node:
    """Return an operation on other operands of the same shapes and dtypes; its type carries what follows from them."""
    try:
        type_ = infer(node.op, args, node.attrs, node.type)
    except Misuse as misuse:
        raise misuse.raised() from None
    return intern_node(node.op, tuple(args), node.attrs, node.type if type_ is None else type_)
