"""The grammar-driven reader of functions of matrices, loops and buffers: the rules of combiners, and reading a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from scaly_ir.dialects.affine.syntax import AffineActions
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.assembler import Assembler, Operand
from scaly_ir.dialects.buffer.syntax import Param
from scaly_ir.dialects.buffer.types import scalar_type
from scaly_ir.dialects.matrix.language import LANGUAGE
from scaly_ir.graph import Node
from scaly_ir.text.attribute_actions import Range, place_of
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.lalr import Driver
from scaly_ir.text.language import Piece
from scaly_ir.text.locations import Part
from scaly_ir.text.source import Source


class Actions(AffineActions):
    """One method for each rule."""

    def __init__(self, *, marking: bool) -> None:
        super().__init__(LANGUAGE, marking=marking)

    def init(self, parts: list[Any], at: Range) -> tuple[str, Operand, Range]:
        """Read what an accumulator is at first."""
        return "init", parts[1].value, place_of(parts[1])

    def combination_open(self, parts: list[Any], at: Range) -> None:
        """Begin a combiner."""
        names, rest = self._names(parts)
        params = [part for part in rest if isinstance(part, Piece) and isinstance(part.value, Param)]
        label = next(part for part in rest if not isinstance(part, Piece) and part.type == "LABEL")
        if str(label) != "^comb":
            self._fail(f"expected '^comb', found '{label}'", place_of(label), "syntax")
        init = next((part.value for part in rest if isinstance(part, Piece) and _is_init(part.value)), None)
        kept = [part for part in rest[: rest.index(label)] if not (isinstance(part, Piece) and _is_init(part.value))]
        head = self._head(names, kept, at)
        operands = [] if head is None else [piece.value for piece in head.operands]
        places = {} if head is None else self._head_places(head, kept)
        if init is not None:
            places[len(operands)] = init[2]
            operands.append(init[1])
        args = [self.assembler.operand(item, None if head is None else head.type) for item in operands]
        dtype = None if head is None else scalar_type(head.type)

        def finish(region: Node) -> Node:
            if head is None:
                return region
            return build.statement(head.op, (*args, region), head.type, head.names, head.attrs)

        read: list[Param] = [part.value for part in params]
        declared = self.assembler.open(finish, [each.binding for each in read], [] if dtype is None else [dtype], *at)
        self._mark_parts(None, {**places, **({"results": names.at} if names else {})})
        self._mark_declarations(declared, read)

    def combination(self, parts: list[Any], at: Range) -> None:
        """End a combiner."""
        self.assembler.close()


def _is_init(value: object) -> bool:
    return isinstance(value, tuple) and len(value) == 3 and value[0] == "init"


def read(source: Source) -> tuple[Node | None, Assembler, list[Diagnostic]]:
    """Read any text; the root is None when there are diagnostics."""
    actions = Actions(marking=False)
    actions.driver = Driver(LANGUAGE, source, actions)
    actions.driver.run()
    if not actions.driver.diagnostics:
        actions.check_forms()
    if actions.driver.diagnostics:
        return None, actions.assembler, actions.driver.diagnostics
    return actions.assembler.finish(), actions.assembler, []


def spans_of(source: Source, statement: Node) -> Iterator[tuple[Node, Part, Range]]:
    """Read the text of one statement again, or of the head of one, and yield where each node in it stands.

    The text may number its values otherwise than the statement, so what was read is matched by structure.
    """
    text = source.text
    if build.region_of(statement) is not None:
        text += "}"
    actions = Actions(marking=True)
    actions.driver = Driver(LANGUAGE, Source(source.name, text), actions)
    actions.driver.run()
    if not actions.assembler.statements:
        return
    known: dict[Node, Node] = {}
    pending = [(actions.assembler.statements[-1], statement)]
    while pending:
        read_node, node = pending.pop()
        if known.setdefault(read_node, node) is node:
            pending.extend(zip(read_node.args, node.args, strict=False))
    for marked, part, around in actions.spans:
        node = statement if marked is None else known.get(marked, marked)
        yield node, part, around
