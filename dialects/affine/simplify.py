"""Simpler maps with the same values: numbers are put in and computed, and what adds nothing is left out.

Everything here is exact for all integers, negative ones too, as it holds for division that rounds down. Passes that
make maps use it too. Source: matrix specification 8, ``affine-fold``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from scaly_ir.dialects.affine.maps import DIVISIONS, NEGATE, AffineMap, Dim, Expr, Token, dims_of, evaluate
from scaly_ir.dialects.buffer.build import is_literal
from scaly_ir.graph import Node
from scaly_ir.types import INT64, int_range

_INDICES: Final = int_range(INT64)


def simplify(map_: AffineMap, operands: Sequence[Node]) -> tuple[AffineMap, tuple[Node, ...]]:
    """Return a map and its operands with literals put into the map, simpler results, and only the dimensions in use."""
    known = {number: operand.attrs["value"] for number, operand in enumerate(operands) if is_literal(operand)}
    results = [simplified(with_dims(result, known)) for result in map_.results]
    used = sorted(set[int]().union(*[dims_of(result) for result in results]))
    places = {number: Dim(place) for place, number in enumerate(used)}
    short = AffineMap(len(used), [with_dims(result, places) for result in results])
    return short, tuple([operands[number] for number in used])


def simplified_map(map_: AffineMap) -> AffineMap:
    """Return a map of the same dimensions with simpler results."""
    return AffineMap(map_.dims, [simplified(result) for result in map_.results])


def with_dims(expr: Expr, dims: Mapping[int, Dim | int]) -> Expr:
    """Return an expression with other dimensions, or numbers, in the place of some."""
    return tuple([dims.get(token.number, token) if isinstance(token, Dim) else token for token in expr])


def number_of(expr: Expr) -> int | None:
    """Return the value of an expression that is a number, None for any other."""
    return expr[0] if len(expr) == 1 and isinstance(expr[0], int) else None


def simplified(expr: Expr) -> Expr:
    """Return an expression of the same value at every point: numbers computed, neutral ones left out."""
    simplification = _Simplification()
    for token in expr:
        simplification.add(token)
    return simplification.result()


class _Simplification:
    """A copy of an expression from its start; of each operand that is not taken yet, it is known where that begins.

    What is left out on the left of something stays as a gap until the end, so that nothing moves more than once.
    """

    def __init__(self) -> None:
        self._out: list[Token | None] = []
        self._operands: list[tuple[int, int | None]] = []
        """Where each begins in the copy, and its value if it is a number."""

    def add(self, token: Token) -> None:
        """Copy one more token."""
        if isinstance(token, str):
            self._apply(token)
        else:
            self._operands.append((len(self._out), token if isinstance(token, int) else None))
            self._out.append(token)

    def result(self) -> Expr:
        """Return the copy."""
        return tuple([token for token in self._out if token is not None])

    def _number(self, start: int, value: int) -> None:
        """Put a number in place of what begins at `start`."""
        del self._out[start:]
        self._operands.append((start, value))
        self._out.append(value)

    def _apply(self, op: str) -> None:
        right_start, right = self._operands.pop()
        left_start, left = (right_start, 0) if op == NEGATE else self._operands.pop()
        value = _computed(op, left, right)
        if value is not None:
            self._number(left_start, value)
        elif right is not None and (op, right) in _RIGHT_UNITS:
            del self._out[right_start:]
            self._operands.append((left_start, None))
        elif left is not None and (op, left) in _LEFT_UNITS:
            self._out[left_start:right_start] = [None] * (right_start - left_start)
            self._operands.append((left_start, None))
        else:
            self._out.append(op)
            self._operands.append((left_start, None))


_RIGHT_UNITS: Final = frozenset({("+", 0), ("-", 0), ("*", 1), ("floordiv", 1), ("ceildiv", 1)})
"""Operators with a number on the right that give what is on the left."""
_LEFT_UNITS: Final = frozenset({("+", 0), ("*", 1)})


def _computed(op: str, left: int | None, right: int | None) -> int | None:
    """Return the value of an operation on two operands, None where it is not known or no index.

    What does not fit an index would wrap in code, so it is left as it is written.
    """
    if (op == "*" and 0 in (left, right)) or (op == "mod" and right == 1):
        return 0
    if left is None or right is None or (op in DIVISIONS and right <= 0):
        return None
    value: int = evaluate((right, op) if op == NEGATE else (left, right, op), ())
    return value if value in _INDICES else None
