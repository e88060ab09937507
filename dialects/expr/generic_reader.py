"""The fast reader of `expr` text in the generic form. It never reports anything; see `text.generic_reader`."""

from __future__ import annotations

import re
from typing import Any, Final

from scaly_ir.attributes import NO_ATTRS, Attrs
from scaly_ir.dialects.expr import ops, value_reader
from scaly_ir.dialects.expr.call_typing import function_fault
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.expr.places import Text
from scaly_ir.dialects.expr.reader import operator_named
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.text.attribute_text import Unusual, read_attributes
from scaly_ir.text.generic import NO_TYPE
from scaly_ir.text.generic_reader import GenericReader

_CONTAINERS: Final = {op.name: op for op in ops.CONTAINERS}

_const = re.compile(r'\{(?:lowering="(auto|scalar|block)", )?value=([^"{}=]*)\}').fullmatch


class Reader(GenericReader):
    """One reading: a named node for each operation and function, and one without a name at the end."""

    nested = False

    def __init__(self) -> None:
        super().__init__()
        self.nodes: list[Node] = []
        self.root: Node | None = None
        self._types: dict[str, TensorType] = {}
        self._ops: dict[str, Op] = {}
        self._attrs: dict[str | None, Attrs] = {None: NO_ATTRS}

    def make(self, op: str, operands: tuple[Node, ...], attrs: str | None, type_: str) -> Node:
        """Return the node with these operands, and with attributes and type as they are written."""
        if type_ == NO_TYPE:
            return self._container(_CONTAINERS[op], operands, attrs)
        operator = self._ops.get(op)
        if operator is None:
            operator = self._ops[op] = operator_named(op)
        type_of = self._types.get(type_)
        if type_of is None:
            type_of = self._types[type_] = TensorType.read(type_, {})
        for operand in operands:
            if operand.type is None:
                raise Unusual
        # What these mean depends on the type, so that what others made of the same text is none of theirs.
        given = None if operator in (ops.CONST, ops.GATHER) else self._attrs.get(attrs)
        return intern_node(operator, operands, given or self._read_attrs(operator, attrs, type_of), type_of)

    def _container(self, op: Op, operands: tuple[Node, ...], attrs: str | None) -> Node:
        if op is ops.RETURN and (attrs is not None or not operands):
            raise Unusual
        if op is ops.REGION and not operands:
            raise Unusual
        if any([(operand.op is ops.FUNC) is not (op is ops.MODULE) for operand in operands]):
            raise Unusual
        node = intern_node(op, operands, self._read_attrs(op, attrs, None), None)
        if op is ops.FUNC and function_fault(node) is not None:
            raise Unusual
        return node

    def _read_attrs(self, op: Op, text: str | None, type_: TensorType | None) -> Attrs:
        if text is None:
            return NO_ATTRS
        values: dict[str, Any]
        if type_ is not None and op is ops.CONST:
            found = _const(text)
            if found is None:
                raise Unusual
            values = {} if found[1] is None else {"lowering": found[1]}
            values["value"] = value_reader.read_table(found[2], type_)
        elif type_ is not None and op is ops.GATHER and "fill=" in text:
            values = value_reader.read_attributes(text, type_.dtype)
        else:
            values = read_attributes(text, None if type_ is None else self._function)
        if type(values.get("lowering")) is str and values["lowering"] == "auto":
            del values["lowering"]  # what is left out
        attrs = Attrs(values)
        if op is not ops.CONST and op is not ops.GATHER and "%" not in text:
            self._attrs[text] = attrs
        return attrs

    def _function(self, name: str) -> Node:
        function = self.names[name]
        if function.op is not ops.FUNC:
            raise Unusual
        return function

    def add(self, name: str | None, node: Node) -> None:
        """Take an operation or function, or what stands at the end."""
        if self.root is not None:
            raise Unusual
        if name is None and node.type is None:
            self.root = make_module([node], bare=True) if node.op is ops.FUNC else node
            return
        if name is None or name in self.names or '"' in name or (node.type is None and node.op is not ops.FUNC):
            raise Unusual
        self.names[name] = node
        self.nodes.append(node)


def read(text: str) -> Text | None:
    """Read a text without mistakes; None when it is not for this reader."""
    reader = Reader()
    try:
        reader.read(text)
    except (Unusual, ValueError, KeyError, IndexError):
        return None
    if reader.root is None:
        return None
    starts, ends = list(reader.starts), list(reader.ends)
    at = (0, 0) if reader.root.op is ops.RETURN else (starts[-1], ends[-1])
    return Text(reader.root, at, reader.nodes, starts[:-1], ends[:-1])
