"""Put values in the place of variables, each within the scope of its name.

A name may be used again where its first use is out of scope, and equal scalars are one node wherever they stand, so
what a node becomes depends on the place. Owned here is the substitution and for how long its results hold; going
through statements is the business of the pass. Iterative, and linear in the text of statements and the graph of their
values. Source: program specification 1.5.
"""

from __future__ import annotations

from itertools import count

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, intern_node, toposort
from scaly_ir.graph.observe import report_rebuilt


class ScopedSubstitution:
    """The values of variables in the scopes that are open.

    No name is bound while it is in scope, so what a node became holds as long as the scope in which it did is open.
    """

    def __init__(self) -> None:
        self._values: dict[str, Node] = {}
        self._numbers = count(1)
        self._scopes: list[tuple[int, list[str]]] = [(0, [])]
        """The open scopes: their numbers, each its own, and the names bound in them."""
        self._open = {0}
        self._done: dict[Node, tuple[int, Node]] = {}
        """What nodes became, with the scope in which that was found."""

    def enter(self) -> None:
        """Open a scope."""
        number = next(self._numbers)
        self._scopes.append((number, []))
        self._open.add(number)

    def leave(self) -> None:
        """Close the innermost scope: the names bound in it stand for nothing any more."""
        number, names = self._scopes.pop()
        self._open.discard(number)
        for name in names:
            del self._values[name]

    def bind(self, name: str, value: Node) -> None:
        """Let a variable stand for a value from here to the end of the innermost scope."""
        self._values[name] = value
        self._scopes[-1][1].append(name)

    def get(self, name: str) -> Node | None:
        """Return what a variable stands for, or None for itself."""
        return self._values.get(name)

    def apply(self, root: Node) -> Node:
        """Return a scalar, view, range, or statement without a body, with all bound variables replaced."""
        if not self._values:
            return root
        done, number = self._done, self._scopes[-1][0]
        for node in toposort(root, gate=self._is_unknown):
            value = self._values.get(node.attrs["name"]) if node.op is ops.VAR else None
            if value is None:
                args = tuple([done[operand][1] for operand in node.args])
                value = node if args == node.args else intern_node(node.op, args, node.attrs, node.type)
            done[node] = (number, value)
        made = done[root][1]
        report_rebuilt(root, made)
        return made

    def _is_unknown(self, node: Node) -> bool:
        known = self._done.get(node)
        return known is None or known[0] not in self._open
