"""The blocks of a text that is being read: their statements, their names, and the places of all operations.

What a block becomes when it ends is the dialect's; so is what a statement brings into scope.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable

from scaly_ir.dialects.prog.scalars import At, Scalars
from scaly_ir.graph import Node
from scaly_ir.scopes import Scopes

Finish = Callable[[list[Node]], Node]
"""Returns what the statements of a block become."""


class Blocks(Scalars):
    """The state of one reading: scopes, open blocks and the places of operations in pre-order."""

    def __init__(
        self,
        fail: Callable[[str, At, str], None],
        mark: Callable[[Node, At, str], None] | None = None,
    ) -> None:
        super().__init__(fail, mark)
        self.starts = array("q")
        self.ends = array("q")
        self.statements: list[Node] = []
        """Those of the innermost open block."""
        self._scopes = Scopes(self.names)
        self._scopes.enter()
        self._blocks: list[tuple[list[Node], Finish]] = []

    def count(self, start: int, end: int) -> None:
        """Record the place of an operation."""
        self.starts.append(start)
        self.ends.append(end)

    def begin(self, finish: Finish, start: int, end: int) -> None:
        """Begin a block behind the head at a place."""
        self.starts.append(start)
        self.ends.append(end)
        self._scopes.enter()
        self._blocks.append((self.statements, finish))
        self.statements = []

    def end(self) -> Node:
        """End the innermost block: what it defined goes out of scope. Returns what it becomes."""
        self._scopes.leave()
        body = self.statements
        self.statements, finish = self._blocks.pop()
        return finish(body)
