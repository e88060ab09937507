"""The expression protocol of nodes: Python arithmetic on a node builds the operation of the node's own dialect.

So one rule for an operator serves every dialect: ``value * value`` is `prog.mul` of a `prog` scalar and `expr.mul` of
an `expr` value, and a Python number takes the type of the other operand. A dialect says how it is done with
`declare_arithmetic`; this module knows none. `==`, `!=` and `hash` are those of identity, and `bool` is a `TypeError`
(`node.py`), so a comparison that builds a node is one of ``< <= > >=``. Source: operator specification A4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple
from weakref import WeakKeyDictionary

from scaly_ir.types import read_type
from scaly_ir.undo import OPEN, note_undo

if TYPE_CHECKING:
    from scaly_ir.graph.node import Node

Number = bool | int | float
"""What Python arithmetic takes beside nodes; an integer counts as a float where the other operand is one."""


class Arithmetic(NamedTuple):
    """How the values of one dialect are combined; each function raises `TypeError` for what does not fit."""

    const: Callable[[Any, Any], Node]
    """``const(number, type)``: a constant."""
    apply: Callable[..., Node]
    """``apply(name, *operands)``: the operation that means ``prim.<name>``."""
    cast: Callable[[Node, Any], Node]
    """``cast(value, dtype)``: a conversion."""


_ARITHMETIC: Final[dict[str, Arithmetic]] = {}


def declare_arithmetic(dialect: str, arithmetic: Arithmetic) -> None:
    """Say how values of `dialect` are combined: nodes whose operator's name begins so, and what is made of them."""
    before = _ARITHMETIC.get(dialect)
    _ARITHMETIC[dialect] = arithmetic
    if OPEN:
        note_undo(lambda: _ARITHMETIC.pop(dialect) if before is None else _ARITHMETIC.update({dialect: before}))


class Expression:
    """What every node can do as an operand of Python arithmetic."""

    __slots__ = ()

    __array_ufunc__ = None
    """Lets a NumPy number on the left leave the operation to the node."""

    def __add__(self, other: Operand) -> Node:
        return _combine("add", self, other)

    def __radd__(self, other: Operand) -> Node:
        return _combine("add", other, self)

    def __sub__(self, other: Operand) -> Node:
        return _combine("sub", self, other)

    def __rsub__(self, other: Operand) -> Node:
        return _combine("sub", other, self)

    def __mul__(self, other: Operand) -> Node:
        return _combine("mul", self, other)

    def __rmul__(self, other: Operand) -> Node:
        return _combine("mul", other, self)

    def __truediv__(self, other: Operand) -> Node:
        return _combine("div", self, other)

    def __rtruediv__(self, other: Operand) -> Node:
        return _combine("div", other, self)

    def __floordiv__(self, other: Operand) -> Node:
        return _combine("floordiv", self, other)

    def __rfloordiv__(self, other: Operand) -> Node:
        return _combine("floordiv", other, self)

    def __mod__(self, other: Operand) -> Node:
        return _combine("floormod", self, other)

    def __rmod__(self, other: Operand) -> Node:
        return _combine("floormod", other, self)

    def __neg__(self) -> Node:
        return _combine("neg", self)

    def __lt__(self, other: Operand) -> Node:
        return _combine("lt", self, other)

    def __le__(self, other: Operand) -> Node:
        return _combine("le", self, other)

    def __gt__(self, other: Operand) -> Node:
        return _combine("lt", other, self)

    def __ge__(self, other: Operand) -> Node:
        return _combine("le", other, self)

    def astype(self, dtype: Any) -> Node:
        """Return this value converted to an element type, or to the one of that name; the node if it has it already."""
        return _converted(self, dtype)  # type: ignore[arg-type] # every expression is a node

    def same_as(self, other: object) -> bool:
        """Tell whether `other` is this very node."""
        return self is other

    @property
    def loc(self) -> Any:
        """Where the node came from, as given to `Call`; None when nobody said. It is no part of the node's identity."""
        return _PLACES.get(self)

    def validate(self) -> None:
        """Check this one call against the contract of its operator; see `call.validate`."""
        from scaly_ir.call import validate

        validate(self)  # type: ignore[arg-type] # as above


Operand = Expression | Number
_OPERANDS: Final = (Expression, bool, int, float)

_PLACES: Final[WeakKeyDictionary[Expression, Any]] = WeakKeyDictionary()


def place(node: Node, loc: Any) -> None:
    """Record where a node came from; the first place stays, as equal nodes are one."""
    _PLACES.setdefault(node, loc)


def elementwise(name: str, *operands: Operand) -> Node:
    """Apply the operation that means ``prim.<name>`` in the dialect of the operands: ``elementwise("exp", x)``.

    Numbers take the type of the first node among the operands that they share a type with. `TypeError` without a node
    among the operands, for a number that does not fit, and whatever the dialect raises.
    """
    result = _combine(name, *operands)
    if result is NotImplemented:
        raise TypeError(f"an operand of '{name}' is neither a node nor a number")
    return result


_SKIPPED: Final = {"select": 1}
"""How many leading operands have another type than the rest: the condition of a choice is a bool."""


def _combine(name: str, *operands: Any) -> Node:
    nodes: list[Any] = [operand for operand in operands if isinstance(operand, Expression)]
    if len(nodes) < len(operands) and not all([isinstance(operand, _OPERANDS) for operand in operands]):
        return NotImplemented  # type: ignore[no-any-return] # Python then asks the other operand
    if not nodes:
        raise TypeError(f"no operand of '{name}' is a node")
    arithmetic = _arithmetic_of(nodes)
    sharing: list[Any] = [operand for operand in operands[_SKIPPED.get(name, 0) :] if isinstance(operand, Expression)]
    like = (sharing or nodes)[0]
    if name == "div" and getattr(like.dtype, "kind", "float") != "float":
        raise TypeError(f"'/' needs floating operands, got {like.type}; '//' rounds down")
    values: list[Any] = [
        operand if isinstance(operand, Expression) else _constant(arithmetic, operand, like) for operand in operands
    ]
    return arithmetic.apply(name, *values)


def _constant(arithmetic: Arithmetic, number: Any, like: Any) -> Any:
    """Return a number as a constant of the type of another operand."""
    kind = getattr(like.dtype, "kind", None)
    if isinstance(number, bool) is not (kind == "bool") or (isinstance(number, float) and kind != "float"):
        raise TypeError(f"{number!r} is no value of type {like.type}")
    return arithmetic.const(number, like.type)


def constant_like(number: Any, like: Node) -> Node:
    """Return a constant of the type, and of the dialect, of a node; raises what the dialect does if it does not fit."""
    return _arithmetic_of([like]).const(number, like.type)


def _converted(value: Node, dtype: Any) -> Node:
    wanted = read_type(dtype)
    arithmetic = _arithmetic_of([value])
    return value if value.type is wanted else arithmetic.cast(value, wanted)


def _arithmetic_of(nodes: list[Any]) -> Arithmetic:
    """Return the arithmetic of the one dialect that the nodes belong to."""
    dialect = ""
    for node in nodes:
        if not node.op.is_expression:
            raise TypeError(f"'{node.op.name}' is no value to compute with")
        home = _dialect_of(node)
        if home and dialect and home != dialect:
            raise TypeError(f"a value of dialect '{dialect}' cannot be combined with one of '{home}'")
        dialect = dialect or home
    if dialect:
        return _ARITHMETIC[dialect]
    from scaly_ir.call import PRIM

    return PRIM


def _dialect_of(root: Any) -> str:
    """Return the dialect that a value belongs to: that of its operator, or of what the operator is applied to.

    An operator of a third party takes its dialect from its operands. Empty when no dialect with arithmetic is found.
    """
    if root.op.dialect in _ARITHMETIC:
        return str(root.op.dialect)
    seen = {root}
    pending = [root]
    while pending:
        node = pending.pop()
        if node.op.dialect in _ARITHMETIC:
            return str(node.op.dialect)
        fresh = [operand for operand in node.args if operand not in seen]
        seen.update(fresh)
        pending.extend(reversed(fresh))
    return ""
