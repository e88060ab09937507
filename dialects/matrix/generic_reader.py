"""The fast reader of functions of buffers in the generic form. It never reports anything; see `text.generic_reader`."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Final

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.affine.maps import PREFIX, read_map
from scaly_ir.dialects.affine.ops import FOR
from scaly_ir.dialects.buffer import build, forms, ops
from scaly_ir.dialects.buffer.types import INDEX, ValueType
from scaly_ir.dialects.matrix.ops import INIT
from scaly_ir.dialects.matrix.words import TERMINALS
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.attribute_text import Own, Unusual, read_attrs
from scaly_ir.text.generic import NO_TYPE
from scaly_ir.text.generic_reader import GenericReader
from scaly_ir.types import DTYPES, MemRefType

_TYPES: Final[dict[str, Any]] = {NO_TYPE: None, str(INDEX): INDEX, **{str(dtype): dtype for dtype in DTYPES}}
_MAPS: Final = Own(PREFIX, next(found[1] for found in TERMINALS if found[0] == "MAP"), read_map)


class Reader(GenericReader):
    """One reading."""

    bodies = frozenset([op.name for op in (ops.MODULE, ops.FUNC, ops.REGION, FOR, *Op.get_attr_map(INIT))])

    def __init__(self) -> None:
        super().__init__()
        self.statements: list[Node] = []
        self._attrs: dict[str | None, Attrs] = {None: NO_ATTRS}

    def make(self, op: str, operands: tuple[Node, ...], attrs: str | None, type_: str) -> Node:
        """Return the node with these operands, and with attributes and type as they are written."""
        given = self._attrs.get(attrs)
        if given is None:
            given = self._attrs[attrs] = read_attrs(attrs or "", own=_MAPS)
        node = intern_node(Op.get(op), operands, given, _type(type_))
        if op not in self.bodies and build.region_of(node) is not None:
            raise Unusual
        return node

    def add(self, name: str | None, node: Node) -> None:
        """Take a function or module."""
        if name is not None:
            raise Unusual
        self.statements.append(node)

    def lead_of(self, node: Node) -> int:
        """Return how many operands of a node with a body come before the body."""
        lead = forms.lead_of(node)
        if lead is None or any([operand.op.name in self.bodies for operand in node.args[:lead]]):
            raise Unusual
        return lead

    def is_operation(self, node: Node) -> bool:
        """Tell whether a node in a body, or in none, has a place of its own."""
        return forms.is_operation(node)


@lru_cache(maxsize=1024)
def _type(text: str) -> ValueType | None:
    if text in _TYPES:
        found: ValueType | None = _TYPES[text]
        return found
    read = MemRefType.read(text)
    if read.space != "global":
        raise Unusual
    return read


def read(text: str) -> tuple[Node, Reader] | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader()
    try:
        reader.read(text)
    except (Unusual, ValueError, KeyError, IndexError, AttributeError):
        return None
    found = reader.statements
    if len(found) == 1 and found[0].op is ops.MODULE:
        return found[0], reader
    return (build.module(found), reader) if found and all([node.op is ops.FUNC for node in found]) else None
