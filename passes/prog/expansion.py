"""Rebuild statements with loads of some buffers replaced by the expressions that fill those buffers.

Owns the substitution alone: whether it is right or worth it is for the pass to decide.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.passes.prog.nests import rewritten


class Fill(NamedTuple):
    """What each element of a buffer is: an expression of the element's index, which it calls `variable`."""

    variable: str
    value: Node


class Expansion:
    """Replaces loads of the buffers in `fills`, through any number of levels.

    Each expression is rebuilt once for each index it is expanded at, so a chain takes linear time. The index takes the
    place of the variable in one step: names that the two sides share do not meet.
    """

    def __init__(self, fills: Mapping[str, Fill]) -> None:
        self._fills = fills
        self._done: dict[tuple[Node, str, Node | None], Node] = {}
        """Results, by expression and by the variable in it and what that stands for."""

    def statement(self, root: Node) -> Node:
        """Return a statement, or nest of loops, with every load expanded; bounds of loops stay."""
        return rewritten([root], self._expanded)[0]

    def _expanded(self, statement: Node) -> list[Node]:
        return [statement.replace(args=[self._scalar(operand) for operand in statement.args])]

    def _scalar(self, root: Node) -> Node:
        """Return a scalar or view expanded."""
        done = self._done
        pending: list[tuple[Node, str, Node | None]] = [(root, "", None)]
        while pending:
            task = pending[-1]
            node, variable, index = task
            if task in done:
                pending.pop()
            elif node.op is ops.VAR and index is not None and node.attrs["name"] == variable:
                done[task] = index
            elif node.op is ops.LOAD and (fill := self._fills.get(node.args[0].attrs["buffer"])) is not None:
                at = (node.args[0].args[0], variable, index)
                inner = (fill.value, fill.variable, done.get(at))
                if inner in done:
                    done[task] = done[inner]
                else:
                    pending.append(at if inner[2] is None else inner)
            else:
                operands = [(operand, variable, index) for operand in node.args]
                missing = [operand for operand in operands if operand not in done]
                pending.extend(missing)
                if not missing:
                    args = tuple([done[operand] for operand in operands])
                    done[task] = intern_node(node.op, args, node.attrs, node.type)
        return done[root, "", None]
