"""The evaluator's scalars: every operator, for all types and edge values, against Python's integers and NumPy by hand.

Each operator runs in a loop that is evaluated trip by trip and in one that is evaluated at once.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.evaluate.machine import execute
from scaly_ir.graph import Node
from scaly_ir.op import CallEffectKind, Op
from scaly_ir.prim import SCALAR_OPS, register_elementwise
from scaly_ir.types import BOOL, FLOAT32, FLOAT64, INT32, INT64, DType, int_range

Array = np.ndarray[Any, Any]

MIN32, MAX32, MIN64, MAX64 = -(2**31), 2**31 - 1, -(2**63), 2**63 - 1
NUMBERS = [0.0, -0.0, 1.0, -1.0, 0.5, -1.5, 2.5, 3.0, -7.0, 0.7, math.inf, -math.inf, math.nan]
EDGES: dict[DType, list[Any]] = {
    BOOL: [False, True],
    INT32: [0, 1, -1, 2, -2, 7, -7, 46341, MAX32, MIN32, MIN32 + 1],
    INT64: [0, 1, -1, 2, -2, 7, -7, 3037000500, MAX64, MIN64, MIN64 + 1, MAX32 + 1, 2**53 + 1],
    FLOAT32: [*NUMBERS, 1e-45, 1e-38, 3.4028234663852886e38, float(np.float32(0.1)), 16777216.0, 1e30],
    FLOAT64: [*NUMBERS, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 0.1, 2.0**53, 1e200, -1e10],
}
INTEGERS, FLOATS = (INT32, INT64), (FLOAT32, FLOAT64)


def results(build_value: Callable[..., Node], result: DType, dtypes: Sequence[DType], strict: bool = True) -> Any:
    """Return the operands, all tuples of edge values, and the results; both ways of running agree by bits."""
    tuples = list(itertools.product(*[EDGES[dtype] for dtype in dtypes]))
    tuples *= -(-40 // len(tuples))  # enough of them for a loop to be worth evaluating at once
    return tuples, _run(build_value, result, dtypes, tuples, strict)


def _run(
    build_value: Callable[..., Node], result: DType, dtypes: Sequence[DType], tuples: list[Any], strict: bool = True
) -> Array:
    operands = zip(*tuples, strict=True)
    columns = [np.array(column).astype(str(dtype)) for column, dtype in zip(operands, dtypes, strict=True)]
    params = [build.param(f"x{n}", len(tuples), dtype) for n, dtype in enumerate(dtypes)]
    output = build.param("y", len(tuples), result)
    at = build.var("i")
    value = build_value(*[build.load(build.view(param, at)) for param in params])
    loop = build.for_(build.range_("i", 0, len(tuples)), [build.store(build.view(output, at), value)])
    module = build.program([build.proc("f", [*params, output], [loop], {"input_count": len(params)})])
    sc.verify(module)
    inputs = {f"x{n}": column for n, column in enumerate(columns)}
    found = [
        execute(module, inputs, None, shuffle=None, width=4, strict=strict, at_once=at_once)["y"]
        for at_once in (False, True)
    ]
    assert same_bits(*found)
    return found[0]


def same_bits(x: Array, y: Array) -> bool:
    """Tell whether two arrays are equal, zeros with their signs, all NaNs alike."""
    if x.dtype != y.dtype or x.shape != y.shape:
        return False
    number = (x == x) | (y == y)
    return bool(x[number].tobytes() == y[number].tobytes())


def expected(values: Sequence[Any], dtype: DType) -> Array:
    with np.errstate(all="ignore"):
        return np.array(values).astype(str(dtype))


def wrapped(value: int, dtype: DType) -> int:
    low = int_range(dtype)[0]
    return int((value - low) % 2**dtype.bits + low)


def truncated(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if x * y > 0 else -1)


BY_HAND: dict[str, Callable[..., int]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "neg": lambda x: -x,
    "abs": abs,
    "floordiv": lambda x, y: x // y if y else 0,
    "floormod": lambda x, y: x % y if y else 0,
    "minimum": min,
    "maximum": max,
}


@pytest.mark.parametrize("dtype", INTEGERS)
@pytest.mark.parametrize("name", BY_HAND)
def test_integers_wrap(name: str, dtype: DType) -> None:
    count = len(SCALAR_OPS[name].operands)
    tuples, found = results(lambda *x: build.apply(name, *x), dtype, [dtype] * count)
    assert found.tolist() == [wrapped(BY_HAND[name](*values), dtype) for values in tuples]


@pytest.mark.parametrize("dtype", INTEGERS)
def test_truncating_division_of_integers(dtype: DType) -> None:
    tuples = [pair for pair in itertools.product(EDGES[dtype], repeat=2) if pair[1]]
    quotients = _run(lambda x, y: build.apply("div", x, y), dtype, [dtype] * 2, tuples)
    remainders = _run(lambda x, y: build.apply("mod", x, y), dtype, [dtype] * 2, tuples)
    assert quotients.tolist() == [wrapped(truncated(x, y), dtype) for x, y in tuples]
    assert remainders.tolist() == [x - truncated(x, y) * y for x, y in tuples]


def test_divisions_of_the_specification() -> None:
    cases = {"div": (-7, 2, -3), "mod": (-7, 2, -1), "floordiv": (-7, 2, -4), "floormod": (-7, 2, 1)}
    zeros = {"floordiv": (5, 0, 0), "floormod": (5, 0, 0)}
    for name, (x, y, result) in [*cases.items(), *zeros.items()]:
        found = _run(lambda a, b, name=name: build.apply(name, a, b), INT64, [INT64] * 2, [(x, y)])
        assert found.tolist() == [result]


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["add", "sub", "mul", "div"])
def test_arithmetic_of_floats(name: str, dtype: DType) -> None:
    tuples, found = results(lambda x, y: build.apply(name, x, y), dtype, [dtype] * 2)
    function = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide}[name]
    kind = np.dtype(str(dtype)).type
    with np.errstate(all="ignore"):
        wanted = [function(kind(x), kind(y)) for x, y in tuples]
    assert same_bits(found, expected(wanted, dtype))


LIBM = {
    **{name: getattr(np, name) for name in "sin cos tan sinh cosh tanh exp log sqrt".split()},
    **{f"a{name}": getattr(np, f"arc{name}") for name in "sin cos tan".split()},
    "erf": math.erf,
    "pow": lambda x, y: np.power(np.array([x]), np.array([y]))[0],  # of scalars NumPy does not say what C says
    "atan2": np.arctan2,
}


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LIBM)
def test_functions_of_the_c_library_go_through_double(name: str, dtype: DType) -> None:
    tuples, found = results(lambda *x: build.apply(name, *x), dtype, [dtype] * len(SCALAR_OPS[name].operands))
    with np.errstate(all="ignore"):
        wanted = [LIBM[name](*[np.float64(np.dtype(str(dtype)).type(value)) for value in v]) for v in tuples]
    assert same_bits(found, expected(wanted, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", LIBM)
def test_running_gives_what_folding_gives(name: str, dtype: DType) -> None:
    """The operators' `FNumpy` is what constants fold through."""
    op = build.apply(name, *[build.const(1, dtype)] * len(SCALAR_OPS[name].operands)).op
    tuples, found = results(lambda *x: build.apply(name, *x), dtype, [dtype] * len(SCALAR_OPS[name].operands))
    folded = [op.get_attr("FNumpy")(*[np.array([v], str(dtype)) for v in values])[0] for values in tuples]
    assert same_bits(found, expected(folded, dtype))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(
    ("name", "function"),
    [("neg", np.negative), ("abs", np.abs), ("floor", np.floor), ("ceil", np.ceil), ("isfinite", np.isfinite)],
)
def test_operators_of_one_float(name: str, function: Callable[..., Any], dtype: DType) -> None:
    result = BOOL if name == "isfinite" else dtype
    tuples, found = results(lambda x: build.apply(name, x), result, [dtype])
    assert same_bits(found, expected([function(np.dtype(str(dtype)).type(x)) for (x,) in tuples], result))


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize(("name", "function"), [("minimum", np.fmin), ("maximum", np.fmax)])
def test_a_number_beats_nan_in_extrema(name: str, function: Callable[..., Any], dtype: DType) -> None:
    tuples, found = results(lambda x, y: build.apply(name, x, y), dtype, [dtype] * 2)
    wanted = expected([function(*pair) for pair in tuples], dtype)
    assert np.array_equal(found, wanted, equal_nan=True)  # the sign of a zero is nobody's business


@pytest.mark.parametrize("dtype", EDGES)
@pytest.mark.parametrize(
    ("name", "function"), [("lt", np.less), ("le", np.less_equal), ("eq", np.equal), ("ne", np.not_equal)]
)
def test_comparisons(name: str, function: Callable[..., Any], dtype: DType) -> None:
    kind = np.dtype(str(dtype)).type
    tuples, found = results(lambda x, y: build.apply(name, x, y), BOOL, [dtype] * 2)
    assert found.tolist() == [bool(function(kind(x), kind(y))) for x, y in tuples]


@pytest.mark.parametrize(
    ("name", "function"), [("and", lambda x, y: x and y), ("or", lambda x, y: x or y), ("not", lambda x: not x)]
)
def test_logic(name: str, function: Callable[..., bool]) -> None:
    tuples, found = results(lambda *x: build.apply(name, *x), BOOL, [BOOL] * len(SCALAR_OPS[name].operands))
    assert found.tolist() == [function(*values) for values in tuples]


@pytest.mark.parametrize("dtype", EDGES)
def test_select(dtype: DType) -> None:
    tuples, found = results(lambda c, x, y: build.apply("select", c, x, y), dtype, [BOOL, dtype, dtype])
    assert same_bits(found, expected([x if c else y for c, x, y in tuples], dtype))


@pytest.mark.parametrize("name", ["select", "and", "or"])
def test_all_operands_are_evaluated(name: str) -> None:
    operands = "1, %c[0], %c[9]" if name == "select" else f"{int(name == 'or')}, %c[9]"
    value = operands.replace("%c", "prog.load %c")
    module = sc.parse(
        f"prog.proc @f(%c: memref<1xbool>, %y: memref<1xbool>) {{input_count=1}} {{"
        f"prog.store prog.{name}({value}), %y[0] : bool }}"
    )
    with pytest.raises(sc.EvaluationError, match="read of element 9 of %c"):
        sc.run(module, {"c": [1]})


# --- conversions ------------------------------------------------------------------------------------------------------


def converted(value: Any, source: DType, target: DType) -> Any:
    """Return a value of a type in another; of what an integer type cannot hold, the least."""
    if source.is_float:
        value = float(np.dtype(str(source)).type(value))
        if target.is_int:
            fits = math.isfinite(value) and math.trunc(value) in int_range(target)
            return math.trunc(value) if fits else int_range(target)[0]
        return value
    return wrapped(int(value), target) if target.is_int else int(value)


@pytest.mark.parametrize("target", [INT32, INT64, FLOAT32, FLOAT64])
@pytest.mark.parametrize("source", EDGES)
def test_casts(source: DType, target: DType) -> None:
    tuples, found = results(lambda x: build.cast(x, target), target, [source], strict=False)
    wanted = [converted(x, source, target) for (x,) in tuples]
    if target is FLOAT32 and source.is_int:  # rounded once, not by way of float64
        assert same_bits(found, np.array([np.int64(value) for value in wanted]).astype(np.float32))
    else:
        assert same_bits(found, expected(wanted, target))


def test_a_large_integer_is_rounded_once_to_float32() -> None:
    value = 2**60 + 2**36 + 1  # just above a tie of float32, and a tie once it is rounded to float64
    found = _run(lambda x: build.cast(x, FLOAT32), FLOAT32, [INT64], [(value,)] * 40)
    assert set(found.tolist()) == {float(2**60 + 2**37)}


@pytest.mark.parametrize("target", INTEGERS)
@pytest.mark.parametrize("source", FLOATS)
@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 2.0**63, -(2.0**64)])
def test_floats_that_no_integer_holds(value: float, source: DType, target: DType) -> None:
    reason = re.escape(f"conversion of {value} to {target}, which cannot hold it")
    with pytest.raises(sc.EvaluationError, match=reason):
        _run(lambda x: build.cast(x, target), target, [source], [(value,)])
    with pytest.raises(sc.EvaluationError, match="%i = 39"):
        _run(lambda x: build.cast(x, target), target, [source], [(0.0,)] * 39 + [(value,)])


@pytest.mark.parametrize(("value", "target"), [(2147483647.9, INT32), (-2147483648.9, INT32), (-(2.0**63), INT64)])
def test_floats_that_an_integer_just_holds(value: float, target: DType) -> None:
    found = _run(lambda x: build.cast(x, target), target, [FLOAT64], [(value,)] * 40)
    assert set(found.tolist()) == {math.trunc(value)}


def test_nan_is_true() -> None:
    _, found = results(lambda x: build.convert(x, BOOL), BOOL, [FLOAT64])
    assert found[:13].tolist() == [False, False, *[True] * 11]


def test_the_step_of_a_maximum_keeps_nan() -> None:
    def step(best: Node, x: Node) -> Node:
        nan = build.apply("ne", x, x)
        return build.apply("select", build.apply("or", build.apply("lt", best, x), nan), x, best)

    pairs = [(math.nan, 2.0), (2.0, math.nan), (1.0, 2.0), (2.0, 1.0)]
    found = _run(step, FLOAT64, [FLOAT64] * 2, pairs)
    assert np.array_equal(found, [math.nan, math.nan, 2.0, 2.0], equal_nan=True)


@pytest.mark.parametrize("dtype", FLOATS)
def test_constants_keep_their_bits(dtype: DType) -> None:
    for value in EDGES[dtype]:
        found = _run(lambda x, value=value: build.const(value, dtype), dtype, [dtype], [(0.0,)] * 40)
        assert same_bits(found, expected([value] * 40, dtype))


# --- registered operators ---------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("dtype", [INT32, INT64, FLOAT32, FLOAT64])
def test_registered_operators_go_through_their_numpy_function(dtype: DType) -> None:
    register_elementwise("twice_plus", 2, FNumpy=lambda x, y: x + x + y)
    tuples, found = results(lambda x, y: build.apply("twice_plus", x, y), dtype, [dtype] * 2)
    with np.errstate(all="ignore"):
        x, y = np.array(tuples).astype(str(dtype)).T
        assert same_bits(found, x + x + y)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize(
    ("attributes", "reason"),
    [
        ({}, "'prog.odd' cannot be evaluated: it has no attribute FNumpy"),
        ({"FNumpy": lambda x: 1 // 0}, "FNumpy of 'prog.odd' failed: ZeroDivisionError"),
        ({"FNumpy": lambda x: x.astype(int)}, "FNumpy of 'prog.odd' gave 0, which is no float64"),
        ({"FNumpy": lambda x: x[1:]}, "FNumpy of 'prog.odd' gave 0 values for one element"),
        ({"FNumpy": lambda x: np.repeat(x, 3)}, "FNumpy of 'prog.odd' gave 3 values for one element"),
        ({"FNumpy": lambda x: int("a")}, "FNumpy of 'prog.odd' failed: ValueError: invalid literal"),
    ],
)
def test_operators_that_cannot_be_evaluated(attributes: dict[str, Any], reason: str) -> None:
    register_elementwise("odd", 1, **attributes)
    with pytest.raises(sc.EvaluationError, match=reason):
        _run(lambda x: build.apply("odd", x), FLOAT64, [FLOAT64], [(0.0,)] * 40)


@pytest.mark.usefixtures("registry")
@pytest.mark.parametrize("kind", [CallEffectKind.Pure, CallEffectKind.ReadState, CallEffectKind.Opaque])
def test_what_has_an_effect_is_evaluated_for_each_occurrence(kind: CallEffectKind) -> None:
    calls: list[float] = []

    def draw(x: Any) -> Any:
        calls.append(float(x[0]))
        return x + len(calls)

    op = Op.register("t.draw")
    op.set_signature(["x"])
    op.set_attr("FNumpy", draw)
    op.set_attr("TFixedReturnType", FLOAT64)
    op.set_attr("TCallEffectKind", kind)
    module = sc.parse(
        """prog.proc @f(%x: memref<1xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
          prog.store prog.add(t.draw(prog.load %x[0]), prog.mul(10, t.draw(prog.load %x[0]))), %y[0] : float64
          %c = prog.assign 7 : float64 {declare=True}
          prog.store_pair t.draw(%c), prog.neg(t.draw(%c)), %y[1] : float64
          %c = prog.assign 0 : float64
          prog.store
            prog.load %y[prog.floordiv(prog.cast(prog.add(t.draw(%c), t.draw(%c)), int64), 8)], %y[3] : float64
        }"""
    )
    found = sc.run(module, {"x": [100.0]})["y"].tolist()
    if kind is CallEffectKind.Pure:
        assert calls == [100.0, 7.0, 0.0]
        assert found == [1111.0, 9.0, -9.0, 1111.0]
    else:
        assert calls == [100.0, 100.0, 7.0, 7.0, 0.0, 0.0]
        assert found == [1121.0, 10.0, -11.0, 10.0]
