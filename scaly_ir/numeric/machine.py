"""Values of the machine types: how they wrap, round and convert.

A value is a Python ``bool`` or ``int`` for the boolean and integer types and a ``float`` for the floating types; a
float32 is held as the float64 of the same value, a NaN with its payload in the high bits of the fraction. Owns no
operator. Sources: program specification 4.3, graph specification B1 (NaNs between formats) and B7.
"""

from __future__ import annotations

import math
from enum import Enum
from typing import Final

from scaly_ir.text.spelling import float_bits, float_from_bits, round_float
from scaly_ir.types import FLOAT64, DType, int_range

Value = int | float
"""One value of a machine type; ``bool`` is an ``int``."""

NAN: Final = math.nan
"""What an operation on numbers gives when it has no result: the positive quiet NaN without a payload."""


class Reason(Enum):
    """Why a result is not one that a folder may put in place of the operation."""

    DIVISION_BY_ZERO = "division by zero"
    DOMAIN = "outside the domain"
    OVERFLOW = "overflow of a floating type"
    CONVERSION = "outside the range of the integer type"
    OPAQUE = "the operator has no reference semantics"


class NotExact(ArithmeticError):  # noqa: N818 - no error: the node is to be left alone
    """An evaluation has no exact value.

    `value` is what IEEE arithmetic, and an evaluator that goes on, gives instead; None where there is nothing to give,
    as for an integer divided by zero.
    """

    def __init__(self, reason: Reason, value: Value | None = None) -> None:
        super().__init__(reason.value)
        self.reason = reason
        self.value = value


def wrap(value: int, bits: int, *, signed: bool = True) -> int:
    """Return `value` modulo ``2**bits``, in two's complement when `signed`."""
    if not signed:
        return value & ((1 << bits) - 1)
    half = 1 << (bits - 1)
    return ((value + half) & ((1 << bits) - 1)) - half


def round_int(value: int, dtype: DType) -> float:
    """Return an integer of any size rounded once to a floating type, ties to even; what is too large is infinite."""
    magnitude = abs(value)
    excess = magnitude.bit_length() - (53 if dtype is FLOAT64 else 24)
    if excess > 0:
        kept, lost = divmod(magnitude, 1 << excess)
        half = 1 << (excess - 1)
        magnitude = (kept + (lost > half or (lost == half and kept & 1))) << excess
    try:
        rounded = float(magnitude)
    except OverflowError:
        rounded = math.inf
    return round_float(-rounded if value < 0 else rounded, dtype)


def truncate(value: Value, dtype: DType) -> Value:
    """Return `value` as one of `dtype`: integers wrap, floats round to nearest even, bool is ``value != 0``.

    `TypeError` for a float where an integer type is wanted: that is a conversion.
    """
    if dtype.is_float:
        return round_float(value, dtype) if isinstance(value, float) else round_int(value, dtype)
    if dtype.is_int:
        if isinstance(value, float):
            raise TypeError(f"{value} is no value of {dtype}; use convert")
        return wrap(value, dtype.bits)
    return value != 0


def convert(value: Value, dtype: DType) -> Value:
    """Return `value` cast to `dtype`: the meaning of ``prim.cast``.

    `NotExact` when a float becomes an integer that `dtype` cannot hold (the value given instead is the minimum) and
    when a finite float becomes infinite.
    """
    if not isinstance(value, float):
        return truncate(value, dtype)
    if dtype.is_int:
        if not math.isfinite(value) or math.trunc(value) not in int_range(dtype):
            raise NotExact(Reason.CONVERSION, int_range(dtype)[0])
        return math.trunc(value)
    result = truncate(value, dtype)
    if math.isinf(result) and math.isfinite(value):
        raise NotExact(Reason.OVERFLOW, result)
    return result


def first_nan(operands: tuple[Value, ...]) -> float | None:
    """Return the first NaN among the operands made quiet, or None: what an operation on NaNs gives on every host."""
    for operand in operands:
        if operand != operand:
            return float_from_bits(float_bits(operand) | 1 << 51)
    return None
