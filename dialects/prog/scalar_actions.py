"""What the grammar rules of scalars mean (``scalars.lark``), in every dialect that computes with numbers.

Meaning is the business of `Scalars`, which the reader of each such dialect has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from lark import Token

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.blocks import Blocks
from scaly_ir.dialects.prog.language import OPERATORS
from scaly_ir.dialects.prog.scalars import Application, Item, Literal
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.attribute_actions import AttributeActions, Given, Range, place_of
from scaly_ir.text.language import Language, Piece
from scaly_ir.text.locations import Part
from scaly_ir.text.mistakes import unknown_scalar
from scaly_ir.types import DType


class ScalarActions(AttributeActions):
    """One method for each rule, besides those of attributes.

    When `marking` is set, `spans` tells afterwards where each node and its parts stand.
    """

    assembler: Blocks

    def __init__(self, language: Language, *, marking: bool) -> None:
        super().__init__()
        self.spans: list[tuple[Node | None, Part, Range]] = []
        self._marking = marking
        self._language = language
        self._bodies: dict[Range, list[Piece]] = {}
        """For the range of a node in the generic form, what is within its braces."""
        self._bare = frozenset(language.operations()) - frozenset(OPERATORS)
        """Scalars with a syntax of their own, which is not that of an application with attributes."""

    def _mark(self, node: Node | None, at: Any, part: Part) -> None:
        self.spans.append((node, part, at))

    def _mark_parts(self, node: Item | None, places: Mapping[Any, Range]) -> None:
        if self._marking and (node is None or isinstance(node, Node)):
            for part, at in places.items():
                self._mark(node, at, part)

    def _mark_operands(self, node: Item, parts: Sequence[Piece | Token]) -> None:
        self._mark_parts(node, {position: place_of(part) for position, part in enumerate(parts)})

    def _count_operations(self, whole: Piece, is_operation: Callable[[Node], bool]) -> None:
        """Record the places of the operations in a node in the generic form, as if each had been read alone."""
        pending = [whole]
        while pending:
            piece = pending.pop()
            start, end = piece.start, piece.end
            body = self._bodies.get((start, end))
            if is_operation(piece.value):
                # Of an operation with a body only the name is a place of its own.
                self.assembler.count(start, end if body is None else start + len(piece.value.op.name) + 2)
            pending.extend(reversed(body or []))

    def number(self, parts: list[Any], at: Range) -> Literal:
        """Read a number, whose type its context gives."""
        return Literal(str(parts[0]), at)

    def name(self, parts: list[Any], at: Range) -> Item:
        """Read a use of a name."""
        return self.assembler.name(self._read_name(parts[0]), at)

    def apply(self, parts: list[Any], at: Range) -> Item:
        """Read a shared scalar operator on its operands."""
        item = self.assembler.apply(OPERATORS[parts[0]], [part.value for part in parts[1:]], at)
        self._mark_operands(item, parts[1:])
        return item

    def cast(self, parts: list[Any], at: Range) -> Item:
        """Read a conversion."""
        return self.assembler.cast(Op.get("prog.cast"), parts[1].value, self._dtype(parts[2]), at)

    def const(self, parts: list[Any], at: Range) -> Item:
        """Read a number with its type."""
        return self.assembler.explicit(parts[1].value, self._dtype(parts[2]), at)

    def applied(self, parts: list[Any], at: Range) -> list[Any]:
        """Read an operator of the registry and its operands."""
        return parts

    def application(self, parts: list[Any], at: Range) -> Item:
        """Read an application without attributes."""
        return self._registered(parts[0].value, Given({}, {}), None, at)

    def typed_application(self, parts: list[Any], at: Range) -> Item:
        """Read an application with attributes, its type, or both."""
        attrs = Given({}, {})
        dtype = None
        for part in parts[1:]:
            if isinstance(part, Token):
                dtype = part
            else:
                attrs = part.value
        return self._registered(parts[0].value, attrs, dtype, at)

    def _registered(self, applied: list[Any], attrs: Given, dtype: Token | None, at: Range) -> Item:
        name = str(applied[0])
        operands = [part.value for part in applied[1:]]
        if name in self._bare:
            self._fail(f"'{name}' stands without parentheses around it", place_of(applied[0]), "parentheses")
            return self.assembler.unknown(at)
        if name in ops.OPERATORS:
            if attrs:
                self._fail(f"'{name}' takes no attributes", next(iter(attrs.places.values())), "attrs-match-op")
            elif dtype is not None:
                self._fail(
                    f"the type of '{name}' follows from its operands and is not written", place_of(dtype), "type"
                )
            item = self.assembler.apply(ops.OPERATORS[name], operands, at)
        elif name.startswith("prog."):
            self._fail(unknown_scalar(self._language, name, applied=True), place_of(applied[0]), "unknown-op")
            return self.assembler.unknown(at)
        else:
            wanted = None if dtype is None else self._dtype(dtype)
            application = Application(name, place_of(applied[0]), operands, Attrs(attrs), attrs.places, wanted)
            item = self.assembler.registered(application, at)
            self._mark_parts(item, attrs.places if dtype is None else {**attrs.places, "type": place_of(dtype)})
        self._mark_operands(item, applied[1:])
        return item

    def _dtype(self, token: Token) -> DType:
        return DType(str(token))
