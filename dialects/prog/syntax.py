"""The grammar-driven reader of `prog`: what each rule of ``assembly.lark`` does, and the words for its messages.

It reads everything the language allows and is the source of every diagnostic about text. Meaning is the `Assembler`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from lark import Token

from scaly_ir.attributes import Attrs, AttrValue
from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.assembler import Assembler
from scaly_ir.dialects.prog.language import LANGUAGE
from scaly_ir.dialects.prog.scalar_actions import ScalarActions
from scaly_ir.dialects.prog.scalars import Item, Literal, Place
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.text.attribute_actions import Given, Range, place_of
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean
from scaly_ir.text.lalr import Driver
from scaly_ir.text.language import Piece
from scaly_ir.text.locations import Part
from scaly_ir.text.source import Source
from scaly_ir.text.spelling import LiteralError, read_int
from scaly_ir.types import FLOAT64, INT64, MemRefError, MemRefType


class _Param(NamedTuple):
    """A parameter as read: its name and type and where they stand."""

    name: str
    memref: MemRefType
    name_at: Range
    type_at: Range


class _Actions(ScalarActions):
    """What the rules of `prog` mean, besides those of attributes and scalars.

    The head of a module or procedure is marked as None: its node does not exist before the end of the body.
    """

    assembler: Assembler

    def __init__(self, *, marking: bool) -> None:
        super().__init__(LANGUAGE, marking=marking)
        self._indices: dict[Range, tuple[Range, Range]] = {}
        """For the range of a place in a buffer, the ranges of the buffer's name and of the index."""
        self.assembler = Assembler(self._fail, self._mark if marking else None)
        self._programs: list[Range] = []
        """Where modules in the generic form stand."""
        self._empty_blocks: list[Range] = []

    def _mark(self, node: Node | None, at: Any, part: Part) -> None:
        super()._mark(node, at, part)
        if part == "" and at in self._indices and node is not None and node.op is ops.VIEW:
            name, index = self._indices[at]
            self.spans.extend([(node, "buffer", name), (node, 0, index)])

    def start(self, parts: list[Any], at: Range) -> None:
        """The whole file."""

    def module_open(self, parts: list[Any], at: Range) -> None:
        attrs = self._checked_attrs(ops.PROGRAM, parts)
        self.assembler.open_module(attrs, *at)
        self._mark_parts(None, attrs.places)

    def proc_open(self, parts: list[Any], at: Range) -> None:
        params = [part.value for part in parts if isinstance(part, Piece) and isinstance(part.value, _Param)]
        attrs = self._checked_attrs(ops.PROC, parts)
        pairs = [(param.name, param.memref) for param in params]
        declared = self.assembler.open_proc(self._read_name(parts[1]), pairs, attrs, *at)
        self._mark_parts(None, {**attrs.places, "name": place_of(parts[1])})
        for position, (node, param) in enumerate(zip(declared, params, strict=True)):
            self._mark_parts(None, {position: param.name_at})
            self._mark_parts(node, {"": (param.name_at[0], param.type_at[1]), "name": param.name_at})
            self._mark_parts(node, dict.fromkeys(("shape", "address_space"), param.type_at))

    def param(self, parts: list[Any], at: Range) -> _Param:
        return _Param(self._read_name(parts[0]), self._memref(parts[1]), place_of(parts[0]), place_of(parts[1]))

    def _close(self, parts: list[Any], at: Range) -> None:
        self.assembler.close()

    module = proc = loop = _close

    def loop_open(self, parts: list[Any], at: Range) -> None:
        bounds = [part for part in parts if isinstance(part, Piece) and not isinstance(part.value, Given)]
        attrs = self._checked_attrs(ops.RANGE, parts)
        name = self._read_name(parts[1])
        node = self.assembler.open_for(name, [bound.value for bound in bounds], attrs, *at)
        self._mark_parts(node, {"": at, "name": place_of(parts[1]), **attrs.places})
        self._mark_operands(node, bounds)

    def buffer(self, parts: list[Any], at: Range) -> None:
        memref = self._memref(parts[2])
        init: Mapping[str, AttrValue] = {}
        places: Mapping[str, Range] = {}
        if len(parts) > 3 and isinstance(parts[3].value, Given):
            init, places = parts[3].value, parts[3].value.places
        elif len(parts) > 3:
            init = {"values": self.assembler.table(parts[3].value, memref.dtype)}
            places = {"values": place_of(parts[3])}
        node = self.assembler.buffer(self._read_name(parts[0]), memref, **init)
        types = dict.fromkeys(("shape", "address_space"), place_of(parts[2]))
        self._add(node, at, {"name": place_of(parts[0]), **types, **places})

    def _add(self, node: Node, at: Range, places: Mapping[Any, Range]) -> None:
        self._mark_parts(node, {"": at, **places})
        self.assembler.add(node, *at)

    def alias(self, parts: list[Any], at: Range) -> Given:
        values = {"alias_of": self._read_name(parts[1]), "alias_offset": self._integer(parts[3])}
        return Given({"alias_of": place_of(parts[1]), "alias_offset": place_of(parts[3])}, values)

    def workspace(self, parts: list[Any], at: Range) -> Given:
        return Given({"workspace_offset": place_of(parts[2])}, {"workspace_offset": self._integer(parts[2])})

    def table(self, parts: list[Any], at: Range) -> list[Literal]:
        return [part.value for part in parts[1:]]

    def entry(self, parts: list[Any], at: Range) -> Literal:
        return Literal(str(parts[0]), at)

    def elided(self, parts: list[Any], at: Range) -> Given:
        return Given({"elided": at}, {"elided": self._integer(parts[2])})

    def store(self, parts: list[Any], at: Range) -> None:
        value, place, dtype = parts[1:]
        node = self.assembler.store(value.value, place.value, self._dtype(dtype), place_of(value))
        self._add(node, at, {0: place_of(place), 1: place_of(value)})

    def store_pair(self, parts: list[Any], at: Range) -> None:
        first, second, place, token = parts[1:]
        dtype = self._dtype(token)
        node = self.assembler.store_pair(
            first.value, second.value, place.value, dtype, place_of(first), place_of(second)
        )
        self._add(node, at, {0: place_of(place), 1: place_of(first), 2: place_of(second)})

    def assign(self, parts: list[Any], at: Range) -> None:
        dtype = self._dtype(parts[3])
        attrs = self._checked_attrs(ops.ASSIGN, parts)
        name = self._read_name(parts[0])
        node = self.assembler.assign(name, parts[2].value, dtype, attrs, place_of(parts[2]))
        self._add(node, at, {"target": place_of(parts[0]), 0: place_of(parts[2]), **attrs.places})

    def call(self, parts: list[Any], at: Range) -> None:
        arguments = [part for part in parts[2:] if not isinstance(part.value, Given)]
        attrs = self._checked_attrs(ops.CALL, parts)
        node = self.assembler.call(self._read_name(parts[1]), [argument.value for argument in arguments], attrs)
        self._add(node, at, {"callee": place_of(parts[1]), **attrs.places})
        self._mark_operands(node, arguments)

    def whole(self, parts: list[Any], at: Range) -> str:
        return self._read_name(parts[0])

    def view(self, parts: list[Any], at: Range) -> Place:
        self._indices[at] = (place_of(parts[0]), place_of(parts[1]))
        return self.assembler.place(self._read_name(parts[0]), parts[1].value, at)

    def load(self, parts: list[Any], at: Range) -> Item:
        return self.assembler.load(parts[1].value, at)

    def _memref(self, token: Token) -> MemRefType:
        try:
            return MemRefType.read(str(token))
        except MemRefError as error:
            start = place_of(token)[0]
            self._fail(str(error), (start + error.start, start + error.end), "memref")
            return MemRefType((1,), FLOAT64)

    def _integer(self, token: Token) -> int:
        try:
            return read_int(str(token), INT64)
        except LiteralError as error:
            self._fail(str(error), place_of(token), "literal-range")
            return 0

    # --- the generic form ---------------------------------------------------------------------------------------------

    def generic(self, parts: list[Any], at: Range) -> Node:
        operands = [part for part in parts[1:] if isinstance(part, Piece) and not isinstance(part.value, Given)]
        given = [part.value for part in parts if isinstance(part, Piece) and isinstance(part.value, Given)]
        attrs = given[0] if given else Given({}, {})
        dtype = None if parts[-1].type == "NONE" else self._dtype(parts[-1])
        op = self._op(parts[0])
        if op is None:
            return build.var("?", FLOAT64)
        node = intern_node(op, tuple([operand.value for operand in operands]), Attrs(attrs), dtype)
        lead = build.lead_of(node)
        if lead is not None:
            self._bodies[at] = operands[lead:]
        self._mark_parts(node, {"": at, "op": place_of(parts[0]), **attrs.places, "type": place_of(parts[-1])})
        self._mark_operands(node, operands)
        return node

    def _op(self, token: Token) -> Op | None:
        name = self._string(token)
        try:
            op = Op.get(name)
        except AttributeError:
            near = did_you_mean(name, Op.list_op_names())
            self._fail(f"unknown operation '{name}'{near}", place_of(token), "unknown-op")
            return None
        if not ops.may_be_generic(op):
            self._fail(f"operation '{name}' is not allowed in dialect 'prog'", place_of(token), "op-dialect")
            return None
        return op

    def generic_statement(self, parts: list[Any], at: Range) -> None:
        """Add a node, of which the operations are counted as if each had been read alone."""
        whole = parts[0]
        self._count_operations(whole, build.is_operation)
        self.assembler.include(whole.value)
        if whole.value.op is ops.PROGRAM:
            self._programs.append(at)
        if whole.value.op is ops.BLOCK and not whole.value.args:
            self._empty_blocks.append(at)

    def check_forms(self) -> None:
        """Complain of what stands in the generic form where no text has it; all was read."""
        if self._programs and len(self.assembler.statements) > 1:
            self._fail(LANGUAGE.forms, self._programs[-1], "syntax")
        if self._empty_blocks:
            self._fail("expected statements in 'prog.block', found none", self._empty_blocks[0], "syntax")

    # --- attributes ---------------------------------------------------------------------------------------------------

    def _checked_attrs(self, op: Op, parts: list[Any]) -> Given:
        for part in parts:
            if isinstance(part, Piece) and isinstance(part.value, Given):
                for key in part.value:
                    spec = (op.attr_specs or {}).get(key)
                    if spec is not None and not spec.printed:
                        message = (
                            f"attribute '{key}' is written by the syntax of '{parts[0]}', not among its attributes"
                        )
                        self._fail(message, part.value.places[key], "attribute")
                return part.value
        return Given({}, {})


def read(source: Source) -> tuple[Node | None, Assembler, list[Diagnostic]]:
    """Read any text; the root is None when there are diagnostics."""
    actions = _Actions(marking=False)
    actions.driver = Driver(LANGUAGE, source, actions)
    actions.driver.run()
    actions.check_forms()
    if actions.driver.diagnostics:
        actions.assembler.close_all()
        return None, actions.assembler, actions.driver.diagnostics
    return actions.assembler.finish(), actions.assembler, []


def statement_spans(source: Source, names: Mapping[str, Node]) -> list[tuple[Node | None, Part, Range]]:
    """Read one statement (or head with an empty body) and return where each of its nodes, and what of them, stands.

    `names` are the declarations that its text depends on; the head of a module or procedure counts as None.
    """
    actions = _Actions(marking=True)
    actions.assembler.names.update(names)
    actions.driver = Driver(LANGUAGE, source, actions)
    actions.driver.run()
    return actions.spans
