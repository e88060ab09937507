"""The exact value of a scalar operator on constants, or the reason why a folder must leave it alone.

Integers wrap in two's complement, floats are rounded to the type of the result, and functions of the C library come
from the operator's attribute `FNumpy`, so only they load NumPy. Sources: program specification 4.3, expression
specification 2.2, 2.3 and 6.2, graph specification B7 (a zero divisor in uop; NaNs that are the same on every host).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Literal

from scaly_ir.errors import EvaluationError, described
from scaly_ir.graph.node import Node
from scaly_ir.numeric.machine import NAN, NotExact, Reason, Value, convert, first_nan, truncate
from scaly_ir.numeric.table import TABLE, Meaning, Row, scalar_name
from scaly_ir.types import BOOL, DType

ZeroDivisor = Literal["zero", "dividend"]
"""What an integer division by zero gives: ``zero`` in expr and prog; ``dividend`` in uop, as the remainder."""


def evaluate(name: str, dtype: DType, operands: Sequence[Value], *, zero_divisor: ZeroDivisor = "zero") -> Value:
    """Return ``prim.<name>`` of constant operands as a value of the result type `dtype`.

    Operands are ints (bools for ``bool``) or floats, all of the operator's operand type. `NotExact` carries the reason
    and what IEEE gives: a domain error, an infinite result of finite operands, a division by zero (with floordiv and
    floormod it has a value, 0), a float that no integer of `dtype` holds. `KeyError` when there is no such operator,
    `TypeError` for operands it does not accept.
    """
    row = TABLE[name]
    if name == "cast":
        (operand,) = operands
        return convert(operand, dtype)
    meaning = _meaning(name, row, dtype, operands)
    if meaning.by_zero is not None and operands[1] == 0:
        return _divided_by_zero(meaning, operands, dtype, zero_divisor)
    result = meaning.value(*operands)
    if meaning.moves or not isinstance(result, float):
        return truncate(result, dtype)
    return _rounded(meaning, tuple(operands), result, dtype)


def _meaning(name: str, row: Row, dtype: DType, operands: Sequence[Value]) -> Meaning:
    """Choose by the kind of the operands; a condition is not one of those that have to agree."""
    kinds = {isinstance(operand, float) for operand in (operands[1:] if name == "select" else operands)}
    meaning = row.floating if kinds == {True} else row.integer if kinds == {False} else None
    if meaning is None or (dtype is not BOOL and dtype.is_float not in kinds):
        raise TypeError(
            f"'prim.{name}' to {dtype} does not accept {', '.join([repr(operand) for operand in operands])}"
        )
    return meaning


def _divided_by_zero(meaning: Meaning, operands: Sequence[Value], dtype: DType, zero_divisor: ZeroDivisor) -> Value:
    assert meaning.by_zero is not None
    if zero_divisor == "dividend":
        return truncate(operands[0], dtype) if meaning.by_zero.dividend else 0
    if meaning.by_zero.core is None:
        raise NotExact(Reason.DIVISION_BY_ZERO)
    return meaning.by_zero.core


def _rounded(meaning: Meaning, operands: tuple[Value, ...], result: float, dtype: DType) -> Value:
    """Return a float result rounded to `dtype`; `NotExact` where IEEE signals anything but an inexact result."""
    if result != result:
        nan = first_nan(operands)
        if nan is not None:
            return truncate(nan, dtype)
        pole = meaning.pole is not None and meaning.pole(*operands)
        raise NotExact(Reason.DIVISION_BY_ZERO if pole else Reason.DOMAIN, NAN)
    rounded = truncate(result, dtype)
    if math.isinf(rounded):
        if meaning.pole is not None and meaning.pole(*operands):
            raise NotExact(Reason.DIVISION_BY_ZERO, rounded)
        if all([math.isfinite(operand) for operand in operands]):
            raise NotExact(Reason.OVERFLOW, rounded)
    return rounded


def evaluate_node(node: Node, operands: Sequence[Value], *, zero_divisor: ZeroDivisor = "zero") -> Value:
    """Return the value of a scalar node whose operands have the given values.

    A shared scalar operator goes through `evaluate`; any other through its attribute `FNumpy`, as `by_reference` has
    it. `NotExact` as for `evaluate`, and when the operator has no reference semantics; `EvaluationError` for one whose
    `FNumpy` fails. Whether the operator may be evaluated at all (its effect) is for the caller to know.
    """
    name = scalar_name(node.op)
    if name is not None:
        return evaluate(name, node.dtype, operands, zero_divisor=zero_divisor)
    if not node.op.has_attr("FNumpy"):
        raise NotExact(Reason.OPAQUE)
    import numpy

    try:
        with numpy.errstate(all="raise", under="ignore"):
            return by_reference(node)(*operands)
    except FloatingPointError as error:
        raise NotExact(signalled(error)) from error


def by_reference(node: Node) -> Callable[..., Value]:
    """Return what the `FNumpy` of a node's operator computes, as a function of values; it gets arrays of one element.

    That raises `EvaluationError`, which blames the node, when `FNumpy` raises anything but `FloatingPointError`, which
    goes through, and when it does not give exactly one value of the node's type.
    """
    import numpy

    function, attrs, dtype = node.op.get_attr("FNumpy"), node.attrs, node.dtype
    # Arrays, since NumPy reports the wrapping of integers only for its scalars.
    kinds = [numpy.dtype(str(operand.dtype)) for operand in node.args]

    def apply(*operands: Value) -> Value:
        arrays = [numpy.array([value], kind) for value, kind in zip(operands, kinds, strict=True)]
        try:
            result = numpy.asarray(function(*arrays, **attrs))
        except FloatingPointError:
            raise
        except Exception as error:  # of a third party: whatever it raises is shown
            raise failed_reference(node, error) from error
        if result.size != 1:
            raise bad_reference(node, f"{result.size} values for one element")
        value = result.item()
        if not isinstance(value, int | float) or isinstance(value, float) is not dtype.is_float:
            raise bad_reference(node, f"{value!r}, which is no {dtype}")
        return truncate(value, dtype)

    return apply


def failed_reference(node: Node, error: Exception) -> EvaluationError:
    """Return the error for an exception inside the `FNumpy` of a node's operator."""
    return blaming(node, f"FNumpy of '{node.op.name}' failed: {described(error)}")


def bad_reference(node: Node, given: str) -> EvaluationError:
    """Return the error for what the `FNumpy` of a node's operator gave."""
    return blaming(node, f"FNumpy of '{node.op.name}' gave {given}")


def blaming(node: Node, reason: str) -> EvaluationError:
    """Return the error for a node that cannot be evaluated."""
    failure = EvaluationError(reason, reason=reason)
    failure.blamed = (node,)
    return failure


def signalled(error: FloatingPointError) -> Reason:
    """Return why a result that NumPy signals is not exact."""
    text = str(error)
    if text.startswith("divide"):
        return Reason.DIVISION_BY_ZERO
    return Reason.OVERFLOW if text.startswith("overflow") else Reason.DOMAIN
