"""Scalar operators on constants against integers, fractions and NumPy, and the values that the specifications list."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from scaly_ir.numeric.evaluate import evaluate, evaluate_node
from scaly_ir.numeric.machine import Reason, Value
from scaly_ir.numeric.table import TABLE, scalar_name
from scaly_ir.op import Op
from scaly_ir.prim import SCALAR_OPS
from scaly_ir.text.spelling import float_bits, float_from_bits
from scaly_ir.types import BOOL, DTYPES, FLOAT32, FLOAT64, INT32, INT64, DType
from tests.numeric.values import FLOATS, INTEGERS, VALUES, nearest, outcome, same

INF, NAN = math.inf, math.nan
MIN32, MAX32 = -(1 << 31), (1 << 31) - 1

RELAXED = {"minimum", "maximum"}
"""The sign of a zero that these give is not specified."""


def result_type(name: str, dtype: DType) -> DType:
    return BOOL if SCALAR_OPS[name].typing in ("compare", "test", "logic") else dtype


@st.composite
def applications(draw: st.DrawFn) -> tuple[str, DType, list[Any]]:
    """Draw an operator other than ``cast``, the type of its operands, and operands."""
    name = draw(st.sampled_from([name for name in SCALAR_OPS if name != "cast"]))
    row = SCALAR_OPS[name]
    dtype = draw(st.sampled_from([dtype for dtype in DTYPES if dtype.kind in row.kinds.split()]))
    count = len(row.operands)
    if row.typing == "select":
        return name, dtype, [draw(st.booleans()), draw(VALUES[dtype]), draw(VALUES[dtype])]
    return name, dtype, [draw(VALUES[dtype]) for _ in range(count)]


def test_every_shared_operator_has_a_row() -> None:
    assert set(TABLE) == set(SCALAR_OPS)
    assert all([(row.integer is not None) == ("int" in kinds or "bool" in kinds) for row, kinds in _rows()])
    assert all([(row.floating is not None) == ("float" in kinds) for row, kinds in _rows()])


def _rows() -> list[tuple[Any, list[str]]]:
    return [(TABLE[name], SCALAR_OPS[name].kinds.split()) for name in TABLE]


@given(applications())
@example(("div", INT32, [MIN32, -1]))
@example(("mod", INT64, [-(1 << 63), -1]))
@example(("floormod", INT64, [-(1 << 63), -1]))
@example(("pow", FLOAT64, [-8.0, 1 / 3]))
@example(("minimum", FLOAT64, [NAN, NAN]))
def test_values_are_those_of_the_reference_on_arrays(application: tuple[str, DType, list[Any]]) -> None:
    name, dtype, operands = application
    types = [BOOL, dtype, dtype] if name == "select" else [dtype] * len(operands)
    arrays = [np.array([v], str(t)) for v, t in zip(operands, types, strict=True)]
    result = Op.get(f"prim.{name}").get_attr("FNumpy")(*arrays)
    assert result.dtype == np.dtype(str(result_type(name, dtype)))
    value, _ = outcome(evaluate, name, result_type(name, dtype), operands)
    if value is None:  # C's integer division by zero
        assert result[0] == 0
    elif name in RELAXED:
        assert value == result[0] or (value != value and np.isnan(result[0]))
    else:
        assert same(value, result[0].item())


_INTEGER_LAWS: dict[str, Callable[..., int]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": lambda x, y: math.trunc(Fraction(x, y)),
    "mod": lambda x, y: x - y * math.trunc(Fraction(x, y)),
    "floordiv": lambda x, y: math.floor(Fraction(x, y)),
    "floormod": lambda x, y: x - y * math.floor(Fraction(x, y)),
    "minimum": min,
    "maximum": max,
}


@given(st.sampled_from(sorted(_INTEGER_LAWS)), st.sampled_from(INTEGERS), st.data())
def test_integers_are_exact_modulo_the_width(name: str, dtype: DType, data: st.DataObject) -> None:
    x, y = data.draw(VALUES[dtype]), data.draw(VALUES[dtype])
    if y == 0 and name not in ("add", "sub", "mul", "minimum", "maximum"):
        return
    exact = _INTEGER_LAWS[name](x, y)
    modulus = 1 << dtype.bits
    assert same(evaluate(name, dtype, [x, y]), (exact + modulus // 2) % modulus - modulus // 2)


_FLOAT_LAWS: dict[str, Callable[..., Fraction]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
}


@given(st.sampled_from(sorted(_FLOAT_LAWS)), st.sampled_from(FLOATS), st.data())
def test_float_arithmetic_is_rounded_once(name: str, dtype: DType, data: st.DataObject) -> None:
    finite = VALUES[dtype].filter(math.isfinite)
    x, y = data.draw(finite), data.draw(finite)
    if name == "div" and y == 0.0:
        return
    expected = nearest(_FLOAT_LAWS[name](Fraction(x), Fraction(y)), dtype)
    overflow = Reason.OVERFLOW if math.isinf(expected) else None
    assert outcome(evaluate, name, dtype, [x, y]) == (expected, overflow)


@given(st.sampled_from(FLOATS), st.data())
def test_square_root_is_rounded_once(dtype: DType, data: st.DataObject) -> None:
    x = abs(data.draw(VALUES[dtype].filter(math.isfinite)))
    root = evaluate("sqrt", dtype, [x])
    kind: Any = np.float32 if dtype is FLOAT32 else np.float64
    below, above = (Fraction(float(np.nextafter(kind(root), kind(side)))) for side in (-INF, INF))
    halves = ((below + Fraction(root)) / 2, (above + Fraction(root)) / 2)
    assert max(halves[0], Fraction(0)) ** 2 <= Fraction(x) <= halves[1] ** 2


_SIGNALLING: dict[str, str] = {
    **{name: name for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh", "exp", "log", "sqrt", "floor", "ceil")},
    **{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "tan2")},
    "add": "add",
    "sub": "subtract",
    "mul": "multiply",
    "div": "divide",
    "pow": "power",
    "neg": "negative",
    "abs": "absolute",
    "minimum": "fmin",
    "maximum": "fmax",
    "isfinite": "isfinite",
}
_REASONS = {"divide": Reason.DIVISION_BY_ZERO, "overflow": Reason.OVERFLOW, "invalid": Reason.DOMAIN, None: None}


# Signalling NaNs make a noise of their own in NumPy, and the overflow of a float32 is found only when it is rounded.
@given(st.sampled_from(sorted(_SIGNALLING)), st.data())
def test_what_is_reported_is_what_ieee_signals(name: str, data: st.DataObject) -> None:
    numbers = VALUES[FLOAT64].filter(lambda value: value == value)
    operands = [data.draw(numbers) for _ in SCALAR_OPS[name].operands]
    signalled = None
    try:
        with np.errstate(all="raise", under="ignore"):
            getattr(np, _SIGNALLING[name])(*[np.float64(operand) for operand in operands])
    except FloatingPointError as error:
        signalled = str(error).split()[0]
    _, reported = outcome(evaluate, name, result_type(name, FLOAT64), operands)
    if name == "div" and operands[1] == 0.0:
        assert reported is Reason.DIVISION_BY_ZERO  # IEEE calls 0/0 invalid and inf/0 exact
    else:
        assert reported is _REASONS[signalled]


# --- by hand ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("div", (-7, 2), -3),
        ("mod", (-7, 2), -1),
        ("floordiv", (-7, 2), -4),
        ("floormod", (-7, 2), 1),
        ("floormod", (7, -2), -1),
        ("floordiv", (5, 0), 0),
        ("floormod", (5, 0), 0),
        ("div", (MIN32, -1), MIN32),
        ("mod", (MIN32, -1), 0),
        ("floordiv", (MIN32, -1), MIN32),
        ("floormod", (MIN32, -1), 0),
        ("add", (MAX32, 1), MIN32),
        ("mul", (65536, 65536), 0),
        ("neg", (MIN32,), MIN32),
        ("abs", (MIN32,), MIN32),
        ("select", (True, 1, 2), 1),
    ],
)
def test_integer_values(name: str, operands: tuple[int, ...], expected: int) -> None:
    assert same(evaluate(name, INT32, operands), expected)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("maximum", (NAN, 2.0), 2.0),
        ("maximum", (2.0, NAN), 2.0),
        ("maximum", (NAN, NAN), NAN),
        ("minimum", (0.0, -0.0), -0.0),
        ("maximum", (-0.0, 0.0), 0.0),
        ("pow", (NAN, 0.0), 1.0),
        ("pow", (1.0, NAN), 1.0),
        ("pow", (-1.0, INF), 1.0),
        ("pow", (-2.0, 3.0), -8.0),
        ("atan2", (0.0, -0.0), math.pi),
        ("atan2", (-0.0, -1.0), -math.pi),
        ("erf", (INF,), 1.0),
        ("sqrt", (-0.0,), -0.0),
        ("floor", (-0.5,), -1.0),
        ("ceil", (-0.5,), -0.0),
        ("floor", (1e300,), 1e300),
        ("floor", (NAN,), NAN),
        ("exp", (-INF,), 0.0),
        ("exp", (-1000.0,), 0.0),
        ("div", (1.0, INF), 0.0),
        ("div", (NAN, 0.0), NAN),
        ("select", (False, NAN, 1.0), 1.0),
    ],
)
def test_float_values(name: str, operands: tuple[float, ...], expected: float) -> None:
    assert same(evaluate(name, FLOAT64, operands), expected)


@pytest.mark.parametrize(
    ("name", "operands", "expected"),
    [
        ("lt", (NAN, 1.0), False),
        ("le", (NAN, NAN), False),
        ("eq", (NAN, NAN), False),
        ("ne", (NAN, 0.0), True),
        ("eq", (-0.0, 0.0), True),
        ("lt", (False, True), True),
        ("isfinite", (NAN,), False),
        ("isfinite", (-INF,), False),
        ("isfinite", (5e-324,), True),
        ("not", (False,), True),
        ("not", (1,), False),
        ("and", (True, False), False),
        ("or", (0, 1), True),
    ],
)
def test_truth_values(name: str, operands: tuple[Value, ...], expected: bool) -> None:
    assert same(evaluate(name, BOOL, operands), expected)


@pytest.mark.parametrize(
    ("name", "dtype", "operands", "reason", "instead"),
    [
        ("div", INT64, (1, 0), Reason.DIVISION_BY_ZERO, None),
        ("mod", INT64, (1, 0), Reason.DIVISION_BY_ZERO, None),
        ("div", FLOAT64, (1.0, -0.0), Reason.DIVISION_BY_ZERO, -INF),
        ("div", FLOAT64, (0.0, 0.0), Reason.DIVISION_BY_ZERO, NAN),
        ("div", FLOAT64, (INF, INF), Reason.DOMAIN, NAN),
        ("mul", FLOAT64, (INF, 0.0), Reason.DOMAIN, NAN),
        ("add", FLOAT64, (INF, -INF), Reason.DOMAIN, NAN),
        ("sqrt", FLOAT64, (-1.0,), Reason.DOMAIN, NAN),
        ("log", FLOAT64, (-1.0,), Reason.DOMAIN, NAN),
        ("log", FLOAT64, (0.0,), Reason.DIVISION_BY_ZERO, -INF),
        ("asin", FLOAT64, (2.0,), Reason.DOMAIN, NAN),
        ("sin", FLOAT64, (INF,), Reason.DOMAIN, NAN),
        ("pow", FLOAT64, (-0.0, -1.0), Reason.DIVISION_BY_ZERO, -INF),
        ("pow", FLOAT64, (-2.0, 0.5), Reason.DOMAIN, NAN),
        ("pow", FLOAT64, (10.0, 400.0), Reason.OVERFLOW, INF),
        ("exp", FLOAT64, (1000.0,), Reason.OVERFLOW, INF),
        ("exp", FLOAT32, (89.0,), Reason.OVERFLOW, INF),
        ("mul", FLOAT64, (1e200, -1e200), Reason.OVERFLOW, -INF),
        ("add", FLOAT32, (3e38, 3e38), Reason.OVERFLOW, INF),
        ("cast", FLOAT32, (1e39,), Reason.OVERFLOW, INF),
        ("cast", INT32, (NAN,), Reason.CONVERSION, MIN32),
    ],
)
def test_what_is_left_alone(
    name: str, dtype: DType, operands: tuple[Value, ...], reason: Reason, instead: Value | None
) -> None:
    value, why = outcome(evaluate, name, dtype, operands)
    assert why is reason
    assert same(value, instead)


def test_division_by_zero_in_uop_gives_the_dividend() -> None:
    results = [evaluate(n, INT32, (5, 0), zero_divisor="dividend") for n in ("div", "mod", "floordiv", "floormod")]
    assert results == [0, 5, 0, 5]


def test_float32_is_rounded_at_every_step() -> None:
    tenth, fifth = (evaluate("cast", FLOAT32, [value]) for value in (0.1, 0.2))
    assert evaluate("add", FLOAT32, [tenth, fifth]) == float(np.float32(0.1) + np.float32(0.2))
    assert evaluate("sin", FLOAT32, [tenth]) == float(np.float32(np.sin(np.float64(tenth))))


def test_payloads_of_nans() -> None:
    quiet, signalling = float_from_bits(0x7FF8000000000005), float_from_bits(0x7FF0000000000007)

    def bits(name: str, *operands: Value) -> int:
        result = evaluate(name, FLOAT64, operands)
        assert isinstance(result, float)
        return float_bits(result)

    assert bits("neg", quiet) == 0xFFF8000000000005
    assert bits("neg", signalling) == 0xFFF0000000000007
    assert bits("abs", float_from_bits(0xFFF8000000000005)) == 0x7FF8000000000005
    assert bits("select", True, signalling, 1.0) == 0x7FF0000000000007
    assert bits("add", 1.0, signalling) == 0x7FF8000000000007
    assert bits("add", signalling, quiet) == 0x7FF8000000000007
    assert bits("sin", quiet) == 0x7FF8000000000005
    made, _ = outcome(evaluate, "add", FLOAT64, [INF, -INF])
    assert isinstance(made, float)
    assert float_bits(made) == 0x7FF8000000000000


@pytest.mark.parametrize(
    ("name", "dtype", "operands"),
    [
        ("add", INT32, (1.0, 2.0)),
        ("add", FLOAT64, (1, 2)),
        ("add", FLOAT64, (1.0, 2)),
        ("mod", FLOAT64, (1.0, 2.0)),
        ("sin", INT32, (1,)),
        ("and", BOOL, (1.0, 1.0)),
        ("isfinite", BOOL, (1,)),
        ("add", INT32, (1,)),
        ("neg", INT32, (1, 2)),
    ],
)
def test_operands_of_a_wrong_kind_or_number(name: str, dtype: DType, operands: tuple[Value, ...]) -> None:
    with pytest.raises(TypeError):
        evaluate(name, dtype, operands)


def test_an_unknown_operator() -> None:
    with pytest.raises(KeyError):
        evaluate("gt", BOOL, [1, 2])


# --- nodes -----------------------------------------------------------------------------------------------------------


def test_a_node_is_evaluated_through_the_operator_it_shares_its_meaning_with() -> None:
    x = build.var("x", INT32)
    assert evaluate_node(build.apply("floormod", x, x), [-7, 2]) == 1
    assert same(evaluate_node(build.apply("lt", x, x), [-7, 2]), True)
    assert evaluate_node(build.cast(x, FLOAT32), [16777217]) == 16777216.0
    assert scalar_name(Op.get("prim.add")) == scalar_name(Op.get("prog.add")) == "add"
    assert scalar_name(Op.get("prog.load")) is None


def _registered(name: str, function: Callable[..., Any] | None) -> Op:
    op = Op.register(f"numeric_test.{name}")
    op.set_signature(["x"])
    if function is not None:
        op.set_attr("FNumpy", function)
    return op


def test_a_registered_operator_is_evaluated_by_its_reference() -> None:
    square = _registered("square", lambda x: x * x)
    half = _registered("reciprocal", lambda x, scale=1: scale / x)

    def result(op: Op, dtype: DType, value: Value, **attrs: Any) -> Value:
        return evaluate_node(Node(op, [build.const(value, dtype)], attrs, dtype), [value])

    assert same(result(square, FLOAT64, -1.5), 2.25)
    assert same(result(square, INT32, 65536), 0)
    assert same(result(half, FLOAT64, 2.0, scale=3), 1.5)
    for op, value, reason in (
        (square, 1e200, Reason.OVERFLOW),
        (half, 0.0, Reason.DIVISION_BY_ZERO),
        (_registered("root", np.sqrt), -1.0, Reason.DOMAIN),
        (_registered("opaque", None), 1.0, Reason.OPAQUE),
    ):
        assert outcome(result, op, FLOAT64, value) == (None, reason)
    for op, message in (
        (_registered("to_float", np.sqrt), "gave 2.0, which is no int64"),
        (_registered("twice", lambda x: np.repeat(x, 2)), "gave 2 values for one element"),
        (_registered("none", lambda x: x[1:]), "gave 0 values for one element"),
        (_registered("nothing", lambda x: None), "gave None, which is no int64"),
        (_registered("broken", lambda x: {}[x[0]]), "failed: KeyError: .*4"),
    ):
        with pytest.raises(EvaluationError, match=f"^FNumpy of '{op.name}' {message}") as failed:
            result(op, INT64, 4)
        assert [node.op for node in failed.value.blamed] == [op]


@pytest.mark.parametrize(("base", "expected"), [(-0.0, 0.0), (0.0, 0.0), (-math.inf, math.inf), (4.0, 2.0)])
def test_a_power_of_one_half_is_no_root(base: float, expected: float) -> None:
    result = evaluate("pow", FLOAT64, [base, 0.5])
    assert isinstance(result, float)
    assert (result, math.copysign(1.0, result)) == (expected, 1.0)
