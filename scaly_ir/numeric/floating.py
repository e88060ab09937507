"""Floating-point operators in double precision: values and, beside each, its transfer function on intervals.

Values follow IEEE 754 and never raise; the caller rounds them to the node's type and reports exceptions. Bounds rely on
rounding being monotone: the ends of the exact interval, rounded, are ends. Functions of the C library are evaluated by
the operator's `FNumpy`; their bounds come from Python's `math` and are widened, since libraries differ in the last
bits. Sources: program specification 1.4 and 4.3, graph specification B7 and B8.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Final, NamedTuple

from scaly_ir.numeric.interval import EITHER, FALSE, NO_NUMBER, TRUE, Interval
from scaly_ir.op import Op

_INF: Final = math.inf
Function = Callable[..., float]
Transfer = Callable[..., Interval]


# --- values ----------------------------------------------------------------------------------------------------------


def divide(x: float, y: float) -> float:
    """Return ``x / y``; a zero divisor gives an infinity with the sign of the quotient, or NaN."""
    if y:
        return x / y
    return math.copysign(_INF, x) * math.copysign(1.0, y) if x and x == x else math.nan


def sqrt(x: float) -> float:
    """Return the square root, correctly rounded; NaN below zero."""
    return math.nan if x < 0.0 else math.sqrt(x)


def floor(x: float) -> float:
    """Return `x` rounded down; zeros, infinities and NaNs stay."""
    return math.copysign(float(math.floor(x)), x) if abs(x) < 2.0**52 else x


def ceil(x: float) -> float:
    """Return `x` rounded up; a result of zero keeps the sign of `x`."""
    return math.copysign(float(math.ceil(x)), x) if abs(x) < 2.0**52 else x


def minimum(x: float, y: float) -> float:
    """Return the smaller number as C's ``fmin``: a number beats NaN. ``-0.0`` counts as smaller than ``0.0``."""
    if x == y:
        return x if math.copysign(1.0, x) < 0.0 else y
    return x if x < y or y != y else y


def maximum(x: float, y: float) -> float:
    """Return the greater number as C's ``fmax``: a number beats NaN. ``-0.0`` counts as smaller than ``0.0``."""
    if x == y:
        return y if math.copysign(1.0, x) < 0.0 else x
    return x if x > y or y != y else y


def library(name: str) -> Function:
    """Return the function of the C library that `prim.<name>` stands for, evaluated by its attribute `FNumpy`."""

    def call(*operands: float) -> float:
        return float(Op.get(f"prim.{name}").get_attr("FNumpy")(*operands))

    return call


# --- transfer functions ----------------------------------------------------------------------------------------------


def _numbers(function: Transfer) -> Transfer:
    """Return a transfer function that need not care about NaN operands: they make the result NaN."""

    def bounds(*operands: Interval) -> Interval:
        nan = any([operand.nan for operand in operands])
        if not all([operand.has_numbers for operand in operands]):
            return NO_NUMBER._replace(nan=nan)
        found = function(*operands)
        return found._replace(nan=nan) if nan else found

    return bounds


def _ends(low: float, high: float, nan: bool) -> Interval:
    """Return an interval whose ends were computed: where one is NaN nothing is known on that side."""
    return Interval(-_INF if low != low else low, _INF if high != high else high, nan)


@_numbers
def add_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x + y``."""
    opposite = (x.high == _INF and y.low == -_INF) or (x.low == -_INF and y.high == _INF)
    return _ends(x.low + y.low, x.high + y.high, opposite)


@_numbers
def neg_bounds(x: Interval) -> Interval:
    """Bounds of ``-x``."""
    return Interval(-x.high, -x.low)


def sub_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x - y``."""
    return add_bounds(x, neg_bounds(y))


def _infinite(x: Interval) -> bool:
    return x.low == -_INF or x.high == _INF


@_numbers
def mul_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x * y``; where an end is 0 times infinity the products near it are 0 or taken by other ends."""
    products = [a * b if a and b else 0.0 for a in x[:2] for b in y[:2]]
    return Interval(min(products), max(products), (0.0 in x and _infinite(y)) or (0.0 in y and _infinite(x)))


@_numbers
def div_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x / y``; a divisor that may be 0 allows any result, since the sign of zero is not known."""
    both_infinite = _infinite(x) and _infinite(y)
    if 0.0 in y:
        return Interval(-_INF, _INF, 0.0 in x or both_infinite)
    quotients = [a / b for a in x[:2] for b in y[:2] if not (math.isinf(a) and math.isinf(b))]
    return Interval(min(quotients), max(quotients), both_infinite) if quotients else NO_NUMBER._replace(nan=True)


@_numbers
def abs_bounds(x: Interval) -> Interval:
    """Bounds of ``abs(x)``."""
    least = 0.0 if 0.0 in x else min(abs(x.low), abs(x.high))
    return Interval(least, max(abs(x.low), abs(x.high)))


@_numbers
def floor_bounds(x: Interval) -> Interval:
    """Bounds of ``floor(x)``."""
    return Interval(floor(x.low), floor(x.high))


@_numbers
def ceil_bounds(x: Interval) -> Interval:
    """Bounds of ``ceil(x)``."""
    return Interval(ceil(x.low), ceil(x.high))


@_numbers
def sqrt_bounds(x: Interval) -> Interval:
    """Bounds of ``sqrt(x)``."""
    if x.high < 0.0:
        return NO_NUMBER._replace(nan=True)
    return Interval(sqrt(max(x.low, 0.0)), sqrt(x.high), x.low < 0.0)


def isfinite_bounds(x: Interval) -> Interval:
    """Bounds of ``isfinite(x)``."""
    if not x.has_numbers or x.low == _INF or x.high == -_INF:
        return FALSE
    return EITHER if x.nan or _infinite(x) else TRUE


def _extremum(choose: Callable[[float, float], float]) -> Transfer:
    def bounds(x: Interval, y: Interval) -> Interval:
        numbers = x.has_numbers and y.has_numbers
        found = Interval(choose(x.low, y.low), choose(x.high, y.high)) if numbers else NO_NUMBER
        if x.nan:
            found = found.hull(y)
        if y.nan:
            found = found.hull(x)
        return found._replace(nan=x.nan and y.nan)

    return bounds


minimum_bounds = _extremum(min)
"""Bounds of ``fmin(x, y)``: where one operand may be NaN, all of the other is possible."""
maximum_bounds = _extremum(max)
"""Bounds of ``fmax(x, y)``."""


# --- functions of the C library --------------------------------------------------------------------------------------

_STEPS: Final = 4
"""By how many neighbouring doubles a library may differ from Python's; the worst in use differ by fewer."""


def _below(value: float) -> float:
    for _ in range(_STEPS):
        value = math.nextafter(value, -_INF)
    return value


def _above(value: float) -> float:
    for _ in range(_STEPS):
        value = math.nextafter(value, _INF)
    return value


def _call(function: Function, *operands: float) -> float:
    """Apply a function of `math`, which raises where C gives an infinity or NaN; overflow here is upward."""
    try:
        return function(*operands)
    except OverflowError:
        return _INF


def _log(x: float) -> float:
    return math.log(x) if x else -_INF


def _sinh(x: float) -> float:
    return math.copysign(_call(math.sinh, abs(x)), x)


class Monotone(NamedTuple):
    """A function that only rises on `domain` (only falls, where `falling`) and stays within `image`.

    `exact` is the operand at which every library is exact; widening there would lose the sign of the result.
    """

    function: Function
    exact: float
    domain: tuple[float, float] = (-_INF, _INF)
    image: tuple[float, float] = (-_INF, _INF)
    falling: bool = False


def monotone(row: Monotone) -> Transfer:
    """Return the bounds of a monotone function; an operand outside its domain gives NaN."""

    def end(operand: float, widen: Function) -> float:
        value = _call(row.function, operand)
        return value if operand == row.exact or math.isinf(operand) else widen(value)

    def bounds(x: Interval) -> Interval:
        outside = x.low < row.domain[0] or x.high > row.domain[1]
        low, high = max(x.low, row.domain[0]), min(x.high, row.domain[1])
        if low > high:
            return NO_NUMBER._replace(nan=True)
        if row.falling:
            low, high = high, low
        return Interval(max(end(low, _below), row.image[0]), min(end(high, _above), row.image[1]), outside)

    return _numbers(bounds)


_PI: Final = math.nextafter(math.pi, _INF)
_HALF_PI: Final = math.nextafter(math.pi / 2.0, _INF)

LIBRARY_BOUNDS: Final[dict[str, Transfer]] = {
    "exp": monotone(Monotone(math.exp, 0.0, image=(0.0, _INF))),
    "log": monotone(Monotone(_log, 1.0, domain=(0.0, _INF))),
    "sinh": monotone(Monotone(_sinh, 0.0)),
    "tanh": monotone(Monotone(math.tanh, 0.0, image=(-1.0, 1.0))),
    "erf": monotone(Monotone(math.erf, 0.0, image=(-1.0, 1.0))),
    "atan": monotone(Monotone(math.atan, 0.0, image=(-_HALF_PI, _HALF_PI))),
    "asin": monotone(Monotone(math.asin, 0.0, domain=(-1.0, 1.0), image=(-_HALF_PI, _HALF_PI))),
    "acos": monotone(Monotone(math.acos, 1.0, domain=(-1.0, 1.0), image=(0.0, _PI), falling=True)),
}
"""Functions that are monotone where they are defined."""


@_numbers
def wave_bounds(x: Interval) -> Interval:
    """Bounds of the sine and the cosine, which an infinity has none of."""
    return Interval(-1.0, 1.0, _infinite(x)) if x.low < _INF and x.high > -_INF else NO_NUMBER._replace(nan=True)


@_numbers
def tan_bounds(x: Interval) -> Interval:
    """Bounds of the tangent."""
    return Interval(-_INF, _INF, _infinite(x)) if x.low < _INF and x.high > -_INF else NO_NUMBER._replace(nan=True)


_rising_cosh: Final = monotone(Monotone(math.cosh, 0.0, image=(1.0, _INF)))


def cosh_bounds(x: Interval) -> Interval:
    """Bounds of the hyperbolic cosine."""
    return _rising_cosh(abs_bounds(x))


@_numbers
def atan2_bounds(y: Interval, x: Interval) -> Interval:
    """Bounds of ``atan2(y, x)``: by the half planes that the operands lie in."""
    reach = _HALF_PI if x.low > 0.0 else _PI
    return Interval(0.0 if y.low > 0.0 else -reach, 0.0 if y.high < 0.0 else reach)


@_numbers
def _pow_of_numbers(x: Interval, y: Interval) -> Interval:
    # For a base of at least 0 the power is monotone in each operand. A zero base has no known sign, and with a negative
    # exponent gives an infinity of that sign.
    if x.low < 0.0 or (x.low == 0.0 and y.low < 0.0):
        return Interval(-_INF, _INF, x.low < 0.0)
    powers = [_call(math.pow, a, b) for a in x[:2] for b in y[:2]]
    return Interval(max(_below(min(powers)), 0.0), _above(max(powers)))


def pow_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``pow(x, y)``: ``x**0`` and ``1**y`` are 1 even for NaN."""
    found = _pow_of_numbers(x, y)
    return found.hull(Interval(1.0, 1.0)) if x.nan or y.nan else found
