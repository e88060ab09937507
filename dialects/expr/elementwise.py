"""Elementwise operations as functions, by the names that NumPy gives them. Source: expression specification 3.1."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import binary, unary

if TYPE_CHECKING:
    from scaly_ir.dialects.expr.node import Expr

dtypes: Final = SimpleNamespace(**ops.DTYPES)
"""The five element types: ``dtypes.float64`` and so on."""


def less(x: Any, y: Any) -> Expr:
    """Return ``x < y``."""
    return binary("lt", x, y)


def less_equal(x: Any, y: Any) -> Expr:
    """Return ``x <= y``."""
    return binary("le", x, y)


def greater(x: Any, y: Any) -> Expr:
    """Return ``x > y``, as ``y < x``."""
    return binary("lt", y, x)


def greater_equal(x: Any, y: Any) -> Expr:
    """Return ``x >= y``, as ``y <= x``."""
    return binary("le", y, x)


def equal(x: Any, y: Any) -> Expr:
    """Return where entries are equal; ``==`` compares the identity of expressions."""
    return binary("eq", x, y)


def not_equal(x: Any, y: Any) -> Expr:
    """Return where entries differ; a NaN differs from everything."""
    return binary("ne", x, y)


def logical_and(x: Any, y: Any) -> Expr:
    """Return where both of two bools hold."""
    return binary("and", x, y)


def logical_or(x: Any, y: Any) -> Expr:
    """Return where one of two bools holds."""
    return binary("or", x, y)


def logical_not(x: Any) -> Expr:
    """Return where a bool does not hold."""
    return unary("not", x)


def isfinite(x: Any) -> Expr:
    """Return where entries are neither infinite nor NaN."""
    return unary("isfinite", x)


def minimum(x: Any, y: Any) -> Expr:
    """Return the lesser entries; of a NaN and a number, the number."""
    return binary("minimum", x, y)


def maximum(x: Any, y: Any) -> Expr:
    """Return the greater entries; of a NaN and a number, the number."""
    return binary("maximum", x, y)


def atan2(y: Any, x: Any) -> Expr:
    """Return the angles of the points ``(x, y)``."""
    return binary("atan2", y, x)
