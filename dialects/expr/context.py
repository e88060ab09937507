"""What the rules of `expr` that look around a node know: the functions there are, and the one that is being checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.call_typing import function_fault
from scaly_ir.dialects.expr.functions import inputs_of
from scaly_ir.graph import Node


class Context:
    """What is known at one place of a module.

    `complete` tells that every function is there, so that a callee without one is a mistake.
    """

    __slots__ = ("_faults", "body", "complete", "names")

    def __init__(self, root: Node) -> None:
        functions = root.args if root.op is ops.MODULE else ()
        self.complete = root.op is ops.MODULE and not root.attrs.get("bare")
        self.names = [name for function in functions if type(name := function.attrs.get("name")) is str]
        """What functions are called."""
        self.body: Sequence[Node] = ()
        """The operations of the current function."""
        self._faults: dict[Node, str | None] = {}

    def function_fault(self, node: Node) -> str | None:
        """Return what is wrong with a node that is to be a function, as `call_typing.function_fault` does."""
        try:
            return self._faults[node]
        except KeyError:
            found = self._faults[node] = function_fault(node)
            return found

    def undeclared(self, function: Node) -> Iterator[Node]:
        """Yield the inputs that operations of a (well-formed) function read and it does not declare."""
        declared = set(inputs_of(function))
        for node in self.body:
            if node.op is ops.INPUT and node not in declared:
                yield node
