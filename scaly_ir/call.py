"""Calls of registered operators: making one from Python values, and checking one against its operator's contract.

`Call` makes a core node and checks nothing of the contract, as calls may be provisional; `validate` checks one call,
and the verifiers of the dialects check the same things with the same functions (`op_rules.py`). Source: operator
specification A4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from scaly_ir.attributes import Attrs
from scaly_ir.errors import VerifyError
from scaly_ir.graph import Node, intern_node
from scaly_ir.graph.expression import Arithmetic, place
from scaly_ir.op import Op
from scaly_ir.scalar_typing import TYPINGS
from scaly_ir.signature import attribute_faults
from scaly_ir.text.spelling import round_float
from scaly_ir.types import BOOL, FLOAT32, INT32, MISSING, STRING, DType, int_range, read_type

_CONST: Final = Op.get("prim.const")
_CALL: Final = Op.get("prim.call")

TY_ARGS: Final = "ty_args"
"""The attribute that holds the type arguments of a call that has some."""


class Symbol(str):
    """A function of the module, by its name, as what a call calls."""

    __slots__ = ()


def const(value: bool | float | str, type: Any) -> Node:
    """Return a constant: of an element type, or a string.

    `TypeError` when the value is none of the type, `ValueError` when it is out of range; a float32 is rounded. A bool
    is kept as 0 or 1.
    """
    wanted = read_type(type)
    if wanted is STRING or isinstance(value, str):
        if wanted is not STRING or not isinstance(value, str):
            raise TypeError(f"{value!r} is no value of type {wanted}")
        return intern_node(_CONST, (), Attrs({"value": str(value)}), STRING)
    if not isinstance(wanted, DType) or isinstance(value, bool) is not (wanted is BOOL):
        raise TypeError(f"{value!r} is no value of type {wanted}")
    if wanted.is_float:
        return intern_node(_CONST, (), Attrs({"value": round_float(float(value), wanted)}), wanted)
    if isinstance(value, float):
        raise TypeError(f"{value!r} is no value of type {wanted}")
    if int(value) not in int_range(wanted):
        raise ValueError(f"{value} does not fit {wanted}")
    return intern_node(_CONST, (), Attrs({"value": int(value)}), wanted)


def Call(  # noqa: N802 - the specification names it so
    op: Op | str,
    args: Sequence[Node | bool | float | str] = (),
    attrs: Mapping[str, Any] | None = None,
    ty_args: Sequence[Any] | None = None,
    *,
    ty: Any = None,
    loc: Any = None,
) -> Node:
    """Return the call of an operator, given as one or by name, or of a function (`Symbol`).

    Python's ``bool``, ``int``, ``float`` and ``str`` among the operands become constants of type bool, int32, float32
    and string; `TypeError` for anything else that is no node. The type is the first of: `ty`, the operator's
    `TFixedReturnType`, its `FInferType` (what that raises is raised), `MISSING`. `loc` is kept beside the node
    (`Node.loc`). The contract of the operator is not checked.
    """
    if isinstance(op, Symbol):
        op, attrs = _CALL, {**(attrs or {}), "callee": str(op)}
    callee = op if isinstance(op, Op) else Op.get(op)
    if isinstance(args, str | Node):
        raise TypeError(f"{callee.name}: the operands are a sequence, not one {type(args).__name__}")
    operands = tuple([_operand(callee, value, number) for number, value in enumerate(args)])
    given = dict(attrs or {})
    if ty_args:
        given[TY_ARGS] = [read_type(argument) for argument in ty_args]
    node = intern_node(callee, operands, Attrs(given), MISSING if ty is None else read_type(ty))
    if ty is None:
        inferred = callee.result_type(node)
        if inferred is not None:
            node = intern_node(callee, operands, node.attrs, inferred)
    if loc is not None:
        place(node, loc)
    return node


_LITERAL_TYPES: Final[dict[type, Any]] = {bool: BOOL, int: INT32, float: FLOAT32, str: STRING}
"""In the order in which a value is tried: a bool is an int for Python."""


def _operand(callee: Op, value: Any, number: int) -> Node:
    if isinstance(value, Node):
        return value
    if isinstance(value, bool | int | float | str) and not isinstance(value, DType):
        return const(value, next(dtype for kind, dtype in _LITERAL_TYPES.items() if isinstance(value, kind)))
    raise TypeError(f"{callee.name}: operand {number} is no expression but a '{type(value).__name__}'")


def call_attr(call: Node, name: str) -> Any:
    """Return an attribute of a call, or what it counts as when it is left out (None when that is nothing)."""
    if name in call.attrs:
        return call.attrs[name]
    spec = (call.op.attr_specs or {}).get(name)
    return None if spec is None or spec.required else spec.default


# --- the contract -----------------------------------------------------------------------------------------------------


class SignatureFault(NamedTuple):
    """What is wrong with a call by the signature of its operator; `attribute` names the one to blame, if any."""

    reason: str
    attribute: str = ""


def signature_faults(call: Node) -> Iterator[SignatureFault]:
    """Yield what is wrong with the operands and attributes of a call, in the words that follow the operator's name."""
    op = call.op
    wrong_count = op.count_fault(len(call.args))
    if wrong_count is not None:
        yield SignatureFault(wrong_count)
    for position, operand in enumerate(call.args):
        if not operand.op.is_expression:
            yield SignatureFault(f"argument '{_operand_name(op, position)}' is not an expression")
    if op.attr_specs is not None:
        attrs = call.attrs
        if op.ty_args_info and TY_ARGS in attrs:
            attrs = Attrs({name: value for name, value in attrs.items() if name != TY_ARGS})
        for reason in attribute_faults(op.attr_specs, attrs):
            yield SignatureFault(reason, reason.split("'")[1])


def _operand_name(op: Op, position: int) -> str:
    if position < len(op.args_info):
        return op.args_info[position].name
    return str(position) if op.var_args_info is None else op.var_args_info.name


def verify_faults(call: Node) -> Iterator[tuple[str, str]]:
    """Yield what the operator's own checks (`FVerify`) find: the name of a rule and a reason."""
    check = call.op.get_attr("FVerify")
    if check is not None:
        yield from check(call)


def validate(call: Node) -> None:
    """Check one call, but not its operands.

    `TypeError` for operands and attributes that do not match the signature and for a missing result type; `VerifyError`
    for the first that `FVerify` finds. What a rule raises is raised.
    """
    name = call.op.name
    for fault in signature_faults(call):
        raise TypeError(f"{name} {fault.reason}")
    if call.type is MISSING:
        raise TypeError(f"{name} has no result type")
    for rule, reason in verify_faults(call):
        message = f"verify_call: node {name} op={call.op.mnemonic} failed rule '{rule}': {reason}"
        raise VerifyError(message, node=call, rule=rule, reason=reason)


# --- arithmetic without a dialect -------------------------------------------------------------------------------------


def _apply(name: str, *operands: Node) -> Node:
    op = Op.get(f"prim.{name}")
    wrong_count = op.count_fault(len(operands))
    if wrong_count is not None:
        raise TypeError(f"{op.name} {wrong_count}")
    call = intern_node(op, operands, Attrs(), MISSING)
    typing = op.get_attr("TScalarTyping")
    for _rule, reason in TYPINGS[typing].problems(call) if typing in TYPINGS else ():
        raise TypeError(f"{op.name}: {reason}")
    return Call(op, operands)


def _cast(value: Node, dtype: Any) -> Node:
    if dtype is BOOL:
        return _apply("ne", value, const(0, value.type))
    return Call("prim.cast", [value], ty=dtype)


PRIM: Final = Arithmetic(const, _apply, _cast)
"""Arithmetic on values that belong to no dialect: it builds the shared operators themselves."""
