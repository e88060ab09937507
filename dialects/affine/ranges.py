"""What maps do over a box of loops: how far results reach, and whether two points have one image.

Intervals decide where they can; where not, a box of at most 2^20 points is enumerated. Source: matrix specification
4.2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, Final

from scaly_ir.dialects.affine.maps import NEGATE, AffineMap, Dim, Expr, dims_of, evaluate, fold

MOST_POINTS: Final = 1 << 20
"""A box of more points is not enumerated."""

Interval = tuple[int, int]


def bounds(expr: Expr, box: Sequence[int]) -> Interval:
    """Return an interval that holds all values over a box that is not empty."""
    return fold(expr, lambda leaf: (0, box[leaf.number] - 1) if isinstance(leaf, Dim) else (leaf, leaf), _interval)


def reach(expr: Expr, box: Sequence[int]) -> Interval | None:
    """Return the least and greatest value of an expression over a box that is not empty, None where that is unknown."""
    return _reach(expr, tuple(box))


@lru_cache(maxsize=256)
def _reach(expr: Expr, box: tuple[int, ...]) -> Interval | None:
    if _is_exact(expr):
        return bounds(expr, box)
    used = dims_of(expr)
    if math.prod([box[number] for number in used]) > MOST_POINTS:
        return None
    values = _values(expr, [extent if number in used else 1 for number, extent in enumerate(box)])
    return int(values.min()), int(values.max())


def _is_exact(expr: Expr) -> bool:
    """Tell whether intervals are exact: no dimension stands twice, and nothing wraps round."""
    dims = [token for token in expr if isinstance(token, Dim)]
    return len(dims) == len(set(dims)) and "mod" not in expr


def _interval(op: str, operands: list[Interval]) -> Interval:
    (low, high), *rest = operands
    if op == NEGATE:
        return -high, -low
    ((other_low, other_high),) = rest
    if op == "+":
        return low + other_low, high + other_high
    if op == "-":
        return low - other_high, high - other_low
    if op == "*":
        ends = [x * y for x in (low, high) for y in (other_low, other_high)]
        return min(ends), max(ends)
    if op == "floordiv":
        return low // other_low, high // other_low
    if op == "ceildiv":
        return -(-low // other_low), -(-high // other_low)
    if low // other_low == high // other_low:
        return low % other_low, high % other_low
    return 0, other_low - 1


def _values(expr: Expr, box: Sequence[int]) -> Any:
    """Return the values over a box as an array."""
    import numpy as np

    grid = np.ix_(*[np.arange(extent) for extent in box]) if box else ()
    if _largest(expr, box) >= 1 << 62:  # there integers of NumPy would wrap
        grid = tuple([axis.astype(object) for axis in grid])
    return np.broadcast_to(np.asarray(evaluate(expr, grid)), tuple(box))


def _largest(expr: Expr, box: Sequence[int]) -> int:
    """Return a bound on the size of what is computed on the way to the value of an expression."""
    largest = 0

    def note(interval: Interval) -> Interval:
        nonlocal largest
        largest = max(largest, abs(interval[0]), abs(interval[1]))
        return interval

    fold(
        expr,
        lambda leaf: note((0, box[leaf.number] - 1) if isinstance(leaf, Dim) else (leaf, leaf)),
        lambda op, operands: note(_interval(op, operands)),
    )
    return largest


def is_injective(map_: AffineMap, box: Sequence[int]) -> bool | tuple[int, ...] | None:
    """Tell whether no two points of a box have one image; an image that two have, None where unknown.

    Images are indices that fit int64.
    """
    return _is_injective(map_, tuple(box))


@lru_cache(maxsize=256)
def _is_injective(map_: AffineMap, box: tuple[int, ...]) -> bool | tuple[int, ...] | None:
    if 0 in box or _is_injective_by_form(map_, box):
        return True
    points = math.prod(box)
    if points > MOST_POINTS:
        return None
    import numpy as np

    if not map_.results:
        return True if points <= 1 else ()
    images = np.stack([_values(expr, box).reshape(-1).astype(np.int64) for expr in map_.results], axis=1)
    found, counts = np.unique(images, axis=0, return_counts=True)
    twice = found[counts > 1]
    return True if len(twice) == 0 else tuple([int(value) for value in twice[0]])


def _is_injective_by_form(map_: AffineMap, box: Sequence[int]) -> bool:
    """Tell whether the results are multiples of single dimensions, which together are all that move."""
    moving = {number for number, extent in enumerate(box) if extent > 1}
    covered = set()
    for expr in map_.results:
        found = _scaled_dim(expr)
        if found is not None:
            covered.add(found)
    return moving <= covered


def _scaled_dim(expr: Expr) -> int | None:
    """Return the dimension p of an expression ``d_p * c + b`` with c other than 0, None for any other."""
    dims = [token.number for token in expr if isinstance(token, Dim)]
    if len(dims) != 1 or any([isinstance(token, str) and token not in ("+", "-", "*", NEGATE) for token in expr]):
        return None
    slope = fold(
        expr,
        lambda leaf: (1, 0) if isinstance(leaf, Dim) else (0, leaf),
        lambda op, operands: _linear(op, operands),
    )[0]
    return dims[0] if slope else None


def _linear(op: str, operands: list[tuple[int, int]]) -> tuple[int, int]:
    """Return slope and offset of an expression of one dimension."""
    (slope, offset), *rest = operands
    if op == NEGATE:
        return -slope, -offset
    ((other_slope, other_offset),) = rest
    if op == "*":  # one of them is a constant
        return slope * other_offset + other_slope * offset, offset * other_offset
    sign = 1 if op == "+" else -1
    return slope + sign * other_slope, offset + sign * other_offset


def holes(box: Sequence[int], shape: Sequence[int]) -> bool:
    """Tell whether a map that is injective on a box leaves cells of a shape without an image."""
    return math.prod(box) < math.prod(shape)
