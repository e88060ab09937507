"""Shorter index expressions: what constants, and dimensions that have one value, leave of an expression.

Linear in the length of an expression and without recursion. Source: matrix specification 8, `affine-fold`.
"""

from __future__ import annotations

from collections.abc import Mapping

from scaly_ir.dialects.affine.maps import NEGATE, Dim, Expr, Token, evaluate


def simplified(expr: Expr) -> Expr:
    """Return an expression of the same value at every point: constants folded, neutral constants left out."""
    out: list[Token] = []
    starts: list[int] = []  # where the operands in `out` begin that no operator has taken
    for token in expr:
        if not isinstance(token, str):
            starts.append(len(out))
            out.append(token)
        elif token == NEGATE:
            value = _number(out, starts[-1], len(out))
            if value is None:
                out.append(token)
            else:
                out[-1] = -value
        else:
            right = starts.pop()
            _apply(out, starts[-1], right, token)
    return tuple(out)


def _apply(out: list[Token], left: int, right: int, op: str) -> None:
    """Apply an operator to the two expressions that begin at `left` and `right`."""
    first, second = _number(out, left, right), _number(out, right, len(out))
    if first is not None and second is not None:
        out[left:] = [evaluate((first, second, op), ())]
    elif second is not None and (op, second) in _NEUTRAL:
        del out[right:]
    elif first is not None and (op, first) in _NEUTRAL_LEFT:
        del out[left]
    elif (op, second) in _ZERO or (op, first) == ("*", 0):
        out[left:] = [0]
    else:
        out.append(op)


def _number(out: list[Token], start: int, end: int) -> int | None:
    token = out[start]
    return token if end == start + 1 and isinstance(token, int) else None


_NEUTRAL = {("+", 0), ("-", 0), ("*", 1), ("floordiv", 1), ("ceildiv", 1)}
_NEUTRAL_LEFT = {("+", 0), ("*", 1)}
_ZERO = {("*", 0), ("mod", 1)}


def with_dims(expr: Expr, dims: Mapping[int, Dim | int]) -> Expr:
    """Return an expression with other dimensions, or numbers, in the place of some."""
    return tuple([dims.get(token.number, token) if isinstance(token, Dim) else token for token in expr])
