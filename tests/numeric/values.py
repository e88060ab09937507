"""What the tests of exact evaluation share: operands to draw and when two results are the same."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hypothesis import strategies as st

from scaly_ir.numeric.machine import NotExact, Reason, Value
from scaly_ir.text.spelling import float_bits
from scaly_ir.types import BOOL, DTYPES, FLOAT64, DType
from tests.dialects.prog.generators import float_values, int_values

VALUES: dict[DType, st.SearchStrategy[Any]] = {
    dtype: st.booleans() if dtype is BOOL else float_values(dtype) if dtype.is_float else int_values(dtype)
    for dtype in DTYPES
}
"""Any value of a type, with a liking for the odd ones."""

NUMERIC = tuple([dtype for dtype in DTYPES if dtype is not BOOL])
INTEGERS = tuple([dtype for dtype in DTYPES if dtype.is_int])
FLOATS = tuple([dtype for dtype in DTYPES if dtype.is_float])


def outcome(function: Callable[..., Value], *operands: Any) -> tuple[Value | None, Reason | None]:
    """Return a value, and why a folder must leave it alone, if it must."""
    try:
        return function(*operands), None
    except NotExact as inexact:
        return inexact.value, inexact.reason


def same(x: Value | None, y: Value | None) -> bool:
    """Tell whether two results are the same value: of one kind, by bits, all NaNs alike."""
    if isinstance(x, float) and isinstance(y, float):
        return float_bits(x) == float_bits(y) or (x != x and y != y)
    return type(x) is type(y) and x == y


def nearest(exact: Fraction, dtype: DType) -> float:
    """Round a fraction to a floating type by the definition: nearest, ties to even, too large is infinite."""
    digits, least, most = (53, -1074, 1024) if dtype is FLOAT64 else (24, -149, 128)
    if not exact:
        return 0.0
    exponent = abs(exact.numerator).bit_length() - exact.denominator.bit_length()
    if abs(exact) < Fraction(2) ** exponent:
        exponent -= 1
    unit = Fraction(2) ** max(exponent - digits + 1, least)
    rounded = round(exact / unit) * unit
    if abs(rounded) >= Fraction(2) ** most:
        return float("inf") if exact > 0 else float("-inf")
    return float(rounded)
