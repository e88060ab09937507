"""Arithmetic at compile time: operations on expressions that are folded as they are built.

Owned here is going on until nothing folds any more; what folds is the folder's knowledge. Source: lowering
specification 2.2.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.folding import FOLD, Folder
from scaly_ir.graph import Node
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import Pattern
from scaly_ir.graph.rewrite import AroundOperands, BottomUpGate, graph_rewrite
from scaly_ir.identities import IDENTITIES


class Arithmetic:
    """Normal forms of operations on operands in normal form; a graph, in which operands are shared at no cost.

    It is the context of the rules below: what is known to be normal is not searched again, so that many operations on
    each other take linear time.
    """

    def __init__(self) -> None:
        self._folder = Folder(IDENTITIES, trees=False, constants_first=True)
        self._normal: dict[Node, Node] = {}

    def normal(self, node: Node) -> Node:
        """Return the normal form of an operation on operands that are normal."""
        known = self._normal.get(node)
        if known is None:
            made = self.fold(node)
            known = node if made is None else graph_rewrite(made, _NORMALIZE, ctx=self, quiet=True)
            self._keep(known)
            self._normal[node] = known
        return known

    def _keep(self, normal: Node) -> None:
        """Note that a node is normal, and with it all that it is made of: each is visited once."""
        pending = [normal]
        while pending:
            node = pending.pop()
            if node not in self._normal:
                self._normal[node] = node
                pending.extend(node.args)

    def fold(self, node: Node) -> Node | None:
        """Fold an operation once."""
        return self._folder.fold(node)

    def is_normal(self, node: Node) -> bool:
        """Tell whether a node is known to be normal."""
        return self._normal.get(node) is node


def _keep_normal(node: Node, ctx: Arithmetic) -> None:
    if ctx.is_normal(node):
        raise BottomUpGate


_IS_NORMAL: Final = PatternMatcher([(Pattern(lambda op: True, name="node"), _keep_normal)])
_NORMALIZE: Final = AroundOperands(_IS_NORMAL, FOLD)
