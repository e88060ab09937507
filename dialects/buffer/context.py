"""What is known at one place of a function of buffers: the names in scope. The verifier's walk keeps it up to date."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from scaly_ir.dialects.buffer.printer import value_name
from scaly_ir.graph import Node
from scaly_ir.scopes import Scopes
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.locations import Part, Place

_SUGGEST_AMONG: Final = 2000
"""With more names in scope than that, no similar one is looked for."""


class Declaration(NamedTuple):
    """What a name stands for: its type, where it is defined, and whether it is a parameter of the function."""

    type: Any
    place: Place
    is_parameter: bool


class Context:
    """The state of one verification."""

    def __init__(self) -> None:
        self.statement = -1
        """The number of the current operation in the order of the text."""
        self.in_function = -1
        """The same, counted from 0 in each function."""
        self.scopes: Scopes[Declaration] = Scopes()
        self.names = self.scopes.names
        self.results: tuple[Node, ...] = ()
        """The declarations of the results of the current function."""

    def define(self, name: str, type_: Any, place: Place, *, is_parameter: bool = False) -> None:
        """Bring a name into scope."""
        self.scopes.define(name, Declaration(type_, place, is_parameter))

    def place(self, statement: Node, node: Node, part: Part = "") -> Place:
        """Return the place of a node in the current operation."""
        return Place(self.statement, statement, node, part)

    def type_of(self, value: Node) -> Any:
        """Return the type that a name was declared with, that of the node itself for what is no name in scope."""
        name = value.attrs.get("name")
        known = self.names.get(name) if type(name) is str and not value.args else None
        return value.type if known is None else known.type

    def similar(self, name: str) -> str:
        """Return the end of a message that suggests names in scope like `name`, or an empty string."""
        if len(self.names) > _SUGGEST_AMONG:
            return ""
        return did_you_mean(value_name(name), map(value_name, self.names), quote="")
