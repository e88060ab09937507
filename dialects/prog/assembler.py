"""What `prog` text means: from pieces of syntax to nodes, for every reader of the format.

The fast reader and the grammar-driven parser recognise text; both hand what they recognise to one `Assembler`, so they
cannot disagree on meaning. It keeps the names in scope, gives literals the element type that their context requires
(program specification 2.4) and collects the statements of the open blocks. It reports mistakes through `fail` and
carries on with a stand-in value; it never raises for what a user wrote.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import NO_ATTRS, Attrs, AttrValue, Word, named
from scaly_ir.call import signature_faults
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.op_rules import raised
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.spelling import LiteralError, read_float, read_int
from scaly_ir.types import BOOL, FLOAT64, INT64, DType, MemRefType

At = Any
"""Where something stands, as the reader that uses the assembler keeps places; handed back to it unread."""


class Literal:
    """A number whose element type is not known yet."""

    __slots__ = ("at", "text")

    def __init__(self, text: str, at: At = None) -> None:
        self.text = text
        self.at = at


class Untyped:
    """A scalar without an element type of its own: of literals, or over a name nobody declared."""

    __slots__ = ("at", "attrs", "items", "op", "silent")

    def __init__(self, op: Op, items: Sequence[Item], attrs: Attrs, at: At, silent: bool) -> None:
        self.op = op
        self.items = items
        self.attrs = attrs
        self.at = at
        self.silent = silent
        """Whether an undeclared name is the cause, about which the verifier will complain."""


Item = Node | Literal | Untyped


class Place(NamedTuple):
    """A buffer location as read: the buffer's name, its element type if it is declared, and the index."""

    name: str
    dtype: DType | None
    position: Node
    at: At


class Application(NamedTuple):
    """An operator of the registry applied to scalars, as read: its name, operands, attributes and written type."""

    name: str
    name_at: At
    items: Sequence[Item]
    attrs: Attrs
    places: Mapping[str, At]
    """Where each attribute stands."""
    dtype: DType | None


DECLARE: Final = Attrs({"declare": True})
"""The attributes of nearly every assignment."""
KINDS: Final = {kind: Attrs({"kind": Word(kind)}) for kind in ops.RANGE_KINDS}
"""The attributes of nearly every loop."""

_PRINTED_BY_SYNTAX: Final = "attribute '{}' is written by the syntax of '{}', not among its attributes"


class Assembler:
    """The state of one reading: scopes, open blocks and the places of statements in pre-order.

    `fail(message, at, code)` receives mistakes. `mark(node, at)`, when given, receives the place of every node built.
    """

    def __init__(
        self,
        fail: Callable[[str, At, str], None],
        mark: Callable[[Node, At, str], None] | None = None,
    ) -> None:
        self.fail = fail
        self.mark = mark
        self.names: dict[str, Node] = {}
        self.starts = array("q")
        self.ends = array("q")
        self.statements: list[Node] = []
        self._blocks: list[tuple[list[Node], Any, list[tuple[str, Node | None]]]] = []
        self._declared: list[tuple[str, Node | None]] = []
        self._constants: dict[tuple[str, DType], Node] = {}
        self.loads: dict[tuple[str, Node], Node] = {}
        self.module_attrs: Attrs | None = None

    # --- scalars ------------------------------------------------------------------------------------------------------

    def constant(self, literal: Literal, dtype: DType) -> Node:
        """Return the constant a literal stands for where `dtype` is required."""
        known = self._constants.get((literal.text, dtype))
        if known is None:
            known = self._read_constant(literal, dtype)
        if self.mark is not None:
            self.mark(known, literal.at, "")
        return known

    def _read_constant(self, literal: Literal, dtype: DType) -> Node:
        """Read a literal; only what has a value is kept, so that each wrong literal has its own message."""
        text = literal.text
        try:
            if dtype.is_float:
                node = intern_node(ops.CONST_FLOAT, (), Attrs({"value": read_float(text, dtype)}), dtype)
            elif text.lstrip("-").isdigit():
                node = intern_node(ops.CONST_INT, (), Attrs({"value": read_int(text, dtype)}), dtype)
            else:
                self.fail(f"expected an integer of type {dtype}, found '{text}'", literal.at, "literal-dtype")
                return build.const(0, dtype)
        except LiteralError as error:
            self.fail(str(error), literal.at, "literal-range")
            return build.const(0, dtype)
        self._constants[text, dtype] = node
        return node

    def name(self, name: str, at: At = None) -> Item:
        """Return the value of a scalar or loop variable."""
        declared = self.names.get(name)
        if declared is None:
            if name.startswith(ops.RESERVED_PREFIX):
                declared = build.var(name, INT64)
            else:
                return Untyped(ops.VAR, (), named("name", name), at, True)
        elif declared.op is not ops.VAR:
            declared = build.var(name, declared.type)  # a buffer used as a scalar, for the verifier to report
        if self.mark is not None:
            self.mark(declared, at, "")
        return declared

    def place(self, name: str, index: Item, at: At = None) -> Place:
        """Return a location in a buffer."""
        declared = self.names.get(name)
        position = index if type(index) is Node else self.typed(index, INT64)
        return Place(name, None if declared is None else declared.type, position, at)

    def view(self, place: Place, dtype: DType) -> Node:
        """Return the view of a location; `dtype` is what the context requires, used when the buffer is unknown."""
        node = intern_node(ops.VIEW, (place.position,), named("buffer", place.name), place.dtype or dtype)
        if self.mark is not None:
            self.mark(node, place.at, "")
        return node

    def load(self, place: Place, at: At = None) -> Item:
        """Return a read of a location."""
        if place.dtype is None:
            return Untyped(ops.LOAD, (), NO_ATTRS, (at, place), True)
        known = self.loads.get((place.name, place.position))
        if known is None or known.type is not place.dtype:
            view = self.view(place, place.dtype)
            known = self.loads[place.name, place.position] = intern_node(ops.LOAD, (view,), NO_ATTRS, view.type)
        if self.mark is not None:
            self.mark(known.args[0], place.at, "")
            self.mark(known, at, "")
        return known

    def apply(self, op: Op, items: Sequence[Item], at: At = None) -> Item:
        """Return a shared scalar operator applied to operands; ``cast`` goes through `cast`."""
        if len(items) != len(op.args_info):
            wanted = f"{len(op.args_info)} operand{'s' if len(op.args_info) != 1 else ''}"
            self.fail(f"'{op.name}' takes {wanted}, found {len(items)}", at, "arity")
            return self.unknown(at)
        typing = op.get_attr("TScalarTyping")
        if typing == "logic":
            return self._node(op, tuple([self.typed(item, BOOL) for item in items]), BOOL, at)
        if typing == "select":
            condition = self.typed(items[0], BOOL)
            dtype = self._common(items[1:])
            if dtype is None:
                return Untyped(op, (condition, *items[1:]), NO_ATTRS, at, self._silent(items))
            branches = [self.typed(item, dtype) for item in items[1:]]
            return self._node(op, (condition, *branches), dtype, at)
        dtype = self._common(items)
        if typing == "arith":
            if dtype is None:
                return Untyped(op, items, NO_ATTRS, at, self._silent(items))
            return self._node(op, tuple([self.typed(item, dtype) for item in items]), dtype, at)
        if dtype is None:
            dtype = self._undecided(op.name, items, at)
        return self._node(op, tuple([self.typed(item, dtype) for item in items]), BOOL, at)

    def cast(self, op: Op, item: Item, dtype: DType, at: At = None) -> Node:
        """Return a conversion."""
        operand = item if type(item) is Node else self.typed(item, self._undecided(op.name, (item,), at))
        return self._node(op, (operand,), dtype, at)

    def explicit(self, literal: Literal, dtype: DType, at: At = None) -> Node:
        """Return a constant with its type written out."""
        node = self.constant(literal, dtype)
        if self.mark is not None:
            self.mark(node, at, "")
        return node

    def registered(self, application: Application, at: At) -> Item:
        """Return an operator from the registry applied to scalars; its type is inferred when it is not written.

        The signature is checked before types are asked for.
        """
        name, name_at, items, attrs, places, dtype = application
        try:
            op = Op.get(name)
        except AttributeError:
            self.fail(f"unknown operation '{name}'{did_you_mean(name, Op.list_op_names())}", name_at, "unknown-op")
            return self.unknown(at)
        if op.get_attr("TStructural") or not op.is_expression or not op.allowed_in("prog"):
            self.fail(f"operation '{name}' is not allowed in dialect 'prog'", name_at, "op-dialect")
            return self.unknown(at)
        wrong_count = op.count_fault(len(items))
        if wrong_count is not None:
            self.fail(f"'{name}': {wrong_count} [op-arity]", at, "op-arity")
            return self.unknown(at)
        operands = [
            item if type(item) is Node else self.typed(item, self._undecided(name, (item,), at)) for item in items
        ]
        node = intern_node(op, tuple(operands), attrs, dtype)
        if dtype is None:
            inferred = self._inferred(node, at, places)
            if inferred is None:
                return self.unknown(at)
            node = intern_node(op, node.args, attrs, inferred)
        if self.mark is not None:
            self.mark(node, at, "")
        return node

    def _inferred(self, call: Node, at: At, places: Mapping[str, At]) -> Any:
        """Return the type that the rule of an operator gives; None after a message."""
        op = call.op
        for fault in signature_faults(call):
            self.fail(f"'{op.name}': {fault.reason} [op-arity]", places.get(fault.attribute, at), "op-arity")
            return None
        try:
            inferred = op.result_type(call)
        except Exception as error:  # a rule of a third party: whatever it raises is the user's to see
            self.fail(f"'{op.name}': {raised('FInferType', error)} [op-type]", at, "op-type")
            return None
        if inferred is None:
            self.fail(f"'{op.name}' has no rule for its result type; write ({op.name}(...) : dtype)", at, "op-type")
        return inferred

    def unknown(self, at: At = None) -> Untyped:
        """Return a stand-in for a scalar that could not be read: it fits everywhere and causes no further message."""
        return Untyped(ops.VAR, (), named("name", "?"), at, True)

    def _node(self, op: Op, operands: tuple[Node, ...], dtype: DType, at: At) -> Node:
        node = intern_node(op, operands, NO_ATTRS, dtype)
        if self.mark is not None:
            self.mark(node, at, "")
        return node

    def _common(self, items: Sequence[Item]) -> DType | None:
        for item in items:
            if type(item) is Node:
                dtype: DType = item.type
                return dtype
        return None

    def _silent(self, items: Sequence[Item]) -> bool:
        return any([type(item) is Untyped and item.silent for item in items])

    def _undecided(self, name: str, items: Sequence[Item], at: At) -> DType:
        """Choose a type where the context gives none: an error, unless an undeclared name is to blame."""
        if not self._silent(items):
            message = f"the type of the literal in '{name}' is unknown here; write prog.const(<number>, <dtype>)"
            literal = _first_literal(items)
            self.fail(message, at if literal is None else literal.at, "literal-context")
        return FLOAT64

    def typed(self, item: Item, dtype: DType) -> Node:
        """Return `item` as a node where `dtype` is required; iterative, as literals may nest deeply."""
        if type(item) is Node:
            return item
        if type(item) is Literal:
            return self.constant(item, dtype)
        done: list[Node] = []
        pending: list[tuple[Item, bool]] = [(item, False)]
        while pending:
            current, ready = pending.pop()
            if isinstance(current, Node):
                done.append(current)
            elif isinstance(current, Literal):
                done.append(self.constant(current, dtype))
            elif not current.items:
                done.append(self._undeclared(current, dtype))
            elif ready:
                count = len(current.items)
                operands = tuple(done[-count:])
                del done[-count:]
                done.append(self._node(current.op, operands, dtype, current.at))
            else:
                pending.append((current, True))
                pending.extend([(part, False) for part in reversed(current.items)])
        return done[0]

    def _undeclared(self, item: Untyped, dtype: DType) -> Node:
        if item.op is ops.LOAD:
            at, place = item.at
            return self._node(ops.LOAD, (self.view(place, dtype),), dtype, at)
        node = intern_node(ops.VAR, (), item.attrs, dtype)
        if self.mark is not None:
            self.mark(node, item.at, "")
        return node

    # --- statements ---------------------------------------------------------------------------------------------------

    def add(self, statement: Node, start: int, end: int) -> None:
        """Append a statement to the innermost open block."""
        self.statements.append(statement)
        self.starts.append(start)
        self.ends.append(end)

    def value(self, item: Item, dtype: DType, at: At = None) -> Node:
        """Return the value of a statement whose suffix says `dtype`."""
        node = item if type(item) is Node else self.typed(item, dtype)
        if node.type is not dtype:
            self.fail(f"the value is {node.type}, but the statement says {dtype}", at, "statement-dtype")
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
        self._declared.append((name, self.names.get(name)))
        self.names[name] = node

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

    def _open(self, finish: Callable[[list[Node]], Node], start: int, end: int) -> None:
        self.starts.append(start)
        self.ends.append(end)
        self._blocks.append((self.statements, finish, self._declared))
        self.statements = []
        self._declared = []

    def open_module(self, attrs: Mapping[str, AttrValue], start: int, end: int) -> None:
        """Begin a module."""
        given = dict(attrs)
        self._open(
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
        self._open(lambda body: intern_node(ops.PROC, (*declared, *body), header, None), start, end)
        declared.extend([self.buffer(param, memref) for param, memref in params])
        return declared

    def open_for(self, name: str, bounds: Sequence[Item], attrs: Mapping[str, AttrValue], start: int, end: int) -> Node:
        """Begin a loop and return its range."""
        operands = tuple([self.typed(bound, INT64) for bound in bounds])
        # Attributes that are frozen already are one of KINDS.
        given = attrs.followed_by("name", name) if isinstance(attrs, Attrs) else Attrs({**attrs, "name": name})
        domain = intern_node(ops.RANGE, operands, given, INT64)
        self._open(lambda body: intern_node(ops.FOR, (domain, *body), NO_ATTRS, None), start, end)
        self.declare(name, intern_node(ops.VAR, (), named("name", name), INT64))
        return domain

    def close(self) -> None:
        """End the innermost module, procedure or loop; the names it declared go out of scope."""
        for name, previous in reversed(self._declared):
            if previous is None:
                self.names.pop(name, None)
            else:
                self.names[name] = previous
        body = self.statements
        self.statements, finish, self._declared = self._blocks.pop()
        self.statements.append(finish(body))

    @property
    def depth(self) -> int:
        """How many blocks are open."""
        return len(self._blocks)

    def finish(self) -> Node:
        """Return the root of what was read: a module, bare procedures in a module marked so, or a fragment."""
        read = self.statements
        if len(read) == 1 and read[0].op is ops.PROGRAM:
            return read[0]
        if all([statement.op is ops.PROC for statement in read]):
            return build.program(read, bare=True)
        return build.block(read)


def _first_literal(items: Sequence[Item]) -> Literal | None:
    """Return the leftmost literal in scalars without an element type."""
    pending = list(reversed(items))
    while pending:
        item = pending.pop()
        if isinstance(item, Literal):
            return item
        if isinstance(item, Untyped):
            pending.extend(reversed(item.items))
    return None


def syntax_attrs(op: Op, attrs: Mapping[str, AttrValue]) -> str | None:
    """Return what is wrong with attributes written for `op` that its syntax writes elsewhere, or None."""
    specs = op.attr_specs or {}
    for key in attrs:
        if key in specs and not specs[key].printed:
            return _PRINTED_BY_SYNTAX.format(key, op.name)
    return None


_CONSTANTS: Final[dict[str, AttrValue]] = {"True": True, "False": False, "None": None}


def word_or_constant(text: str) -> AttrValue:
    """Return the value of a bare token in an attribute: True, False, None or a word."""
    return _CONSTANTS[text] if text in _CONSTANTS else Word(text)
