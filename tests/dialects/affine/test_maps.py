"""Affine maps: text, precedence, values at points, and what they reach over a box."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Final

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from scaly_ir.dialects.affine.maps import AffineMap, Dim, Expr, MapError, dims_of, evaluate, fold, read_map, spell
from scaly_ir.dialects.affine.ranges import bounds, holes, is_injective, reach
from scaly_ir.dialects.affine.simplify import simplified, with_dims
from tests.dialects.matrix.generators import expressions, maps

SMALL: Final = st.integers(-4, 6)
BOXES: Final = st.lists(st.integers(1, 4), min_size=2, max_size=2)


def _read(text: str, dims: int = 3) -> Expr:
    names = ", ".join([f"d{number}" for number in range(dims)])
    (result,) = read_map(f"affine_map<({names}) -> ({text})>").results
    return result


def _points(box: Sequence[int]) -> list[tuple[int, ...]]:
    return list(itertools.product(*map(range, box)))


# --- text -------------------------------------------------------------------------------------------------------------


@given(st.integers(0, 4).flatmap(lambda dims: maps(dims, least=0)))
def test_a_map_reads_back(map_: AffineMap) -> None:
    text = str(map_)
    note(text)
    assert read_map(text) == map_
    assert read_map("affine_map<" + text.removeprefix("affine_map<").replace(" ", "\n\t ")) == map_
    for result in map_.results:
        assert _read(spell(result), map_.dims) == result


@pytest.mark.parametrize(
    ("text", "printed", "value"),
    [
        ("d0 + d1 * 2", "d0 + d1 * 2", 11 + 14),
        ("(d0 + d1) * 2", "(d0 + d1) * 2", 36),
        ("2 * d0", "d0 * 2", 22),
        ("2 * (d0 + d1)", "(d0 + d1) * 2", 36),
        ("2 * 3", "2 * 3", 6),
        ("d0 - d1 - d2", "d0 - d1 - d2", 1),
        ("d0 - (d1 - d2)", "d0 - (d1 - d2)", 7),
        ("d0 - (d1 + d2)", "d0 - (d1 + d2)", 1),
        ("d0 + (d1 + d2)", "d0 + (d1 + d2)", 21),
        ("((d0))", "d0", 11),
        ("d0 * 12 floordiv 4 mod 3", "d0 * 12 floordiv 4 mod 3", 0),
        ("d0 floordiv 4 * 4", "d0 floordiv 4 * 4", 8),
        ("(d0 * 2) mod 5", "d0 * 2 mod 5", 2),
        ("(d0 + 1) floordiv 5", "(d0 + 1) floordiv 5", 2),
        ("d0 ceildiv 5", "d0 ceildiv 5", 3),
        ("-d0", "-d0", -11),
        ("--d0", "-(-d0)", 11),
        ("-d0 floordiv 2", None, -6),
        ("-(d0 floordiv 2)", None, -5),
        ("-d0 mod 3", None, 1),
        ("-d0 ceildiv 2", None, -5),
        ("d0 - -3", "d0 - -3", 14),
        ("d0 * -2", "d0 * -2", -22),
        ("-2 * d0", "d0 * -2", -22),
        ("-7 floordiv 2", "-7 floordiv 2", -4),
        ("-7 mod 4", "-7 mod 4", 1),
        ("-(7 mod 4)", "-(7 mod 4)", -3),
    ],
)
def test_operators_bind_as_everywhere(text: str, printed: str | None, value: int) -> None:
    expr = _read(text)
    assert evaluate(expr, (11, 7, 3)) == value
    if printed is not None:
        assert spell(expr) == printed
    assert _read(spell(expr)) == expr


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("affine_map<(d0) -> (d0 +)>", "expected a dimension such as 'd0', a number or '('"),
        ("affine_map<(d1) -> (d1)>", "expected 'd0', found 'd1'"),
        ("affine_map<(d0, d0) -> (d0)>", "expected 'd1', found 'd0'"),
        ("affine_map<(d0) -> (d0 d0)>", "expected ',', found 'd0'"),
        ("affine_map<(d0) -> ((d0)>", "expected ',', found the end of the map"),
        ("affine_map<(d0) (d0)>", "expected '->', found '('"),
        ("affine_map<(d0) -> (d0))>", "expected the end of the map, found ')'"),
        ("affine_map<(d0) -> (x)>", "expected a dimension such as 'd0', a number or '('"),
        ("map<(d0) -> (d0)>", "expected 'affine_map<(...) -> (...)>'"),
    ],
)
def test_what_is_no_map_is_explained(text: str, message: str) -> None:
    with pytest.raises(MapError) as caught:
        read_map(text)
    assert str(caught.value).startswith(message)
    assert 0 <= caught.value.start < caught.value.end <= len(text)


@given(st.text("d01 +-*(),>floordiv mod", max_size=12))
def test_any_text_is_a_map_or_explained(inside: str) -> None:
    text = f"affine_map<(d0) -> ({inside})>"
    try:
        read = read_map(text)
    except MapError as error:
        blamed = (error.start, error.end)
    else:
        assert read_map(str(read)) == read
        return
    assert 0 <= blamed[0] <= blamed[1] <= len(text)


def test_long_and_deep_expressions_take_no_stack() -> None:
    deep = "(" * 20_000 + "d0" + " - 1) * 2" * 20_000
    for text in (" + ".join(["d0"] * 50_000), deep, "-(" * 20_000 + "d0" + ")" * 20_000):
        expr = _read(text)
        assert _read(spell(expr)) == expr
        assert dims_of(simplified(expr)) == {0}
    assert evaluate(_read(" + ".join(["d0"] * 50_000)), (3, 0, 0)) == 150_000


def test_a_map_is_a_value() -> None:
    map_ = read_map("affine_map<(d0) -> (d0 + 1)>")
    assert hash(map_) == hash(read_map("affine_map<(d0)->(d0+1)>"))
    assert map_ != read_map("affine_map<(d0) -> (1 + d0)>")
    with pytest.raises(AttributeError):
        map_.dims = 2


# --- values -----------------------------------------------------------------------------------------------------------


def _by_python(expr: Expr, point: Sequence[int]) -> int:
    """Return the value that Python gives the expression, written with all parentheses."""
    text = fold(
        expr,
        lambda leaf: f"({point[leaf.number] if isinstance(leaf, Dim) else leaf})",
        lambda op, parts: {
            "neg": "(-{0})",
            "floordiv": "({0} // {1})",
            "ceildiv": "(-(-{0} // {1}))",
            "mod": "({0} % {1})",
        }.get(op, f"({{0}} {op} {{1}})").format(*parts),
    )
    return int(eval(text))


@given(expressions(2), st.tuples(SMALL, SMALL))
def test_values_are_those_of_integers(expr: Expr, point: tuple[int, int]) -> None:
    assert evaluate(expr, point) == _by_python(expr, point)


@given(expressions(2, literals=SMALL), st.tuples(SMALL, SMALL))
def test_a_simpler_expression_has_the_same_values(expr: Expr, point: tuple[int, int]) -> None:
    simple = simplified(expr)
    assert evaluate(simple, point) == evaluate(expr, point)
    assert len(simple) <= len(expr)
    assert simplified(simple) == simple
    assert evaluate(with_dims(expr, {0: 3, 1: Dim(0)}), point) == evaluate(expr, (3, point[0]))


# --- what a box of points reaches -------------------------------------------------------------------------------------


@given(expressions(2, literals=SMALL), BOXES)
def test_bounds_hold_all_values_and_reach_is_exact(expr: Expr, box: list[int]) -> None:
    values = [evaluate(expr, point) for point in _points(box)]
    low, high = bounds(expr, box)
    assert low <= min(values)
    assert max(values) <= high
    assert reach(expr, box) == (min(values), max(values))


@given(maps(2, least=0, most=2, literals=SMALL), BOXES)
def test_a_map_is_injective_where_no_image_comes_twice(map_: AffineMap, box: list[int]) -> None:
    images = [tuple([evaluate(expr, point) for expr in map_.results]) for point in _points(box)]
    twice = {image for image in images if images.count(image) > 1}
    found = is_injective(map_, box)
    assert found is True if not twice else found in twice


def test_large_boxes_are_decided_by_their_form_or_not_at_all() -> None:
    box = (1 << 20, 1 << 20)
    assert is_injective(read_map("affine_map<(d0, d1) -> (d1 * 3 - 1, -d0)>"), box) is True
    assert is_injective(read_map("affine_map<(d0, d1) -> (d0 * 1048576 + d1)>"), box) is None
    assert reach(_read("d0 * 2 + d1", 2), box) == (0, 3 * ((1 << 20) - 1))
    assert reach(_read("d0 - d0 + d1 - d1", 2), box) is None
    assert reach(_read("d0 - d0", 2), (1 << 20, 5)) == (0, 0)


def test_numbers_beyond_int64_on_the_way_do_not_wrap() -> None:
    assert reach(_read("(d0 * 4611686018427387904 + d0) mod 7", 1), (5,)) == (
        min([(x * (1 << 62) + x) % 7 for x in range(5)]),
        max([(x * (1 << 62) + x) % 7 for x in range(5)]),
    )


@pytest.mark.parametrize(
    ("box", "shape", "left"), [((2, 3), (2, 3), False), ((2, 3), (7,), True), ((0,), (0,), False), ((), (), False)]
)
def test_cells_are_left_where_there_are_more_than_points(box: tuple[int], shape: tuple[int], left: bool) -> None:
    assert holes(box, shape) is left
