"""Mapping over the functions of a module, and over the operations of one function: what the passes on `expr` share.

Functions come callees first, each on what its callees became, so a pass looks at one function at a time and never
recurses. A callee that a bare file leaves undefined is a name, not a function, and stays. Source: expression
specification 4.2 and 6.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, callees_of, in_order, make_module, outputs_of
from scaly_ir.dialects.expr.substitution import on_operands, with_outputs
from scaly_ir.graph import Node
from scaly_ir.graph.observe import observed, observer
from scaly_ir.graph.rewrite import rebuild
from scaly_ir.graph.walk import references_of


def map_functions(root: Node, change: Callable[[Node], Node]) -> Node:
    """Return the module of what `change` makes of each function; `root` itself when nothing changes.

    `change` is given a function that refers to its callees as they are now; it keeps name and signature.
    """
    done: dict[Node, Node] = {}
    for function in in_order(root.args):
        done[function] = change(_on_callees(function, done))
    return make_module([done[function] for function in root.args], bare=root.attrs.get("bare", False))


def map_operations(function: Node, change: Callable[[Node], Node], rule: str = "") -> Node:
    """Return the function of what `change` makes of each operation, operands first and on what they became.

    An observer of rewrites is told of each under the name `rule`; without a name, that the operation was rebuilt.
    """
    rebuilt, told = observed(on_operands), observer()
    done: dict[Node, Node] = {}
    for node in body_of(function):
        operation = rebuilt(node, [done[operand] for operand in node.args])
        made = done[node] = change(operation)
        if told is not None and made is not operation:
            if rule:
                told.rewritten(rule, operation, (made,))
            else:
                told.rebuilt(operation, made)
    return with_outputs(function, [done[output] for output in outputs_of(function)])


def _on_callees(function: Node, done: Mapping[Node, Node]) -> Node:
    """Return a function with its references moved to what the functions became."""
    if all([done[callee] is callee for callee in callees_of(body_of(function))]):
        return function

    def moved(node: Node) -> Node:
        if node.op not in ops.CALLS or all([done[callee] is callee for callee in references_of(node)]):
            return node
        attrs: dict[str, Any] = {
            key: done[value] if isinstance(value, Node) else value for key, value in node.attrs.items()
        }
        # The type is found again: a callee that became a constant has no derivative any more.
        changed = node.replace(attrs=attrs)
        return rebuild(changed, changed.args)

    return map_operations(function, moved)
