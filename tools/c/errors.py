"""What the C translator refuses: a message, and the place in the program."""

from __future__ import annotations

from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node


class CTranslateError(TranslateError):
    """A program has no C form; `node` is the node to blame at its place."""

    @property
    def node(self) -> Node | None:
        """The node to blame."""
        return None if self.place is None else self.place.node
