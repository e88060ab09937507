"""The identities of scalar arithmetic that every dialect shares, as one table.

They are those of real numbers: NaN, infinity, the sign of zero and rounding may change. On integers they hold in
wrapping arithmetic; those that do not are for floats alone. A result that is a number stands for a constant of the
type of what it replaces. Each has a name, under which tools show what it did. Sources: lowering specification 2.2,
expression specification 6.1.
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
        (x + x, lambda x: 2 * x, "add_self"),
        (x + 0, lambda x: x, "add_zero"),
        (x + -y, lambda x, y: x - y, "add_negated"),
        (x - x, lambda: 0, "subtract_self"),
        (x - 0, lambda x: x, "subtract_zero"),
        (0 - y, lambda y: -y, "subtract_from_zero"),
        (x - -y, lambda x, y: x + y, "subtract_negated"),
        (P.neg(P.neg(x)), lambda x: x, "negate_twice"),
    ]
)

PRODUCTS: Final = PatternMatcher(
    [
        (x * 0, lambda: 0, "multiply_by_zero"),
        (x * 1, lambda x: x, "multiply_by_one"),
        (x * -1, lambda x: -x, "multiply_by_minus_one"),
        (-x * -y, lambda x, y: x * y, "multiply_negated"),
        (P.in_order(-x * y), lambda x, y: -(x * y), "negated_left_factor"),
        (P.in_order(x * -y), lambda x, y: -(x * y), "negated_right_factor"),
        (P.pow(x, 0), lambda: 1, "power_of_zero"),
        (P.pow(1, y), lambda: 1, "power_of_base_one"),
        (P.pow(x, 1), lambda x: x, "power_of_one"),
        (P.pow(x, 2), lambda x, ctx: x * x if ctx.may_repeat(x) else None, "power_of_two"),
    ]
)

QUOTIENTS: Final = PatternMatcher(
    [
        (P.div(x, x, where=_is_open), lambda: 1, "divide_by_self"),
        (P.div(0, y, where=_is_open), lambda: 0, "divide_zero"),
        (P.div(x, 1, where=_is_open), lambda x: x, "divide_by_one"),
        # The least integer is its own negation, so for integers a sign does not move across a division.
        (P.div(-x, y, where=_is_open_float), lambda x, y: -_divide(x, y), "divide_negated"),
        (P.div(x, -y, where=_is_open_float), lambda x, y: -_divide(x, y), "divide_by_negated"),
        (P.mod(x, 1), lambda: 0, "remainder_of_one"),
        (P.mod(0, y), lambda: 0, "remainder_of_zero"),
        # x // x is 0 where x is 0.
        (x // 1, lambda x: x, "floor_divide_by_one"),
        (0 // x, lambda: 0, "floor_divide_zero"),
        (x % 1, lambda: 0, "modulo_one"),
        (0 % x, lambda: 0, "zero_modulo"),
        (x % x, lambda: 0, "modulo_self"),
    ]
)

CHOICES: Final = PatternMatcher(
    [
        (P.select(1, x, y), lambda x: x, "select_true"),
        (P.select(0, x, y), lambda y: y, "select_false"),
        (P.select(z, x, x), lambda x: x, "select_same"),
        (P.not_(P.not_(x)), lambda x: x, "not_twice"),
        (P.cast(x), lambda x: x, "cast_to_same"),
    ]
)

IDENTITIES: Final = SUMS + PRODUCTS + QUOTIENTS + CHOICES
