"""What `prog` text means: from pieces of syntax to nodes, for every reader of the format.

The fast reader and the grammar-driven parser recognise text; both hand what they recognise to one `Assembler`, so they
cannot disagree on meaning. It brings names into scope and out of it and collects the statements of the open blocks;
`Scalars` are its part that knows what stands in a statement. It reports mistakes through `fail` and carries on with a
stand-in value; it never raises for what a user wrote.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scaly_ir.attributes import NO_ATTRS, Attrs, AttrValue, Word, named
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.blocks import Blocks
from scaly_ir.dialects.prog.scalars import At, Item, Literal, Place
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.types import FLOAT64, INT64, DType, MemRefType

DECLARE: Final = Attrs({"declare": True})
"""The attributes of nearly every assignment."""
KINDS: Final = {kind: Attrs({"kind": Word(kind)}) for kind in ops.RANGE_KINDS}
"""The attributes of nearly every loop."""

_PRINTED_BY_SYNTAX: Final = "attribute '{}' is written by the syntax of '{}', not among its attributes"


class Assembler(Blocks):
    """The state of one reading of `prog`."""

    def add(self, statement: Node, start: int, end: int) -> None:
        """Append a statement to the innermost open block."""
        self.statements.append(statement)
        self.starts.append(start)
        self.ends.append(end)

    def include(self, node: Node) -> None:
        """Append a statement whose operations were counted, and bring into scope what it declares."""
        self.statements.append(node)
        name = node.attrs.get("target" if node.op is ops.ASSIGN else "name")
        if type(name) is str and node.op is ops.ASSIGN and "declare" in node.attrs:
            self.declare(name, intern_node(ops.VAR, (), named("name", name), node.type))
        elif type(name) is str and node.op is ops.BUFFER:
            self.declare(name, node)

    def value(self, item: Item, dtype: DType, at: At = None) -> Node:
        """Return the value of a statement whose suffix says `dtype`."""
        node = item if type(item) is Node else self.typed(item, dtype)
        if node.type is not dtype:
            typed = "has no type" if node.type is None else f"is {node.type}"
            self.fail(f"the value {typed}, but the statement says {dtype}", at, "statement-dtype")
        return node

    def store(self, item: Item, place: Place, dtype: DType, at: At = None) -> Node:
        """Return a store."""
        return intern_node(ops.STORE, (self.view(place, dtype), self.value(item, dtype, at)), NO_ATTRS, dtype)

    def store_pair(
        self, first: Item, second: Item, place: Place, dtype: DType, first_at: At = None, second_at: At = None
    ) -> Node:
        """Return a store of two adjacent elements."""
        values = (self.value(first, dtype, first_at), self.value(second, dtype, second_at))
        return intern_node(ops.STORE_PAIR, (self.view(place, dtype), *values), NO_ATTRS, dtype)

    def assign(self, target: str, item: Item, dtype: DType, attrs: Mapping[str, AttrValue], at: At = None) -> Node:
        """Return an assignment; with ``declare`` the target is in scope from the next statement on."""
        value = self.value(item, dtype, at)
        if attrs is DECLARE:
            given = DECLARE.followed_by("target", target)
        else:
            kept = {key: value for key, value in attrs.items() if not (key == "declare" and value is False)}
            given = Attrs({**kept, "target": target})
        node = intern_node(ops.ASSIGN, (value,), given, dtype)
        if "declare" in given:
            self.declare(target, intern_node(ops.VAR, (), named("name", target), dtype))
        return node

    def declare(self, name: str, node: Node) -> None:
        """Bring a name into scope until the innermost block is closed."""
        self._scopes.define(name, node)

    def buffer(self, name: str, memref: MemRefType, **init: AttrValue) -> Node:
        """Return the declaration of a buffer and bring its name into scope."""
        node = build._buffer(name, memref.shape, memref.dtype, memref.space, **init)
        self.declare(name, node)
        return node

    def table(self, items: Sequence[Literal], dtype: DType) -> tuple[float, ...]:
        """Return the values of a table whose entries are written as `items`."""
        return tuple([self.constant(item, dtype).attrs["value"] for item in items])

    def call(self, callee: str, arguments: Sequence[str | Place], attrs: Mapping[str, AttrValue]) -> Node:
        """Return a call; an argument is the name of a whole buffer, or a location."""
        operands = []
        for argument in arguments:
            if isinstance(argument, Place):
                operands.append(self.view(argument, FLOAT64))
            else:
                declared = self.names.get(argument)
                operands.append(build.var(argument, FLOAT64) if declared is None else declared)
        return intern_node(ops.CALL, tuple(operands), Attrs({**attrs, "callee": callee}), None)

    def open_module(self, attrs: Mapping[str, AttrValue], start: int, end: int) -> None:
        """Begin a module."""
        given = dict(attrs)
        self.begin(
            lambda body: intern_node(ops.PROGRAM, tuple(body), Attrs({**given, "proc_count": len(body)}), None),
            start,
            end,
        )

    def open_proc(
        self, name: str, params: Sequence[tuple[str, MemRefType]], attrs: Mapping[str, AttrValue], start: int, end: int
    ) -> list[Node]:
        """Begin a procedure and return its parameters."""
        declared: list[Node] = []
        header = Attrs({**attrs, "name": name, "param_count": len(params)})
        self.begin(lambda body: intern_node(ops.PROC, (*declared, *body), header, None), start, end)
        declared.extend([self.buffer(param, memref) for param, memref in params])
        return declared

    def open_for(self, name: str, bounds: Sequence[Item], attrs: Mapping[str, AttrValue], start: int, end: int) -> Node:
        """Begin a loop and return its range."""
        operands = tuple([self.typed(bound, INT64) for bound in bounds])
        # Attributes that are frozen already are one of KINDS.
        given = attrs.followed_by("name", name) if isinstance(attrs, Attrs) else Attrs({**attrs, "name": name})
        domain = intern_node(ops.RANGE, operands, given, INT64)
        self.begin(lambda body: intern_node(ops.FOR, (domain, *body), NO_ATTRS, None), start, end)
        self.declare(name, intern_node(ops.VAR, (), named("name", name), INT64))
        return domain

    def close(self) -> None:
        """End the innermost module, procedure or loop; the names it declared go out of scope."""
        finished = self.end()
        self.statements.append(finished)  # to those of the block around

    def close_all(self) -> None:
        """End what is still open, in a text with mistakes."""
        while self._blocks:
            self.close()

    def finish(self) -> Node:
        """Return the root of what was read: a module, bare procedures in a module marked so, or a fragment."""
        read = self.statements
        if len(read) == 1 and read[0].op is ops.PROGRAM:
            return read[0]
        if all([statement.op is ops.PROC for statement in read]):
            return build.program(read, bare=True)
        return build.block(read)


def syntax_attrs(op: Op, attrs: Mapping[str, AttrValue]) -> str | None:
    """Return what is wrong with attributes written for `op` that its syntax writes elsewhere, or None."""
    specs = op.attr_specs or {}
    for key in attrs:
        if key in specs and not specs[key].printed:
            return _PRINTED_BY_SYNTAX.format(key, op.name)
    return None
