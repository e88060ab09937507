"""Rebuilding graphs on other operands: simultaneous substitution of inputs, and what follows for types and hints.

Source: expression specification 4.1 (substitution at a call is simultaneous) and 6.2 (hints).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import hinted, make
from scaly_ir.dialects.expr.functions import inputs_of, make_function
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.observe import report_rebuilt
from scaly_ir.graph.rewrite import rebuild


def substitute_inputs(roots: Sequence[Node], values: Mapping[Node, Node]) -> list[Node]:
    """Return the roots with nodes replaced all at once: what comes in their place is not looked into."""
    done: dict[Node, Node] = dict(values)
    for node in postorder(*roots):
        if node not in done:
            done[node] = on_operands(node, [done[operand] for operand in node.args])
            report_rebuilt(node, done[node])
    return [done[root] for root in roots]


def on_operands(node: Node, args: Sequence[Node]) -> Node:
    """Return an operation on other operands of the same shapes and dtypes; its type carries what follows from them."""
    return node if tuple(args) == node.args else rebuild(node, args)


def with_outputs(function: Node, outputs: Sequence[Node]) -> Node:
    """Return the node of a function with other outputs; itself when they are the same."""
    names = function.attrs["output_names"]
    return make_function(function.attrs["name"], inputs_of(function), outputs, names)


def take_hint(result: Node, node: Node) -> Node:
    """Return what takes the place of `node`, with the stronger of both hints.

    An input with another hint would be another input than the function has, so a reshape of it carries the hint.
    """
    hint, own = _hint(node), _hint(result)
    if ops.HINTS.index(hint) <= ops.HINTS.index(own):
        return result
    if result.op is not ops.INPUT:
        return hinted(result, hint)  # type: ignore[arg-type]
    if result.type.pattern is not None:
        return result  # a sparse array has no reshape
    return hinted(make(ops.RESHAPE, [result], {"shape": result.type.shape}), hint)


def _hint(node: Node) -> str:
    hint: str = node.attrs.get("lowering", "auto")
    return hint
