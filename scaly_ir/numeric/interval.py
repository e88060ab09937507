"""Intervals of values, and the transfer functions that are the same for integers and floats.

An interval may say "and NaN"; one whose `low` is above its `high` holds no number. Zeros are not told apart by sign:
an interval that holds one holds both. Source: graph specification B8.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Final, NamedTuple

from scaly_ir.numeric.machine import Value, convert, round_int, truncate, wrap
from scaly_ir.types import DType, int_range


class Interval(NamedTuple):
    """Every number from `low` to `high`, both included, and NaN when `nan` is true."""

    low: Value
    high: Value
    nan: bool = False

    @property
    def has_numbers(self) -> bool:
        """Whether it holds a number."""
        return self.low <= self.high

    @property
    def is_empty(self) -> bool:
        """Whether it holds nothing at all, as the variable of a loop that makes no trip."""
        return self.low > self.high and not self.nan

    @property
    def single(self) -> Value | None:
        """The one value it holds (a zero of either sign counts as one), or None."""
        return self.low if self.low == self.high and not self.nan else None

    def __contains__(self, value: object) -> bool:
        """Tell whether a value lies inside."""
        if not isinstance(value, int | float):
            return False
        return self.nan if value != value else self.low <= value <= self.high

    def hull(self, other: Interval) -> Interval:
        """Return the least interval that holds both."""
        nan = self.nan or other.nan
        if not other.has_numbers:
            return self._replace(nan=nan)
        if not self.has_numbers:
            return other._replace(nan=nan)
        return Interval(min(self.low, other.low), max(self.high, other.high), nan)


NO_NUMBER: Final = Interval(math.inf, -math.inf)
FALSE: Final = Interval(0, 0)
TRUE: Final = Interval(1, 1)
EITHER: Final = Interval(0, 1)


def full(dtype: DType) -> Interval:
    """Return the interval of every value of a type, for floats NaN included."""
    if dtype.is_float:
        return Interval(-math.inf, math.inf, True)
    allowed = int_range(dtype)
    return Interval(allowed[0], allowed[-1])


def covering(values: Iterable[Value]) -> Interval:
    """Return the least interval that holds all of some values; a range costs the same whatever its length."""
    if isinstance(values, range):
        return Interval(min(values[0], values[-1]), max(values[0], values[-1])) if values else Interval(0, -1)
    every = list(values)
    numbers = [value for value in every if value == value]
    nan = len(numbers) < len(every)
    return Interval(min(numbers), max(numbers), nan) if numbers else NO_NUMBER._replace(nan=nan)


def fits(raw: Interval, dtype: DType) -> bool:
    """Tell whether every number of an interval of exact results is a value of an integer type."""
    allowed = full(dtype)
    return allowed.low <= raw.low and raw.high <= allowed.high


def settle(raw: Interval, dtype: DType) -> Interval:
    """Return what becomes of exact results when they are stored as `dtype`: floats round, integers wrap.

    Integers that leave their type become the one value wrapped or anything.
    """
    if dtype.is_float:
        if not raw.has_numbers:
            return NO_NUMBER._replace(nan=raw.nan)
        return Interval(truncate(raw.low, dtype), truncate(raw.high, dtype), raw.nan)
    if not raw.has_numbers or fits(raw, dtype):
        return raw
    if raw.low == raw.high and isinstance(raw.low, int):
        wrapped = wrap(raw.low, dtype.bits)
        return Interval(wrapped, wrapped)
    return full(dtype)


# --- transfer functions ----------------------------------------------------------------------------------------------


def _truth(possible: bool, certain: bool) -> Interval:
    return TRUE if certain else EITHER if possible else FALSE


def less(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x < y``, which is false when either is NaN."""
    numbers = x.has_numbers and y.has_numbers
    return _truth(numbers and x.low < y.high, numbers and not x.nan and not y.nan and x.high < y.low)


def less_equal(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x <= y``, which is false when either is NaN."""
    numbers = x.has_numbers and y.has_numbers
    return _truth(numbers and x.low <= y.high, numbers and not x.nan and not y.nan and x.high <= y.low)


def equal(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x == y``, which is false when either is NaN."""
    numbers = x.has_numbers and y.has_numbers
    possible = numbers and x.low <= y.high and y.low <= x.high
    return _truth(possible, possible and x.single is not None and x.single == y.single)


def not_equal(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x != y``, which is true when either is NaN."""
    return negation(equal(x, y))


def negation(x: Interval) -> Interval:
    """Bounds of ``not x``."""
    return Interval(1 - x.high, 1 - x.low)


def conjunction(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x and y``."""
    return Interval(min(x.low, y.low), min(x.high, y.high))


def disjunction(x: Interval, y: Interval) -> Interval:
    """Bounds of ``x or y``."""
    return Interval(max(x.low, y.low), max(x.high, y.high))


def choice(condition: Interval, x: Interval, y: Interval) -> Interval:
    """Bounds of ``x if condition else y``."""
    if condition.low == condition.high:
        return x if condition.low else y
    return x.hull(y)


def conversion(x: Interval, target: DType) -> Interval:
    """Bounds of a cast, before they are settled: an integer that a float cannot become may be any."""
    if not isinstance(x.low, float):
        return Interval(round_int(x.low, target), round_int(int(x.high), target)) if target.is_float else x
    if target.is_float:
        return x
    try:
        if x.nan:
            return full(target)
        return Interval(convert(x.low, target), convert(x.high, target))
    except ArithmeticError:
        return full(target)
