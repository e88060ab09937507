"""What the rules of ``assembly.lark`` mean: functions, storage, elements, and operations that are written alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from lark import Token

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.buffer import build, forms, ops
from scaly_ir.dialects.buffer.assembler import UNDEF, Assembler, Operand
from scaly_ir.dialects.buffer.types import INDEX, ValueType
from scaly_ir.dialects.prog.scalar_actions import ScalarActions
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.attribute_actions import Given, Range, place_of
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.language import Language, Piece
from scaly_ir.types import FLOAT64, DType, MemRefError, MemRefType


class Param(NamedTuple):
    """A parameter or result as read: its name and type and where they stand."""

    name: str
    type: ValueType
    name_at: Range
    type_at: Range

    @property
    def binding(self) -> build.Binding:
        """The name with its type."""
        return build.Binding(self.name, self.type)


class Output(Param):
    """A result of a function."""


class Names(tuple[str, ...]):
    """The names that a statement binds, and where they stand."""

    at: Range = (0, 0)


class Element(NamedTuple):
    """An element of a buffer as read."""

    name: str
    name_at: Range
    indices: Sequence[Piece]


class Head(NamedTuple):
    """The head of an operation as read."""

    op: Op
    names: Names
    operands: Sequence[Piece]
    attrs: Given
    type: ValueType | None


_NO_NAMES: Final = Names()
_NO_ATTRS: Final = Given({}, {})


class BufferActions(ScalarActions):
    """One method for each rule.

    What is marked of the head of a function or of a statement with a region is marked as None: its node does not exist
    before the end of the region.
    """

    assembler: Assembler

    def __init__(self, language: Language, *, marking: bool) -> None:
        super().__init__(language, marking=marking)
        self.assembler = Assembler(self._fail, self._mark if marking else None)

    # --- functions ----------------------------------------------------------------------------------------------------

    def start(self, parts: list[Any], at: Range) -> None:
        """Read the whole file."""

    def func_open(self, parts: list[Any], at: Range) -> None:
        """Begin a function."""
        read = [part.value for part in parts if isinstance(part, Piece)]
        outputs = [each for each in read if isinstance(each, Output)]
        params = [each for each in read if not isinstance(each, Output)]
        declared = self.assembler.open_func(
            self._read_name(parts[1]), [each.binding for each in params], [each.binding for each in outputs], *at
        )
        self._mark_parts(None, {"name": place_of(parts[1])})
        self._mark_declarations(declared, [*outputs, *params])

    def _mark_declarations(self, declared: Sequence[Node], read: Sequence[Param]) -> None:
        for number, (node, each) in enumerate(zip(declared, read, strict=True)):
            whole = (each.name_at[0], each.type_at[1])
            parts = {"": whole, "type": each.type_at, build.declared_part(number): each.name_at}
            self._mark_parts(node, parts)

    def func(self, parts: list[Any], at: Range) -> None:
        """End the innermost region."""
        self.assembler.close()

    def param(self, parts: list[Any], at: Range) -> Param:
        """Read a parameter."""
        return Param(self._read_name(parts[0]), self._type(parts[1]), place_of(parts[0]), place_of(parts[1]))

    def output(self, parts: list[Any], at: Range) -> Output:
        """Read a result of a function."""
        return Output(*self.param(parts, at))

    def _type(self, token: Token) -> ValueType:
        if token.type == "DTYPE":
            return DType(str(token))
        return INDEX if token.type == "INDEX" else self._memref(token)

    def _memref(self, token: Token) -> MemRefType:
        start = place_of(token)[0]
        try:
            read = MemRefType.read(str(token))
        except MemRefError as error:
            self._fail(str(error), (start + error.start, start + error.end), "memref")
            return MemRefType((1,), FLOAT64)
        if read.space != "global":
            self._fail(f"a buffer has no address space here, found '{read.space}'", place_of(token), "memref")
        return MemRefType(read.shape, read.dtype)

    # --- statements ---------------------------------------------------------------------------------------------------

    def results(self, parts: list[Any], at: Range) -> Names:
        """Read the names that a statement binds."""
        names = Names([self._read_name(part) for part in parts])
        names.at = (place_of(parts[0])[0], place_of(parts[-1])[1])
        return names

    def _names(self, parts: list[Any]) -> tuple[Names, list[Any]]:
        """Return the names that a statement binds, and what is behind them."""
        if parts and isinstance(parts[0], Piece) and isinstance(parts[0].value, Names):
            return parts[0].value, parts[1:]
        return _NO_NAMES, parts

    def _add(self, node: Node, at: Range, parts: list[Any], places: Mapping[Any, Range]) -> None:
        if parts and isinstance(parts[0], Piece) and isinstance(parts[0].value, Names):
            places = {**places, "results": parts[0].value.at}
        self._mark_parts(node, {"": at, **places})
        self.assembler.add(node, *at)

    def _one(self, names: Names, at: Range, op: Op) -> Names:
        """Return names, after a message where an operation with one result is to bind several."""
        if len(names) > 1:
            self._fail(f"'{op.name}' has one result, but {len(names)} names for it", at, "results")
        return Names(names[:1])

    def alloc(self, parts: list[Any], at: Range) -> None:
        """Read an allocation."""
        names, rest = self._names(parts)
        node = build.statement(ops.ALLOC, (), self._memref(rest[1]), self._one(names, at, ops.ALLOC))
        self._add(node, at, parts, {"type": place_of(rest[1])})

    def place(self, parts: list[Any], at: Range) -> Element:
        """Read an element of a buffer."""
        return Element(self._read_name(parts[0]), place_of(parts[0]), parts[1:])

    def read(self, parts: list[Any], at: Range) -> None:
        """Read a read of an element."""
        names, (_, place, dtype) = self._names(parts)
        element: Element = place.value
        args = self._element(element, self._dtype(dtype))
        node = build.statement(ops.READ, args, self._dtype(dtype), self._one(names, at, ops.READ))
        self._add(node, at, parts, {**_element_places(element, 0), "type": place_of(dtype)})

    def _element(self, element: Element, dtype: DType) -> list[Node]:
        items = [piece.value for piece in element.indices]
        return self.assembler.element(element.name, items, dtype, element.name_at)

    def write(self, parts: list[Any], at: Range) -> None:
        """Read a write of an element."""
        _, stored, place, token = parts
        dtype, element = self._dtype(token), place.value
        value = self.assembler.operand(stored.value, dtype, place_of(stored))
        node = build.statement(ops.WRITE, (value, *self._element(element, dtype)), dtype)
        self._add(node, at, parts, {0: place_of(stored), **_element_places(element, 1), "type": place_of(token)})

    def binding(self, parts: list[Any], at: Range) -> None:
        """Read a scalar that gets a name."""
        names, (scalar, token) = self._names(parts)
        node = self.assembler.let(self._one(names, at, ops.LET), scalar.value, self._dtype(token), place_of(scalar))
        self._add(node, at, parts, {0: place_of(scalar), "type": place_of(token)})

    def undef(self, parts: list[Any], at: Range) -> Operand:
        """Read a value that must not be read."""
        return UNDEF

    def operation(self, parts: list[Any], at: Range) -> None:
        """Read an operation that is written as an application."""
        names, rest = self._names(parts)
        head = self._head(names, rest, at)
        if head is None:
            return
        if self.assembler.is_scalar(head.op, head.type):
            assert isinstance(head.type, DType)
            item = self._registered([rest[0], *head.operands], head.attrs, rest[-1], at)
            node = self.assembler.let(self._one(names, at, head.op), item, head.type, at)
            self._add(node, at, parts, {})
            return
        operands = [piece.value for piece in head.operands]
        node = self.assembler.operation(head.op, operands, head.type, head.names, head.attrs)
        self._add(node, at, parts, self._head_places(head, rest))

    def _head(self, names: Names, parts: list[Any], at: Range) -> Head | None:
        """Return the head of an operation; None after a message."""
        op = self.assembler.find(str(parts[0]), place_of(parts[0]))
        if op is None:
            for name in names:  # what it would have bound is known, whatever it is
                self.assembler.names.pop(name, None)
            return None
        operands = [part for part in parts[1:] if isinstance(part, Piece) and not isinstance(part.value, Given)]
        attrs = next((part.value for part in parts if isinstance(part, Piece) and isinstance(part.value, Given)), None)
        tokens = [part for part in parts[1:] if isinstance(part, Token) and part.type in ("MEMREF", "DTYPE", "INDEX")]
        self._check_attrs(op, attrs or _NO_ATTRS)
        if names and op.has_attr(ops.KINDS) and not op.has_attr(ops.RESULT):
            self._fail(f"'{op.name}' has no result to bind", at, "results")
            names = _NO_NAMES
        return Head(
            op, self._one(names, at, op), operands, attrs or _NO_ATTRS, self._type(tokens[0]) if tokens else None
        )

    def _check_attrs(self, op: Op, attrs: Given) -> None:
        for key in attrs:
            spec = (op.attr_specs or {}).get(key)
            if spec is not None and not spec.printed:
                message = f"attribute '{key}' is written by the syntax of '{op.name}', not among its attributes"
                self._fail(message, attrs.places[key], "attribute")

    def _head_places(self, head: Head, parts: list[Any]) -> dict[Any, Range]:
        places: dict[Any, Range] = {position: place_of(piece) for position, piece in enumerate(head.operands)}
        if isinstance(parts[-1], Token):
            places["type"] = place_of(parts[-1])
        return {**places, **head.attrs.places}

    def ended(self, parts: list[Any], at: Range) -> None:
        """Read what ends a region."""
        node = self.assembler.ended(Op.get(str(parts[0])), [part.value for part in parts[1:]])
        self._add(node, at, parts, {position: place_of(part) for position, part in enumerate(parts[1:])})

    # --- the generic form ---------------------------------------------------------------------------------------------

    def generic(self, parts: list[Any], at: Range) -> Node:
        """Read a node."""
        operands = [part for part in parts[1:] if isinstance(part, Piece) and not isinstance(part.value, Given)]
        given = [part.value for part in parts if isinstance(part, Piece) and isinstance(part.value, Given)]
        attrs = given[0] if given else _NO_ATTRS
        op = self._op(parts[0])
        if op is None:
            return build.value("?", FLOAT64)
        type_ = None if parts[-1].type == "NONE" else self._type(parts[-1])
        node = intern_node(op, tuple([operand.value for operand in operands]), Attrs(attrs), type_)
        lead = forms.lead_of(node)
        if lead is not None:
            self._bodies[at] = operands[lead:]
        self._mark_parts(node, {"": at, "op": place_of(parts[0]), **attrs.places, "type": place_of(parts[-1])})
        self._mark_operands(node, operands)
        return node

    def _op(self, token: Token) -> Op | None:
        name = self._string(token)
        try:
            return Op.get(name)
        except AttributeError:
            self._fail(
                f"unknown operation '{name}'{did_you_mean(name, Op.list_op_names())}", place_of(token), "unknown-op"
            )
            return None

    def generic_statement(self, parts: list[Any], at: Range) -> None:
        """Add a node, of which the operations are counted as if each had been read alone."""
        self._count_operations(parts[0], forms.is_operation)
        self.assembler.include(parts[0].value)

    def check_forms(self) -> None:
        """Complain of statements outside a function; all was read."""
        read = self.assembler.statements
        if len(read) == 1 and read[0].op is ops.MODULE:
            return
        at = 0
        for node in read:
            if node.op is not ops.FUNC:
                place = (self.assembler.starts[at], self.assembler.ends[at])
                self._fail("expected a function; this stands outside of one", place, "syntax")
                return
            at += len(list(forms.operations(node)))


def _element_places(element: Element, first: int) -> dict[Any, Range]:
    places = {first + 1 + position: place_of(piece) for position, piece in enumerate(element.indices)}
    return {first: element.name_at, **places}
