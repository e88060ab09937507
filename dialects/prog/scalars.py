"""What scalars mean in `prog` text: names, literals, reads and operators, with the element types their context gives.

A literal has no element type of its own; it gets the one that its context requires (program specification 2.4), at
once where that is known, else when an operand or the statement tells. Statements are the `Assembler`'s.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from scaly_ir.attributes import NO_ATTRS, Attrs, named
from scaly_ir.call import signature_faults
from scaly_ir.dialect import dialect_names
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, intern_node
from scaly_ir.op import Op
from scaly_ir.op_rules import raised
from scaly_ir.text.diagnostics import did_you_mean
from scaly_ir.text.spelling import LiteralError, read_float, read_int
from scaly_ir.types import BOOL, FLOAT64, INT64, DType

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


class Scalars:
    """The names in scope and what scalars become.

    `fail(message, at, code)` receives mistakes. `mark(node, at, part)`, when given, receives the place of every node
    built.
    """

    def __init__(
        self,
        fail: Callable[[str, At, str], None],
        mark: Callable[[Node, At, str], None] | None = None,
    ) -> None:
        self.fail = fail
        self.mark = mark
        self.names: dict[str, Node] = {}
        self.loads: dict[tuple[str, Node], Node] = {}
        self._constants: dict[tuple[str, DType], Node] = {}

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
            dialect = name.partition(".")[0]
            if dialect != "prog" and dialect in dialect_names():  # it need not be loaded
                return self._not_allowed(name, name_at, at)
            self.fail(f"unknown operation '{name}'{did_you_mean(name, Op.list_op_names())}", name_at, "unknown-op")
            return self.unknown(at)
        if op.get_attr("TStructural") or not op.is_expression or not op.allowed_in("prog"):
            return self._not_allowed(name, name_at, at)
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

    def _not_allowed(self, name: str, name_at: At, at: At) -> Item:
        from scaly_ir.dialects.prog.language import LANGUAGE  # loads Lark, which only messages need

        hint = LANGUAGE.own_name(name, LANGUAGE.operations())
        self.fail(f"operation '{name}' is not allowed in dialect 'prog'{hint}", name_at, "op-dialect")
        return self.unknown(at)

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
