"""The types of elementwise operators, by the type rule that an operator names (`TScalarTyping`).

Source: expression specification 1.2, 1.4 and 2.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from scaly_ir.dialects.expr.typing import Misuse, Rule, any_diff, broadcast, one_dtype, tensor_types, upper
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.tensors import TensorType
from scaly_ir.types import BOOL, DType

_KIND_RULES: Final = {frozenset({"float"}): "float-operands", frozenset({"int"}): "integer-operands"}
_KIND_WORDS: Final = {"bool": "a bool", "int": "an integer", "float": "a floating"}


def kind_rule(kinds: frozenset[str]) -> str:
    """Return the rule that arithmetic on an operand of another kind than these breaks."""
    return _KIND_RULES.get(kinds, "numeric-operands")


def check_kind(op: Op, dtype: DType, rule: str = "", position: int = 0) -> None:
    """Raise `Misuse` when an operation does not accept the dtype of the operand at a position."""
    kinds: frozenset[str] = op.get_attr("TOperandKinds")
    if dtype.kind not in kinds:
        words = [word for kind, word in _KIND_WORDS.items() if kind in kinds]
        words[1:] = [word.partition(" ")[2] for word in words[1:]]
        wanted = " or ".join(words) if words else "no"
        message = f"'{op.mnemonic}' needs {wanted} operand, got {dtype}; convert it with sc.cast"
        reason = f"{upper(op)} needs {wanted} operand, got {dtype}"
        raise Misuse(rule or kind_rule(kinds), reason, TypeError, message, part=position)


def _arith(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    dtype = one_dtype(op, "binary-shape-dtype-match", types)
    check_kind(op, dtype)
    return TensorType(broadcast(op, "binary-shape-dtype-match", types), dtype, any_diff(op, types))


def _compare(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    check_kind(op, one_dtype(op, "compare-types", types), "compare-types")
    return TensorType(broadcast(op, "compare-types", types), BOOL, diff=False)


def _logic(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    types = tensor_types(op, args)
    for position, type_ in enumerate(types):
        check_kind(op, type_.dtype, "logical-types", position)
    return TensorType(broadcast(op, "logical-types", types), BOOL, diff=False)


def _test(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    check_kind(op, type_.dtype, "isfinite-types")
    return TensorType(type_.shape, BOOL, diff=False)


def _select(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    condition, first, second = types = tensor_types(op, args)
    if condition.dtype is not BOOL:
        message = f"the condition of 'select' is {condition.dtype}, not bool; compare it with something"
        reason = f"SELECT condition has dtype {condition.dtype}, not bool"
        raise Misuse("select-types", reason, TypeError, message, part=0)
    dtype = one_dtype(op, "select-types", [first, second], (1, 2))
    return TensorType(broadcast(op, "select-types", types), dtype, first.diff or second.diff)


def _cast(op: Op, args: Sequence[Node], attrs: Mapping[str, Any], stated: Any) -> TensorType:
    (type_,) = tensor_types(op, args)
    if stated is None:
        raise Misuse("cast-types", "CAST states no type", TypeError)
    if stated.dtype is BOOL:
        raise Misuse("cast-types", "CAST to bool must be written as ne(x, 0)", TypeError)
    diff = type_.diff and type_.dtype.is_float and stated.dtype.is_float
    return TensorType(type_.shape, stated.dtype, diff)


_TYPINGS: Final[dict[str, Rule]] = {
    "arith": _arith,
    "compare": _compare,
    "logic": _logic,
    "test": _test,
    "select": _select,
    "cast": _cast,
}


def dense_rule(op: Op) -> Rule:
    """Return the type rule of an elementwise operator, for dense operands."""
    return _TYPINGS[op.get_attr("TScalarTyping")]
