"""Bounds hold every value, for random expressions on random ranges, and are as close as the specification has them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.numeric.bounds import bounds, constant_value, may_wrap
from scaly_ir.numeric.evaluate import evaluate_node
from scaly_ir.numeric.interval import NO_NUMBER, Interval, covering, full
from scaly_ir.numeric.machine import Value
from scaly_ir.op import Op
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.types import BOOL, DTYPES, FLOAT32, FLOAT64, INT32, INT64, DType, int_range
from tests.numeric.values import INTEGERS, NUMERIC, VALUES, outcome

INF, NAN = math.inf, math.nan
MIN32, MAX32 = -(1 << 31), (1 << 31) - 1


@st.composite
def ranges(draw: st.DrawFn, dtype: DType) -> tuple[Interval, Value]:
    """Draw an interval of a type and a value in it."""
    drawn = [draw(VALUES[dtype]) for _ in range(draw(st.integers(1, 3)))]
    return covering(drawn), draw(st.sampled_from(drawn))


class Sample:
    """Scalars of each type with the value that each has when the variables have theirs."""

    def __init__(self) -> None:
        self.environment: dict[str, Interval] = {}
        self.values: dict[Node, Value] = {}
        self.by_type: dict[DType, list[Node]] = {dtype: [] for dtype in DTYPES}

    def add(self, node: Node, value: Value) -> None:
        self.values[node] = value
        self.by_type[node.type].append(node)

    def apply(self, node: Node) -> None:
        """Add an operation with what an evaluator that goes on makes of it, if anything."""
        value, _ = outcome(evaluate_node, node, [self.values[operand] for operand in node.args])
        if value is not None:
            self.add(node, value)


@st.composite
def samples(draw: st.DrawFn, dtypes: tuple[DType, ...] = DTYPES) -> Sample:
    """Draw variables with ranges and values, constants, and operations on all of these."""
    sample = Sample()
    for number, dtype in enumerate(dtypes * 2):
        interval, value = draw(ranges(dtype))
        sample.environment[f"v{number}"] = interval
        sample.add(build.var(f"v{number}", dtype), value)
    for dtype in dtypes:
        value = draw(VALUES[dtype])
        sample.add(build.const(value, dtype), value)
    names = sorted([name for name, row in SCALAR_OPS.items() if any(d.kind in row.kinds.split() for d in dtypes)])
    for name in draw(st.lists(st.sampled_from(names), max_size=12)):
        row = SCALAR_OPS[name]
        dtype = draw(st.sampled_from([dtype for dtype in dtypes if dtype.kind in row.kinds.split()]))
        operand = st.sampled_from(sample.by_type[dtype])
        if name == "cast":
            sample.apply(build.cast(draw(operand), draw(st.sampled_from(NUMERIC))))
        elif name == "select":
            if sample.by_type[BOOL]:
                sample.apply(
                    build.apply(name, draw(st.sampled_from(sample.by_type[BOOL])), draw(operand), draw(operand))
                )
        else:
            sample.apply(build.apply(name, *[draw(operand) for _ in row.operands]))
    return sample


@given(samples())
def test_bounds_hold_every_value(sample: Sample) -> None:
    cache: dict[Node, Interval] = {}
    for node, value in sample.values.items():
        found = bounds(node, sample.environment, cache)
        assert value in found, (node, [sample.values[operand] for operand in node.args], value, found)
        assert found == bounds(node, sample.environment)
        event(f"{node.op.mnemonic}: {'anything' if found == full(node.type) else 'bounded'}")


@given(st.sampled_from(sorted(SCALAR_OPS)), st.data())
def test_bounds_of_one_operation_hold_every_value(name: str, data: st.DataObject) -> None:
    row = SCALAR_OPS[name]
    dtype = data.draw(st.sampled_from([dtype for dtype in DTYPES if dtype.kind in row.kinds.split()]))
    types = [BOOL, dtype, dtype] if name == "select" else [dtype] * len(row.operands)
    drawn = [data.draw(ranges(each)) for each in types]
    operands = [build.var(f"v{number}", each) for number, each in enumerate(types)]
    environment = {f"v{number}": interval for number, (interval, _) in enumerate(drawn)}
    for target in NUMERIC if name == "cast" else (dtype,):
        node = build.cast(operands[0], target) if name == "cast" else build.apply(name, *operands)
        values = [value for _, value in drawn]
        value, _ = outcome(evaluate_node, node, values)
        assert value is None or value in bounds(node, environment)
        if dtype.is_int and row.typing == "arith":
            assert evaluate_node(node, values, zero_divisor="dividend") in bounds(node, environment)


_EXACT: dict[str, Any] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "abs": abs,
    "cast": lambda x: x,
}


@given(st.sampled_from(sorted(_EXACT)), st.sampled_from(INTEGERS), st.sampled_from(INTEGERS), st.data())
def test_what_cannot_wrap_does_not(name: str, source: DType, target: DType, data: st.DataObject) -> None:
    drawn = [data.draw(ranges(source)) for _ in SCALAR_OPS[name].operands]
    operands = [build.var(f"v{number}", source) for number in range(len(drawn))]
    environment = {f"v{number}": interval for number, (interval, _) in enumerate(drawn)}
    node = build.cast(operands[0], target) if name == "cast" else build.apply(name, *operands)
    exact = _EXACT[name](*[value for _, value in drawn])
    if exact not in int_range(node.type):
        assert may_wrap(node, environment)
    ends = [_EXACT[name](*corner) for corner in _corners([interval for interval, _ in drawn])]
    if all(end in int_range(node.type) for end in ends):
        assert not may_wrap(node, environment)


def _corners(intervals: list[Interval]) -> list[tuple[Value, ...]]:
    corners: list[tuple[Value, ...]] = [()]
    for interval in intervals:
        corners = [(*corner, end) for corner in corners for end in interval[:2]]
    return corners


@given(samples(dtypes=(FLOAT32, FLOAT64)))
def test_a_single_bound_is_the_value(sample: Sample) -> None:
    for node, value in sample.values.items():
        single = bounds(node, sample.environment).single
        assert single is None or single == value


# --- by hand ---------------------------------------------------------------------------------------------------------


def interval(name: str, dtype: DType, *operands: Interval) -> Interval:
    variables = [build.var(f"v{number}", dtype) for number in range(len(operands))]
    return bounds(build.apply(name, *variables), {f"v{number}": each for number, each in enumerate(operands)})


R = Interval
ANY32 = R(MIN32, MAX32)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", (R(1, 2), R(10, 20)), R(11, 22)),
        ("add", (R(MAX32 - 5, MAX32), R(1, 1)), ANY32),
        ("add", (R(MAX32, MAX32), R(1, 1)), R(MIN32, MIN32)),
        ("sub", (R(1, 2), R(10, 20)), R(-19, -8)),
        ("mul", (R(-2, 3), R(-5, 7)), R(-15, 21)),
        ("neg", (R(MIN32, 0),), ANY32),
        ("abs", (R(-3, 2),), R(0, 3)),
        ("abs", (R(-3, -2),), R(2, 3)),
        ("div", (R(-7, 7), R(2, 3)), R(-3, 3)),
        ("div", (R(-7, 7), R(-1, 3)), R(-7, 7)),
        ("floordiv", (R(-7, 7), R(2, 3)), R(-4, 3)),
        ("floordiv", (R(0, 0), R(0, 0)), R(0, 0)),
        ("mod", (R(-9, 3), R(-4, 5)), R(-9, 3)),
        ("mod", (R(-9, 3), R(4, 5)), R(-4, 3)),
        ("mod", (R(9, 11), R(8, 8)), R(1, 3)),
        ("floormod", (R(-9, 100), R(4, 8)), R(0, 7)),
        ("floormod", (R(-9, 100), R(-8, -4)), R(-7, 0)),
        ("floormod", (R(9, 11), R(8, 8)), R(1, 3)),
        ("floormod", (R(-1, 1), R(8, 8)), R(0, 7)),
        ("floormod", (R(0, 3), R(8, 9)), R(0, 3)),
        ("minimum", (R(1, 9), R(3, 4)), R(1, 4)),
        ("maximum", (R(1, 9), R(3, 4)), R(3, 9)),
        ("lt", (R(1, 2), R(3, 4)), R(1, 1)),
        ("lt", (R(3, 4), R(1, 3)), R(0, 0)),
        ("le", (R(3, 4), R(1, 3)), R(0, 1)),
        ("eq", (R(3, 3), R(3, 3)), R(1, 1)),
        ("ne", (R(1, 2), R(3, 4)), R(1, 1)),
    ],
)
def test_integer_bounds(name: str, operands: tuple[Interval, ...], expected: Interval) -> None:
    assert interval(name, INT32, *operands) == expected


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("add", (R(0.0, 1.0), R(2.0, 3.0, True)), R(2.0, 4.0, True)),
        ("add", (R(0.0, INF), R(-INF, 1.0)), R(-INF, INF, True)),
        ("mul", (R(0.0, 1.0), R(1.0, INF)), R(0.0, INF, True)),
        ("mul", (R(-1.0, 2.0), R(3.0, 4.0)), R(-4.0, 8.0)),
        ("div", (R(1.0, 2.0), R(4.0, 8.0)), R(0.125, 0.5)),
        ("div", (R(1.0, 2.0), R(0.0, 8.0)), R(-INF, INF)),
        ("div", (R(0.0, 2.0), R(0.0, 8.0)), R(-INF, INF, True)),
        ("div", (R(INF, INF), R(INF, INF)), NO_NUMBER._replace(nan=True)),
        ("sqrt", (R(-4.0, 9.0),), R(0.0, 3.0, True)),
        ("abs", (R(-4.0, 3.0),), R(0.0, 4.0)),
        ("floor", (R(-0.5, 3.5),), R(-1.0, 3.0)),
        ("sin", (R(0.0, 1e9),), R(-1.0, 1.0)),
        ("sin", (R(0.0, INF),), R(-1.0, 1.0, True)),
        ("exp", (R(-INF, 0.0),), R(0.0, 1.0)),
        ("log", (R(0.0, 1.0),), R(-INF, 0.0)),
        ("pow", (R(0.0, INF), R(0.0, INF)), R(0.0, INF)),
        ("minimum", (R(1.0, 2.0, True), R(0.0, 5.0)), R(0.0, 5.0)),
        ("minimum", (R(1.0, 2.0), R(0.0, 5.0)), R(0.0, 2.0)),
        ("maximum", (R(1.0, 2.0, True), R(0.0, 0.5, True)), R(0.0, 2.0, True)),
        ("lt", (R(0.0, 1.0), R(2.0, 3.0)), R(1, 1)),
        ("lt", (R(0.0, 1.0), R(2.0, 3.0, True)), R(0, 1)),
        ("lt", (R(2.0, 3.0), R(0.0, 1.0)), R(0, 0)),
        ("eq", (R(0.0, 0.0), R(-0.0, -0.0)), R(1, 1)),
        ("ne", (NO_NUMBER._replace(nan=True), R(0.0, 1.0)), R(1, 1)),
        ("isfinite", (R(0.0, 1.0),), R(1, 1)),
        ("isfinite", (R(0.0, INF),), R(0, 1)),
        ("isfinite", (R(INF, INF, True),), R(0, 0)),
    ],
)
def test_float_bounds(name: str, operands: tuple[Interval, ...], expected: Interval) -> None:
    assert interval(name, FLOAT64, *operands) == expected


def test_float32_bounds_are_rounded() -> None:
    assert interval("add", FLOAT32, R(0.0, 16777216.0), R(0.0, 3.0)) == R(0.0, 16777220.0)
    assert interval("mul", FLOAT32, R(0.0, 3e38), R(0.0, 2.0)) == R(0.0, INF)


def test_bounds_of_casts() -> None:
    x, y = build.var("x", FLOAT64), build.var("y", INT64)
    assert bounds(build.cast(x, INT32), {"x": R(-1.5, 2.5)}) == R(-1, 2)
    assert bounds(build.cast(x, INT32), {"x": R(-1.5, 2.5, True)}) == ANY32
    assert bounds(build.cast(x, INT32), {"x": R(0.0, 1e10)}) == ANY32
    assert bounds(build.cast(y, INT32), {"y": R(0, 5)}) == R(0, 5)
    assert bounds(build.cast(y, INT32), {"y": R(0, 1 << 32)}) == ANY32
    assert bounds(build.cast(y, INT32), {"y": R(1 << 32, 1 << 32)}) == R(0, 0)
    assert bounds(build.cast(y, FLOAT32), {"y": R(0, 16777219)}) == R(0.0, 16777220.0)
    assert bounds(build.cast(build.var("b", BOOL), INT64), {}) == R(0, 1)


def test_bounds_of_leaves() -> None:
    x = build.var("x", INT32)
    here = build.load(build.view("b", x, FLOAT64))
    assert bounds(x) == ANY32
    assert bounds(here) == full(FLOAT64) == R(-INF, INF, True)
    assert bounds(here, {here: R(0.0, 1.0)}) == R(0.0, 1.0)
    assert bounds(build.const(7, INT32)) == R(7, 7)
    assert bounds(build.const(NAN, FLOAT64)) == NO_NUMBER._replace(nan=True)
    assert bounds(build.apply("not", build.var("c", BOOL))) == R(0, 1)
    assert constant_value(build.const(7, INT32)) == 7
    assert constant_value(x) is None


def test_a_known_operation_is_not_looked_into() -> None:
    x = build.var("x", INT32)
    square = build.apply("mul", x, x)
    assert bounds(build.apply("add", square, build.const(1, INT32)), {square: R(0, 9)}) == R(1, 10)


def test_the_operands_of_a_registered_operator_do_not_matter() -> None:
    op = Op.register("numeric_test.unknown")
    assert bounds(Node(op, [build.var("x", INT32)], type=INT32), {"x": R(1, 1)}) == ANY32


def test_a_constant_of_many_numbers() -> None:
    op = Op.register("numeric_test.table")
    op.set_attr("TConst", True)
    assert bounds(Node(op, (), {"value": (3, 7, -2)}, INT64)) == R(-2, 7)
    assert bounds(Node(op, (), {"value": (3, NAN)}, FLOAT64)) == R(3.0, 3.0, True)


def test_what_never_has_a_value_has_empty_bounds() -> None:
    i = build.var("i")
    for node in (build.apply("add", i, i), build.apply("floormod", build.index(5), i), build.cast(i, FLOAT64)):
        assert bounds(node, {"i": covering(range(0))}).is_empty


def test_covering() -> None:
    assert covering(range(3, 10, 3)) == R(3, 9)
    assert covering(range(10, 0, -4)) == R(2, 10)
    assert covering([2.0, NAN, -1.0]) == R(-1.0, 2.0, True)
    assert covering([]).is_empty
    assert NAN not in R(0.0, 1.0)
    assert -0.0 in R(0.0, 1.0)


def test_index_arithmetic_cannot_wrap() -> None:
    i = build.var("i")
    at = build.apply("add", build.apply("mul", i, build.index(8)), build.index(3))
    assert not may_wrap(at, {"i": R(0, 1 << 40)})
    assert may_wrap(at.args[0], {"i": R(0, 1 << 60)})
    assert may_wrap(at)
    assert not may_wrap(i)
    assert not may_wrap(build.index(3))
    assert not may_wrap(build.apply("add", *[build.const(1e308, FLOAT64)] * 2))


def test_what_the_table_does_not_know_may_wrap() -> None:
    op = Op.register("numeric_test.thrice")
    i = build.var("i")
    assert may_wrap(Node(op, [i], type=INT64), {"i": R(0, 1)})
    assert not may_wrap(Node(op, [i], type=FLOAT64), {"i": R(0, 1)})
    assert not may_wrap(Node(op, (), type=INT64))
    assert may_wrap(build.load(build.view("b", i, INT64)))
    # Nor does the sum of what may be anything fit.
    assert may_wrap(build.apply("add", Node(op, [i], type=INT64), build.index(1)), {"i": R(0, 1)})


def test_a_long_chain_takes_no_stack() -> None:
    x = build.var("x")
    node = x
    for _ in range(20_000):
        node = build.apply("add", node, build.index(1))
    assert bounds(node, {"x": R(0, 1)}) == R(20_000, 20_001)


def test_a_shared_operand_is_visited_once() -> None:
    node = build.var("x", FLOAT64)
    for _ in range(200):
        node = build.apply("mul", node, node)
    assert bounds(node, {"x": R(0.5, 1.0)}) == R(0.0, 1.0)


def test_operands_that_do_not_fit_are_an_error() -> None:
    x = build.var("x", FLOAT64)
    with pytest.raises(TypeError, match="does not accept float64"):
        bounds(Node(Op.get("prog.mod"), [x, x], type=FLOAT64))
