"""What the C translator refuses: a message, and the place in the program."""

from __future__ import annotations

from scaly_ir.errors import TranslateError
from scaly_ir.graph import Node
from scaly_ir.text.locations import Place


class CTranslateError(TranslateError):
    """A program has no C form.

    `place` is the operation to blame, or None when the program as a whole is; `node` the node in it, and `hint` says
    what may help.
    """

    def __init__(self, message: str, place: Place | None = None, hint: str = "") -> None:
        super().__init__(message)
        self.place = place
        self.hint = hint

    @property
    def node(self) -> Node | None:
        """The node to blame."""
        return None if self.place is None else self.place.node
