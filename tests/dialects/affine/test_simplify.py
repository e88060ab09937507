"""Simpler maps have the same values at every point, negative ones too."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.dialects.affine.build import index
from scaly_ir.dialects.affine.maps import AffineMap, Dim, Expr, evaluate, read_map, spell
from scaly_ir.dialects.affine.simplify import number_of, simplified, simplified_map, simplify, with_dims


@st.composite
def _expressions(draw: Any) -> Expr:
    """Draw an expression of two dimensions in which there is much to leave out."""
    leaves = st.one_of(st.integers(0, 1).map(Dim), st.integers(-3, 3))
    operands: list[Expr] = [(leaf,) for leaf in draw(st.lists(leaves, min_size=1, max_size=6))]
    while len(operands) > 1:
        op = draw(st.sampled_from(["+", "-", "*", "neg", "floordiv", "ceildiv", "mod"]))
        right = operands.pop()
        if op == "neg":
            operands.append((*right, op))
        elif op in ("+", "-"):
            operands.append((*operands.pop(), *right, op))
        else:
            operands.append((*right, draw(st.integers(-2 if op == "*" else 1, 3)), op))
            if draw(st.booleans()):
                operands.append((*operands.pop(), *operands.pop(), "+"))
    return operands[0]


@given(_expressions(), st.integers(-20, 20), st.integers(-20, 20))
def test_values_stay(expr: Expr, x: int, y: int) -> None:
    short = simplified(expr)
    assert evaluate(short, (x, y)) == evaluate(expr, (x, y))
    assert len(short) <= len(expr)
    assert simplified(short) == short


@given(_expressions(), st.integers(-20, 20), st.integers(-20, 20))
def test_operands_stay_with_their_dimensions(expr: Expr, x: int, y: int) -> None:
    names = [index("i"), index(y)]
    map_, operands = simplify(AffineMap(2, [expr, (Dim(1), 1, "+")]), names)
    values = {names[0]: x, names[1]: y}
    assert map_([values[operand] for operand in operands]) == (evaluate(expr, (x, y)), y + 1)
    assert index(y) not in operands


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("d0 + 0", "d0"),
        ("0 + d0", "d0"),
        ("d0 - 0", "d0"),
        ("0 - d0", "0 - d0"),
        ("d0 * 1", "d0"),
        ("(d0 + d1) * 0", "0"),
        ("d0 floordiv 1", "d0"),
        ("d0 ceildiv 1", "d0"),
        ("(d0 - d1) mod 1", "0"),
        ("d0 mod 2", "d0 mod 2"),
        ("-7 floordiv 2", "-4"),
        ("-7 ceildiv 2", "-3"),
        ("-7 mod 2", "1"),
        ("-(2 + 3)", "-5"),
        ("d0 * 0 + (d1 + 0) * 2 - 3 * 0", "d1 * 2"),
        ("9223372036854775807 + 1", "9223372036854775807 + 1"),
        ("-9223372036854775807 - 1", "-9223372036854775808"),
    ],
)
def test_each_rule(before: str, after: str) -> None:
    map_ = read_map(f"affine_map<(d0, d1) -> ({before})>")
    assert [spell(result) for result in simplified_map(map_).results] == [after]


def test_dimensions_are_exchanged_at_once() -> None:
    assert with_dims((Dim(0), Dim(1), "-"), {0: Dim(1), 1: 5}) == (Dim(1), 5, "-")


def test_what_is_a_number() -> None:
    assert number_of((3,)) == 3
    assert number_of((Dim(3),)) is None
    assert number_of((3, "neg")) is None


def test_long_expressions() -> None:
    count = 50_000
    expr: Expr = (*[0] * count, Dim(0), *["+"] * count)
    assert simplified(expr) == (Dim(0),)
