"""The fast reader of `prog` text in the generic form. It never reports anything; see `text.generic_reader`."""

from __future__ import annotations

from typing import Any, Final, NoReturn

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.assembler import Assembler
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.attribute_text import Unusual, read_attrs
from scaly_ir.text.generic import NO_TYPE
from scaly_ir.text.generic_reader import GenericReader
from scaly_ir.types import DTYPES

_TYPES: Final[dict[str, Any]] = {NO_TYPE: None, **{str(dtype): dtype for dtype in DTYPES}}


def _give_up(message: str, at: Any, code: str) -> NoReturn:
    raise Unusual


class Reader(GenericReader):
    """One reading, into an assembler."""

    bodies = frozenset({op.name for op in (ops.PROGRAM, ops.PROC, ops.FOR, ops.BLOCK)})

    def __init__(self) -> None:
        super().__init__()
        self.assembler = Assembler(_give_up)
        self._ops: dict[str, Op] = {}
        self._attrs: dict[str | None, Attrs] = {None: NO_ATTRS}

    def make(self, op: str, operands: tuple[Node, ...], attrs: str | None, type_: str) -> Node:
        """Return the node with these operands, and with attributes and type as they are written."""
        given = self._attrs.get(attrs)
        if given is None:
            given = self._attrs[attrs] = read_attrs(attrs or "")
        return intern_node(self._ops.get(op) or self._op(op), operands, given, _TYPES[type_])

    def _op(self, name: str) -> Op:
        op = self._ops[name] = Op.get(name)
        if not ops.may_be_generic(op):
            raise Unusual
        return op

    def add(self, name: str | None, node: Node) -> None:
        """Take a statement, procedure or module."""
        if name is not None or (node.op is ops.BLOCK and not node.args):
            raise Unusual
        self.assembler.include(node)

    def lead_of(self, node: Node) -> int:
        """Return how many operands of a node with a body come before the body."""
        lead = build.lead_of(node) or 0
        if any([operand.op.name in self.bodies for operand in node.args[:lead]]):
            raise Unusual
        return lead

    def is_operation(self, node: Node) -> bool:
        """Tell whether a node in a body, or in none, has a place of its own."""
        return build.is_operation(node)


def read(text: str) -> tuple[Node, Assembler] | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader()
    try:
        reader.read(text)
    except (Unusual, ValueError, KeyError, IndexError, AttributeError):
        return None
    assembler = reader.assembler
    assembler.starts, assembler.ends = reader.starts, reader.ends
    statements = assembler.statements
    if not statements or (len(statements) > 1 and ops.PROGRAM in [statement.op for statement in statements]):
        return None
    return assembler.finish(), assembler
