"""The one table of what the shared scalar operators mean: the value on constants beside the bounds on intervals.

A row has a meaning for integers (booleans too) and one for floats; the operand types choose. Values are exact: a result
is wrapped or rounded to its type by the caller. Source: program specification 1.4 and 4.3.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Final, NamedTuple

from scaly_ir.numeric import floating as f
from scaly_ir.numeric import integer as i
from scaly_ir.numeric import interval as v
from scaly_ir.numeric.interval import Interval
from scaly_ir.numeric.machine import Value, convert
from scaly_ir.op import Op


class ByZero(NamedTuple):
    """What an integer division by zero gives: in expr and prog (None: nothing, C has no meaning for it) and in uop."""

    core: int | None
    dividend: bool
    """Whether uop has it give the dividend; else 0."""


class Meaning(NamedTuple):
    """An operator on operands of one kind.

    `pole` tells for which operands an infinite result counts as a division by zero. `moves` marks operators that give
    back an operand, at most with another sign: they keep the payload of a NaN and raise no exception.
    """

    value: Callable[..., Value]
    bounds: Callable[..., Interval]
    pole: Callable[..., bool] | None = None
    by_zero: ByZero | None = None
    moves: bool = False


class Row(NamedTuple):
    """The meanings of one operator; None where it does not accept such operands."""

    integer: Meaning | None = None
    floating: Meaning | None = None


def _both(value: Callable[..., Value], bounds: Callable[..., Interval]) -> Row:
    return Row(Meaning(value, bounds), Meaning(value, bounds, moves=True))


def _library(name: str, bounds: Callable[..., Interval], pole: Callable[..., bool] | None = None) -> Row:
    return Row(floating=Meaning(f.library(name), bounds, pole))


def _select(condition: Value, x: Value, y: Value) -> Value:
    return x if condition else y


_QUOTIENT: Final = ByZero(None, dividend=False)
_REMAINDER: Final = ByZero(None, dividend=True)
_FLOOR_QUOTIENT: Final = ByZero(0, dividend=False)
_FLOOR_REMAINDER: Final = ByZero(0, dividend=True)

TABLE: Final[dict[str, Row]] = {
    "add": Row(Meaning(operator.add, i.add_bounds), Meaning(operator.add, f.add_bounds)),
    "sub": Row(Meaning(operator.sub, i.sub_bounds), Meaning(operator.sub, f.sub_bounds)),
    "mul": Row(Meaning(operator.mul, i.mul_bounds), Meaning(operator.mul, f.mul_bounds)),
    "div": Row(
        Meaning(i.quotient, i.quotient_bounds(i.quotient), by_zero=_QUOTIENT),
        Meaning(f.divide, f.div_bounds, pole=lambda x, y: y == 0.0),
    ),
    "mod": Row(Meaning(i.remainder, i.remainder_bounds, by_zero=_REMAINDER)),
    "floordiv": Row(Meaning(operator.floordiv, i.quotient_bounds(operator.floordiv), by_zero=_FLOOR_QUOTIENT)),
    "floormod": Row(Meaning(operator.mod, i.floormod_bounds, by_zero=_FLOOR_REMAINDER)),
    "neg": Row(Meaning(operator.neg, i.neg_bounds), Meaning(operator.neg, f.neg_bounds, moves=True)),
    "abs": Row(Meaning(abs, i.abs_bounds), Meaning(abs, f.abs_bounds, moves=True)),
    "sin": _library("sin", f.wave_bounds),
    "cos": _library("cos", f.wave_bounds),
    "tan": _library("tan", f.tan_bounds),
    "cosh": _library("cosh", f.cosh_bounds),
    "log": _library("log", f.LIBRARY_BOUNDS["log"], pole=lambda x: x == 0.0),
    **{name: _library(name, f.LIBRARY_BOUNDS[name]) for name in ("asin", "acos", "atan", "sinh", "tanh", "erf", "exp")},
    "sqrt": Row(floating=Meaning(f.sqrt, f.sqrt_bounds)),
    "floor": Row(floating=Meaning(f.floor, f.floor_bounds)),
    "ceil": Row(floating=Meaning(f.ceil, f.ceil_bounds)),
    "pow": _library("pow", f.pow_bounds, pole=lambda x, y: x == 0.0 and y < 0.0),
    "atan2": _library("atan2", f.atan2_bounds),
    "minimum": Row(Meaning(min, i.minimum_bounds), Meaning(f.minimum, f.minimum_bounds, moves=True)),
    "maximum": Row(Meaning(max, i.maximum_bounds), Meaning(f.maximum, f.maximum_bounds, moves=True)),
    "lt": _both(operator.lt, v.less),
    "le": _both(operator.le, v.less_equal),
    "eq": _both(operator.eq, v.equal),
    "ne": _both(operator.ne, v.not_equal),
    "and": Row(Meaning(operator.and_, v.conjunction)),
    "or": Row(Meaning(operator.or_, v.disjunction)),
    "not": Row(Meaning(operator.not_, v.negation)),
    "isfinite": Row(floating=Meaning(math.isfinite, f.isfinite_bounds, moves=True)),
    "select": _both(_select, v.choice),
    "cast": _both(convert, v.conversion),
}
"""By the name after ``prim.``; the functions of ``cast`` take the target type as a second operand."""

_PREFIX: Final = "prim."


def scalar_name(op: Op) -> str | None:
    """Return the key of an operator's row: that of the ``prim`` operator it is or shares the meaning of, or None."""
    name: str = op.get_attr("TScalarOp", op.name)
    key = name.removeprefix(_PREFIX)
    return key if key in TABLE and name.startswith(_PREFIX) else None
