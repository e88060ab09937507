"""Integer and boolean operators on exact integers: values and, beside each, its transfer function on intervals.

Nothing here wraps; that is done with the result. Division by zero does not occur in the values (`table.py` says what it
gives); the bounds cover every meaning of it: 0 as a quotient, 0 and the dividend as a remainder. Operands of transfer
functions are not empty. Sources: program specification 1.4 and 4.3, graph specification B7 and B8.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator

from scaly_ir.numeric.interval import Interval

Divide = Callable[[int, int], int]


def quotient(x: int, y: int) -> int:
    """Return ``x / y`` rounded toward zero."""
    down = abs(x) // abs(y)
    return -down if (x < 0) != (y < 0) else down


def remainder(x: int, y: int) -> int:
    """Return ``x - quotient(x, y) * y``, which has the sign of `x`."""
    rest = abs(x) % abs(y)
    return -rest if x < 0 else rest


# --- transfer functions ----------------------------------------------------------------------------------------------


def add_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x + y``."""
    return Interval(x.low + y.low, x.high + y.high)


def sub_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x - y``."""
    return Interval(x.low - y.high, x.high - y.low)


def mul_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x * y``."""
    products = [x.low * y.low, x.low * y.high, x.high * y.low, x.high * y.high]
    return Interval(min(products), max(products))


def neg_bounds(x: Interval) -> Interval:
    """Bounds of ``-x``."""
    return Interval(-x.high, -x.low)


def abs_bounds(x: Interval) -> Interval:
    """Bounds of ``abs(x)``."""
    if x.low >= 0:
        return x
    return neg_bounds(x) if x.high <= 0 else Interval(0, max(-x.low, x.high))


def minimum_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``min(x, y)``."""
    return Interval(min(x.low, y.low), min(x.high, y.high))


def maximum_bounds(x: Interval, y: Interval) -> Interval:
    """Bounds of ``max(x, y)``."""
    return Interval(max(x.low, y.low), max(x.high, y.high))


def _divisors(y: Interval) -> Iterator[tuple[int, int]]:
    """Yield the negative and the positive part of a divisor."""
    if y.low < 0:
        yield int(y.low), int(min(y.high, -1))
    if y.high > 0:
        yield int(max(y.low, 1)), int(y.high)


def quotient_bounds(divide: Divide) -> Callable[[Interval, Interval], Interval]:
    """Return the bounds of a division: over each part of the divisor it is monotone in both operands."""

    def bounds(x: Interval, y: Interval) -> Interval:
        found = [divide(int(n), d) for part in _divisors(y) for d in part for n in (x.low, x.high)]
        if 0 in y:
            found.append(0)
        return Interval(min(found), max(found))

    return bounds


def _positive_rest(x: Interval, greatest: int) -> Interval:
    return Interval(0, min(greatest, x.high) if x.low >= 0 else greatest)


def _negative_rest(x: Interval, least: int) -> Interval:
    return Interval(max(least, x.low) if x.high <= 0 else least, 0)


def _truncated_rest(x: Interval, low: int, high: int) -> Interval:
    greatest = max(abs(low), abs(high)) - 1
    return Interval(0 if x.low >= 0 else max(x.low, -greatest), 0 if x.high <= 0 else min(x.high, greatest))


def _floored_rest(x: Interval, low: int, high: int) -> Interval:
    return _positive_rest(x, high - 1) if low > 0 else _negative_rest(x, low + 1)


def _rest_bounds(
    divide: Divide, rest: Divide, over: Callable[[Interval, int, int], Interval]
) -> Callable[..., Interval]:
    def bounds(x: Interval, y: Interval) -> Interval:
        low, high, divisor = int(x.low), int(x.high), y.single
        if divisor and divide(low, int(divisor)) == divide(high, int(divisor)):
            return Interval(rest(low, int(divisor)), rest(high, int(divisor)))
        parts = [over(x, *part) for part in _divisors(y)]
        if 0 in y:
            parts += [x, Interval(0, 0)]
        found = parts[0]
        for part in parts[1:]:
            found = found.hull(part)
        return found

    return bounds


remainder_bounds = _rest_bounds(quotient, remainder, _truncated_rest)
"""Bounds of the remainder toward zero."""
floormod_bounds = _rest_bounds(operator.floordiv, operator.mod, _floored_rest)
"""Bounds of the remainder of the division rounded down."""
