"""What a rewrite that goes wrong tells: which rule did what to which node. Used by `scaly_ir.graph.rewrite` alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from scaly_ir.attributes import spell_attrs
from scaly_ir.errors import RewriteError
from scaly_ir.graph.match_code import Run
from scaly_ir.graph.node import Node

Became = dict[Node, tuple[Node, Run | None, bool]]
"""What nodes that wait for a result were made into, by which rule (None: rebuilt), and whether before operands."""

_DEPTH: Final = 2
_WIDTH: Final = 3
_ATTRS: Final = 60


def brief(node: Node, depth: int = _DEPTH) -> str:
    """Return a node in a few words, whatever its size: two levels of operands and three operands of each node."""
    attrs = spell_attrs(node.attrs)
    if len(attrs) > _ATTRS:
        attrs = f"{attrs[:_ATTRS]}..."
    text = f"{node.op.name} {attrs}" if attrs else node.op.name
    if node.args and depth:
        inside = [brief(operand, depth - 1) for operand in node.args[:_WIDTH]]
        text += f"({', '.join(inside)}{', ...' if len(node.args) > _WIDTH else ''})"
    elif node.args:
        text += "(...)"
    return text if node.type is None or depth < _DEPTH else f"{text} : {node.type}"


def endless(path: Sequence[Node], became: Became, node: Node) -> RewriteError:
    """Return the error for a node on `path` whose result is wanted at the end of the path."""
    waiting = path[path.index(node) :]
    steps = [became.get(each) for each in waiting]
    in_a_row = all([step is not None and step[2] for step in steps])
    for each, step in zip(waiting, steps, strict=True):
        if step is not None and step[1] is not None:
            node, (made, run, _) = each, step
            break
    else:  # a rule changed what it had no business with; there is none to name
        made, run = node, None
    rule = _name(run)
    if in_a_row:
        said = f"cycle: {brief(node)} is made of itself again; rule {rule} makes {brief(made)} of it"
        return RewriteError(said, kind="cycle", node=node, rule=rule)
    said = f"self_dependence: the result for {brief(node)} is part of itself; rule {rule} makes {brief(made)} of it"
    return RewriteError(said, kind="self_dependence", node=node, rule=rule)


def too_many(node: Node, became: Became, limit: int) -> RewriteError:
    """Return the error for more than `limit` rewrites that wait for others; the last is that of `node`."""
    made, run, _ = became[node]
    if run is None:  # rebuilt, because of a rule further down
        run = next((step[1] for step in reversed(became.values()) if step[1] is not None), None)
    last = f"rule {_name(run)} made {brief(made)} of {brief(node)}"
    said = f"stack_limit: more than {limit} rewrites wait for others; the last: {last}"
    return RewriteError(said, kind="stack_limit", node=node, rule=_name(run))


def no_node(node: Node, made: Any, run: Run | None) -> TypeError:
    """Return the error for a rule whose result is no node."""
    return TypeError(f"rule {_name(run)} made a '{type(made).__name__}' of {brief(node)}; a rewrite needs a node")


def _name(run: Run | None) -> str:
    return "(unknown)" if run is None else str(run.__qualname__)
