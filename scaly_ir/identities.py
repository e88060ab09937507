"""The identities of scalar arithmetic that every dialect shares, as one table.

They are those of real numbers: NaN, infinity, the sign of zero and rounding may change. On integers they hold in
wrapping arithmetic; those that do not are for floats alone. A result that is a number stands for a constant of the
type of what it replaces. Sources: lowering specification 2.2, expression specification 6.1.
"""

from __future__ import annotations

from typing import Final

from scaly_ir.graph import Node
from scaly_ir.graph.expression import elementwise
from scaly_ir.graph.matcher import PatternMatcher
from scaly_ir.graph.pattern import is_constant
from scaly_ir.graph.vocabulary import shared_patterns

P = shared_patterns()
x, y, z = P.var("x"), P.var("y"), P.var("z")


def _is_float(node: Node) -> bool:
    return bool(node.dtype.is_float)


def _is_open(node: Node) -> bool:
    """Tell whether an operand is no constant: a quotient of constants is evaluated, or has no value and stays."""
    return not all([is_constant(operand.op) for operand in node.args])


def _is_open_float(node: Node) -> bool:
    return _is_float(node) and _is_open(node)


def _divide(x: Node, y: Node) -> Node:
    return elementwise("div", x, y)


SUMS: Final = PatternMatcher(
    [
        (x + x, lambda x: 2 * x),
        (x + 0, lambda x: x),
        (x + -y, lambda x, y: x - y),
        (x - x, lambda: 0),
        (x - 0, lambda x: x),
        (0 - y, lambda y: -y),
        (x - -y, lambda x, y: x + y),
        (P.neg(P.neg(x)), lambda x: x),
    ]
)

PRODUCTS: Final = PatternMatcher(
    [
        (x * 0, lambda: 0),
        (x * 1, lambda x: x),
        (x * -1, lambda x: -x),
        (-x * -y, lambda x, y: x * y),
        (P.in_order(-x * y), lambda x, y: -(x * y)),
        (P.in_order(x * -y), lambda x, y: -(x * y)),
        (P.pow(x, 0), lambda: 1),
        (P.pow(1, y), lambda: 1),
        (P.pow(x, 1), lambda x: x),
        (P.pow(x, 2), lambda x, ctx: x * x if ctx.may_repeat(x) else None),
    ]
)

QUOTIENTS: Final = PatternMatcher(
    [
        (P.div(x, x, where=_is_open), lambda: 1),
        (P.div(0, y, where=_is_open), lambda: 0),
        (P.div(x, 1, where=_is_open), lambda x: x),
        # The least integer is its own negation, so for integers a sign does not move across a division.
        (P.div(-x, y, where=_is_open_float), lambda x, y: -_divide(x, y)),
        (P.div(x, -y, where=_is_open_float), lambda x, y: -_divide(x, y)),
        (P.mod(x, 1), lambda: 0),
        (P.mod(0, y), lambda: 0),
        # x // x is 0 where x is 0.
        (x // 1, lambda x: x),
        (0 // x, lambda: 0),
        (x % 1, lambda: 0),
        (0 % x, lambda: 0),
        (x % x, lambda: 0),
    ]
)

CHOICES: Final = PatternMatcher(
    [
        (P.select(1, x, y), lambda x: x),
        (P.select(0, x, y), lambda y: y),
        (P.select(z, x, x), lambda x: x),
        (P.not_(P.not_(x)), lambda x: x),
        (P.cast(x), lambda x: x),
    ]
)

IDENTITIES: Final = SUMS + PRODUCTS + QUOTIENTS + CHOICES
