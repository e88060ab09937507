"""The grammar-driven reader of `expr`: what each rule of ``assembly.lark`` does, and the words for its messages.

It reads everything the language allows and is the source of every diagnostic about text. What it reads becomes `Body`
records; what these mean is the business of `assembler.py` and `assembly.py`.
"""

from __future__ import annotations

from typing import Any, Final

from lark import Token

from scaly_ir.attributes import word_or_constant
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.assembler import Body, Built, Operation, Param, Reports, Return, Root
from scaly_ir.dialects.expr.assembly import build_root
from scaly_ir.dialects.expr.language import LANGUAGE
from scaly_ir.dialects.expr.values import Atom, LeftOut, Literal, Reference, Sequence, Splat
from scaly_ir.graph import Node
from scaly_ir.tensors import Coordinates, TensorError, TensorType, read_coordinates
from scaly_ir.text.attribute_actions import ELIDED_MESSAGE, AttributeActions, Given, Range, place_of
from scaly_ir.text.diagnostics import Diagnostic
from scaly_ir.text.lalr import Driver
from scaly_ir.text.language import Piece
from scaly_ir.text.source import Source
from scaly_ir.text.spelling import LiteralError, read_name, read_string
from scaly_ir.text.terminals import scan
from scaly_ir.types import DType

_NO_NAME: Final = "\ud800\udc00"
"""How names begin that no text can hold: two surrogates in a row."""


class _Actions(AttributeActions):
    """What the rules of `expr` mean, besides those of attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[Body] = []
        self.head: Range | None = None
        """The head of the module, if there is one."""
        self._loose = Body(ops.RETURN)
        self._body = self._loose
        self._patterns: dict[str, Coordinates] = {}
        self._pattern_places: dict[str, Range] = {}

    def start(self, parts: list[Any], at: Range) -> None:
        """The whole file."""

    def module_open(self, parts: list[Any], at: Range) -> None:
        """Begin a module."""
        self.head = at

    def module(self, parts: list[Any], at: Range) -> None:
        """End a module."""

    def alias(self, parts: list[Any], at: Range) -> None:
        """Give a sparsity pattern a name."""
        name, text = str(parts[0]), parts[1]
        if name in self._patterns:
            notes = [self.driver.note("it is defined here", self._pattern_places[name])]
            self.driver.fail(f"pattern '{name}' is defined twice", place_of(parts[0]), "duplicate-name", notes)
            return
        self._pattern_places[name] = place_of(parts[0])
        self._patterns[name] = ((), ())
        try:
            self._patterns[name] = read_coordinates(str(text))
        except TensorError as error:
            start = place_of(text)[0]
            self._fail(str(error), (start + error.start, start + error.end), "tensor")

    def func_open(self, parts: list[Any], at: Range) -> None:
        """Begin a function."""
        signature: dict[str, list[Param]] = {"param": [], "output": []}
        for part in parts:
            if isinstance(part, Piece):
                signature[part.value[0]].append(part.value[1])
        self._open(Body(ops.FUNC, self._read_name(parts[1]), place_of(parts[1]), at))
        self._body.params, self._body.outputs = signature["param"], signature["output"]
        # The head that the driver puts in place of a wrong one stands where that begins.
        self._body.declared = signature["output"][0].name_at != place_of(parts[0])

    def param(self, parts: list[Any], at: Range) -> tuple[str, Param]:
        """Read an input of a signature."""
        param = Param(self._value(parts[0]), self._type(parts[1]), place_of(parts[0]), place_of(parts[1]))
        return "param", param

    def output(self, parts: list[Any], at: Range) -> tuple[str, Param]:
        """Read an output of a signature."""
        return "output", self.param(parts, at)[1]

    def region_open(self, parts: list[Any], at: Range) -> None:
        """Begin a region."""
        self._open(Body(ops.REGION, self._read_name(parts[1]), place_of(parts[1]), at))

    def _open(self, body: Body) -> None:
        self.bodies.append(body)
        self._body = body

    def func(self, parts: list[Any], at: Range) -> None:
        """End a function or region."""
        self._body.end = (at[1] - 1, at[1])
        self._body = self._loose

    region = func

    # --- operations ---------------------------------------------------------------------------------------------------

    def operation(self, parts: list[Any], at: Range) -> None:
        """Read an operation."""
        operands: list[tuple[str, Range]] = []
        attrs = Given({}, {})
        for part in parts[2:-1]:
            if isinstance(part.value, Given):
                attrs = part.value
            else:
                operands = part.value
        name, op, type_ = parts[0], parts[1], parts[-1]
        places = (place_of(name), place_of(op), place_of(type_), at)
        read = Operation(self._value(name), str(op), operands, attrs, attrs.places, self._type(type_), *places)
        self._body.lines.append(read)

    def operands(self, parts: list[Any], at: Range) -> list[tuple[str, Range]]:
        """Read the operands of an operation, or the results that are returned."""
        return [(self._value(part), place_of(part)) for part in parts]

    def returned(self, parts: list[Any], at: Range) -> None:
        """Read the line that returns results."""
        self._body.lines.append(Return(self.operands(parts[1:], at), at))

    def _value(self, token: Token) -> str:
        return self._read_name(token)

    def _type(self, token: Token) -> TensorType | None:
        try:
            return TensorType.read(str(token), self._patterns)
        except TensorError as error:
            start = place_of(token)[0]
            self._fail(str(error), (start + error.start, start + error.end), "tensor")
            return None

    # --- the generic form ---------------------------------------------------------------------------------------------

    def generic(self, parts: list[Any], at: Range) -> Operation:
        """Read a node in the generic form; those that are its operands become operations of their own."""
        operands: list[tuple[str, Range]] = []
        attrs = Given({}, {})
        for part in parts[1:-1]:
            if isinstance(part, Token):
                operands.append((self._value(part), place_of(part)))
            elif isinstance(part.value, Given):
                attrs = part.value
            else:
                self._body.lines.append(part.value)
                operands.append((part.value.name, place_of(part)))
        op, type_ = parts[0], parts[-1]
        untyped = type_.type == "NONE"
        places = (place_of(op), place_of(op), place_of(type_), at)
        name = f"{_NO_NAME}{at[0]}"
        read = None if untyped else self._type(type_)
        return Operation(name, self._string(op), operands, attrs, attrs.places, read, *places, untyped=untyped)

    def named(self, parts: list[Any], at: Range) -> None:
        """Read a node in the generic form that has a name."""
        named: Operation = parts[1].value
        self._body.lines.append(named._replace(name=self._value(parts[0]), name_at=place_of(parts[0]), at=at))

    def root(self, parts: list[Any], at: Range) -> None:
        """Read a node in the generic form that has none."""
        read: Operation = parts[0].value
        if read.op == ops.RETURN.name and read.untyped and not read.attrs:
            self._body.lines.append(Return(read.operands, at))
        else:
            self._body.lines.append(Root(read, at))

    # --- attribute values ---------------------------------------------------------------------------------------------

    def atom(self, parts: list[Any], at: Range) -> Atom | Literal:
        """Read a value of one token."""
        token = parts[0]
        if token.type in ("INT", "FLOAT"):
            return Literal(str(token), at)
        if token.type == "DTYPE":
            return Atom(DType(str(token)), at)
        if token.type != "STRING":
            return Atom(word_or_constant(str(token)), at)
        try:
            return Atom(read_string(str(token)), at)
        except LiteralError as error:
            self._fail(str(error), at, "string")
            return Atom("", at)

    def sequence(self, parts: list[Any], at: Range) -> Sequence | None:
        """Read a list."""
        return None if self._too_deep(parts, at) else Sequence([part.value for part in parts], at)

    def left_out(self, parts: list[Any], at: Range) -> LeftOut:
        """Refuse a constant that was left out when it was printed."""
        self._fail(ELIDED_MESSAGE, at, "elided")
        return LeftOut(at)

    def reference(self, parts: list[Any], at: Range) -> Reference:
        """Read the number of a function."""
        return Reference(self._value(parts[0]), at)

    def splat(self, parts: list[Any], at: Range) -> Splat:
        """Read ``splat<0.0>``."""
        return Splat(parts[1].value, at)

    # --- the end ------------------------------------------------------------------------------------------------------

    def finish(self, source: Source) -> tuple[Node | None, list[Built]]:
        """Build the root of what was read, after the driver has run."""
        if self._loose.lines or (not self.bodies and self.head is None):
            end = self._loose.lines[-1].at[1] if self._loose.lines else 0
            self._loose.end = (end, end)
            self.bodies.append(self._loose)
        starts = [diagnostic.span.start for diagnostic in self.driver.diagnostics if diagnostic.span is not None]
        for body in self.bodies:
            last = len(source.text) if body is self._loose else body.end[1]
            body.damaged = any([body.at[0] <= start <= last for start in starts])
        lost: list[frozenset[str]] = []

        def lost_names() -> frozenset[str]:
            if not lost:
                lost.append(self._lost(source) if starts else frozenset())
            return lost[0]

        reports = Reports(self.driver.fail, self.driver.note, lost_names)
        return build_root(self.bodies, module=self.head is not None, reports=reports)

    def _lost(self, source: Source) -> frozenset[str]:
        """Return the names that the text defines in operations which could not be read."""
        read = {line.name_at[0] for body in self.bodies for line in body.lines if isinstance(line, Operation)}
        found = set()
        previous = None
        for lexeme in scan(source.text, numbered=True):
            if lexeme.text == "=" and previous is not None and previous.kind == "VALUE" and previous.start not in read:
                try:
                    found.add(read_name(previous.text[1:]))
                except LiteralError:
                    continue
            previous = lexeme
        return frozenset(found)


def read(source: Source) -> tuple[Node | None, Range | None, list[Built], list[Diagnostic]]:
    """Read any text: its root, the head of its module, its bodies; the root is None when there are diagnostics."""
    actions = _Actions()
    driver = actions.driver = Driver(LANGUAGE, source, actions)
    driver.run()
    root, built = actions.finish(source)
    if not driver.diagnostics:
        return root, actions.head, built, []
    driver.diagnostics.sort(key=lambda diagnostic: diagnostic.span.start if diagnostic.span is not None else 0)
    return None, actions.head, built, driver.diagnostics
