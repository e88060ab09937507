"""The grammar-driven reader of `prog`: what each rule of ``assembly.lark`` does, and the words for its messages.

It reads everything the language allows and is the source of every diagnostic about text. Meaning is the `Assembler`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from lark import Token

from scaly_ir.attributes import Attrs, AttrValue
from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.assembler import Assembler, Item, Literal, Place, syntax_attrs, word_or_constant
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean
from scaly_ir.text.lalr import Driver, Language, Piece
from scaly_ir.text.source import Source
from scaly_ir.text.spelling import LiteralError, read_float, read_int, read_name, read_string
from scaly_ir.types import DTYPES, FLOAT64, INT64, DType, MemRefType

_OPERATORS: Final = {f"prog.{name}": Op.get(f"prog.{name}") for name in SCALAR_OPS if name != "cast"}

_KEYWORDS: Final = {
    "prog.module": "MODULE",
    "prog.proc": "PROC",
    "prog.for": "FOR",
    "prog.buffer": "BUFFER",
    "prog.alias": "ALIAS",
    "prog.workspace": "WORKSPACE",
    "prog.store": "STORE",
    "prog.store_pair": "STORE_PAIR",
    "prog.assign": "ASSIGN",
    "prog.call": "CALL",
    "prog.load": "LOAD",
    "prog.cast": "CAST",
    "prog.const": "CONST",
    "to": "TO",
    "step": "STEP",
    "offset": "OFFSET",
    "dense": "DENSE",
    "elided": "ELIDED",
}

_STATEMENT: Final = frozenset({"FOR", "STORE", "STORE_PAIR", "CALL", "VALUE"})
_SCALAR: Final = frozenset({"INT", "FLOAT", "VALUE", "LOAD", "OPERATOR", "CAST", "CONST", "NAME", "LPAR"})

LANGUAGE: Final = Language(
    name="prog",
    grammar=Path(__file__).with_name("assembly.lark"),
    keywords=_KEYWORDS,
    operators=tuple(_OPERATORS),
    dtypes=tuple([str(dtype) for dtype in DTYPES]),
    starters=frozenset({"MODULE", "PROC", "FOR", "STORE", "STORE_PAIR", "CALL"}),
    binders=frozenset({"prog.for"}),
    stubs={
        "MODULE": [("MODULE", "prog.module"), ("LBRACE", "{")],
        "PROC": [("PROC", "prog.proc"), ("SYMBOL", "@-"), ("LPAR", "("), ("RPAR", ")"), ("LBRACE", "{")],
        "FOR": [
            *(("FOR", "prog.for"), ("VALUE", "%-"), ("EQUAL", "="), ("INT", "0"), ("TO", "to"), ("INT", "0")),
            *(("STEP", "step"), ("INT", "1"), ("LBRACE", "{"), ("WORD", "kind"), ("EQUAL", "=")),
            *(("WORD", "serial"), ("RBRACE", "}"), ("LBRACE", "{")),
        ],
    },
    groups=[
        (_SCALAR, "a scalar"),
        (_STATEMENT, "a statement"),
        (frozenset({"ALIAS", "WORKSPACE", "DENSE"}), "'prog.alias', 'prog.workspace' or 'dense'"),
        (frozenset({"BUFFER", "ASSIGN"}), "'prog.assign' or 'prog.buffer'"),
    ],
)

_Range = tuple[int, int]


class _Actions:
    """One method for each rule of the grammar, named alike; pieces come without punctuation."""

    def __init__(self) -> None:
        self.driver: Driver
        self.spans: list[tuple[Node | None, str, _Range]] = []
        """Where nodes stand, and parts of them; None for a head whose node is not complete yet."""
        self.keys: dict[str, _Range] = {}
        """Where the attributes stand that were read last."""
        self.assembler = Assembler(self._fail, self._mark)

    def _fail(self, message: str, at: Any, code: str) -> None:
        self.driver.fail(message, at, code)

    def _mark(self, node: Node, at: Any, part: str) -> None:
        self.spans.append((node, part, at))

    def _read_name(self, token: Token) -> str:
        try:
            return read_name(token[1:])
        except LiteralError as error:
            self._fail(str(error), _at(token), "string")
            return "?"

    def start(self, parts: list[Any], at: _Range) -> None:
        """The whole file."""

    def module_open(self, parts: list[Any], at: _Range) -> None:
        self.assembler.open_module(self._checked_attrs(ops.PROGRAM, parts), *at)

    def proc_open(self, parts: list[Any], at: _Range) -> None:
        params: list[tuple[str, MemRefType]] = []
        places = []
        for part in parts:
            if isinstance(part, Piece) and isinstance(part.value, tuple):
                params.append(part.value)
                places.append((part.start, part.end))
        attrs = self._checked_attrs(ops.PROC, parts)
        declared = self.assembler.open_proc(self._read_name(parts[1]), params, attrs, *at)
        for node, place in zip(declared, places, strict=True):
            self._mark(node, place, "")
        self._mark_keys(None, parts)

    def param(self, parts: list[Any], at: _Range) -> tuple[str, MemRefType]:
        return self._read_name(parts[0]), self._memref(parts[1])

    def _close(self, parts: list[Any], at: _Range) -> None:
        self.assembler.close()

    module = proc = loop = _close

    def loop_open(self, parts: list[Any], at: _Range) -> None:
        bounds = [part for part in parts if isinstance(part, Piece) and not isinstance(part.value, dict)]
        attrs = self._checked_attrs(ops.RANGE, parts)
        name = self._read_name(parts[1])
        node = self.assembler.open_for(name, [bound.value for bound in bounds], attrs, *at)
        self._mark(node, at, "")
        self._mark(node, _at(parts[1]), "name")
        self._mark_keys(node, parts)
        for word, bound in zip(("start", "stop", "step"), bounds, strict=True):
            self._mark(node, _at(bound), word)

    def buffer(self, parts: list[Any], at: _Range) -> None:
        memref = self._memref(parts[2])
        init: dict[str, AttrValue] = {}
        if len(parts) > 3:
            kind, value = parts[3].value
            init = {"values": self.assembler.table(value, memref.dtype)} if kind == "table" else value
        node = self.assembler.buffer(self._read_name(parts[0]), memref, **init)
        self._add(node, parts[0], at)

    def _mark_keys(self, node: Node | None, parts: list[Any]) -> None:
        if any([isinstance(part, Piece) and type(part.value) is dict for part in parts]):
            self.spans.extend([(node, key, place) for key, place in self.keys.items()])

    def _add(self, node: Node, head: Token | Piece, at: _Range) -> None:
        self._mark(node, at, "")
        if isinstance(head, Token):
            self._mark(node, _at(head), "name")
        self.assembler.add(node, *at)

    def alias(self, parts: list[Any], at: _Range) -> tuple[str, dict[str, AttrValue]]:
        return "alias", {"alias_of": self._read_name(parts[1]), "alias_offset": self._integer(parts[3])}

    def workspace(self, parts: list[Any], at: _Range) -> tuple[str, dict[str, AttrValue]]:
        return "workspace", {"workspace_offset": self._integer(parts[2])}

    def table(self, parts: list[Any], at: _Range) -> tuple[str, list[Literal]]:
        return "table", [part.value for part in parts[1:]]

    def entry(self, parts: list[Any], at: _Range) -> Literal:
        return Literal(str(parts[0]), at)

    def elided(self, parts: list[Any], at: _Range) -> tuple[str, dict[str, AttrValue]]:
        return "elided", {"elided": self._integer(parts[2])}

    def store(self, parts: list[Any], at: _Range) -> None:
        dtype = self._dtype(parts[3])
        self._add(self.assembler.store(parts[1].value, parts[2].value, dtype, _at(parts[1])), parts[1], at)

    def store_pair(self, parts: list[Any], at: _Range) -> None:
        dtype = self._dtype(parts[4])
        first, second, place = [part.value for part in parts[1:4]]
        self._add(self.assembler.store_pair(first, second, place, dtype, _at(parts[1])), parts[1], at)

    def assign(self, parts: list[Any], at: _Range) -> None:
        dtype = self._dtype(parts[3])
        attrs = self._checked_attrs(ops.ASSIGN, parts)
        name = self._read_name(parts[0])
        node = self.assembler.assign(name, parts[2].value, dtype, attrs, _at(parts[2]))
        self._mark_keys(node, parts)
        self._add(node, parts[0], at)

    def call(self, parts: list[Any], at: _Range) -> None:
        arguments = [part.value for part in parts[2:] if not isinstance(part.value, dict)]
        attrs = self._checked_attrs(ops.CALL, parts)
        node = self.assembler.call(self._read_name(parts[1]), arguments, attrs)
        for argument, part in zip(node.args, parts[2:], strict=False):
            self._mark(argument, _at(part), "")
        self._mark_keys(node, parts)
        self._add(node, parts[1], at)

    def whole(self, parts: list[Any], at: _Range) -> str:
        return self._read_name(parts[0])

    def view(self, parts: list[Any], at: _Range) -> Place:
        return self.assembler.place(self._read_name(parts[0]), parts[1].value, at)

    # --- scalars ------------------------------------------------------------------------------------------------------

    def number(self, parts: list[Any], at: _Range) -> Literal:
        return Literal(str(parts[0]), at)

    def name(self, parts: list[Any], at: _Range) -> Item:
        return self.assembler.name(self._read_name(parts[0]), at)

    def load(self, parts: list[Any], at: _Range) -> Item:
        return self.assembler.load(parts[1].value, at)

    def apply(self, parts: list[Any], at: _Range) -> Item:
        return self.assembler.apply(_OPERATORS[parts[0]], [part.value for part in parts[1:]], at)

    def cast(self, parts: list[Any], at: _Range) -> Item:
        return self.assembler.cast(Op.get("prog.cast"), parts[1].value, self._dtype(parts[2]), at)

    def const(self, parts: list[Any], at: _Range) -> Item:
        return self.assembler.explicit(parts[1].value, self._dtype(parts[2]), at)

    def applied(self, parts: list[Any], at: _Range) -> list[Any]:
        return parts

    def application(self, parts: list[Any], at: _Range) -> Item:
        return self._registered(parts[0].value, {}, None, at)

    def typed_application(self, parts: list[Any], at: _Range) -> Item:
        attrs: Mapping[str, AttrValue] = {}
        dtype = None
        for part in parts[1:]:
            if isinstance(part, Token):
                dtype = self._dtype(part)
            else:
                attrs = part.value
        return self._registered(parts[0].value, attrs, dtype, at)

    def _registered(self, applied: list[Any], attrs: Mapping[str, AttrValue], dtype: DType | None, at: _Range) -> Item:
        name = str(applied[0])
        if name.startswith("prog."):
            hint = did_you_mean(name, LANGUAGE.operations())
            self._fail(f"unknown operation '{name}'{hint}", _at(applied[0]), "unknown-op")
            return self.assembler.unknown(at)
        operands = [part.value for part in applied[1:]]
        return self.assembler.registered(name, operands, Attrs(attrs), dtype, at)

    def _dtype(self, token: Token) -> DType:
        return DType(str(token))

    def _memref(self, token: Token) -> MemRefType:
        try:
            return MemRefType.read(str(token))
        except ValueError as error:
            self._fail(str(error), _at(token), "memref")
            return MemRefType((1,), FLOAT64)

    def _integer(self, token: Token) -> int:
        try:
            return read_int(str(token), INT64)
        except LiteralError as error:
            self._fail(str(error), _at(token), "literal-range")
            return 0

    # --- attributes ---------------------------------------------------------------------------------------------------

    def _checked_attrs(self, op: Op, parts: list[Any]) -> dict[str, AttrValue]:
        for part in parts:
            if isinstance(part, Piece) and type(part.value) is dict:
                fault = syntax_attrs(op, part.value)
                if fault is not None:
                    self._fail(fault, _at(part), "attribute")
                return part.value
        return {}

    def attrs(self, parts: list[Any], at: _Range) -> dict[str, AttrValue]:
        attrs: dict[str, AttrValue] = {}
        self.keys = {part.value[0]: _at(part) for part in parts}
        for part in parts:
            key, value = part.value
            if key in attrs:
                self._fail(f"attribute '{key}' is given twice", _at(part), "attribute")
            attrs[key] = value
        return attrs

    map = attrs

    def attr(self, parts: list[Any], at: _Range) -> tuple[str, AttrValue]:
        return parts[0].value, parts[1].value

    def key(self, parts: list[Any], at: _Range) -> str:
        token = parts[0]
        return self._string(token) if token.type == "STRING" else str(token)

    def _string(self, token: Token) -> str:
        try:
            return read_string(str(token))
        except LiteralError as error:
            self._fail(str(error), _at(token), "string")
            return ""

    def atom(self, parts: list[Any], at: _Range) -> AttrValue:
        token = parts[0]
        try:
            if token.type == "STRING":
                return read_string(str(token))
            if token.type == "INT":
                if len(token) > 4300:
                    raise LiteralError("an integer of more than 4300 digits is not read")
                return int(token)
            if token.type == "FLOAT":
                return read_float(str(token), FLOAT64)
        except LiteralError as error:
            self._fail(str(error), at, "literal-range")
            return None
        return DType(str(token)) if token.type == "DTYPE" else word_or_constant(str(token))

    def sequence(self, parts: list[Any], at: _Range) -> AttrValue:
        return tuple([part.value for part in parts])

    def slice(self, parts: list[Any], at: _Range) -> AttrValue:
        return slice(*[part.value for part in parts[1:]])


def _at(part: Token | Piece) -> _Range:
    return (part.start_pos or 0, part.end_pos or 0) if isinstance(part, Token) else (part.start, part.end)


def read(source: Source) -> tuple[Node | None, Assembler, list[Diagnostic]]:
    """Read any text; the root is None when there are diagnostics."""
    actions = _Actions()
    actions.driver = Driver(LANGUAGE, source, actions)
    actions.driver.run()
    if actions.driver.diagnostics:
        return None, actions.assembler, actions.driver.diagnostics
    return actions.assembler.finish(), actions.assembler, []


def statement_spans(source: Source, names: Mapping[str, Node]) -> list[tuple[Node | None, str, _Range]]:
    """Read one statement (or head with an empty body) and return where each of its nodes stands.

    `names` are the declarations that its text depends on.
    """
    actions = _Actions()
    actions.assembler.names.update(names)
    actions.driver = Driver(LANGUAGE, source, actions)
    actions.driver.run()
    return actions.spans
