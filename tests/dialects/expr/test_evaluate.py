"""The evaluator against NumPy called directly: every operation, edge by edge, calls, loops and what is refused."""

from __future__ import annotations

import math
import weakref
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.evaluate import LARGEST_FOLDED, evaluate, evaluate_constants, evaluate_function
from scaly_ir.dialects.expr.functions import make_function
from scaly_ir.dialects.expr.ingest import const, make_const
from scaly_ir.dialects.expr.library import argmax
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node, postorder
from scaly_ir.numeric.machine import NotExact, Reason
from scaly_ir.op import Op
from scaly_ir.prim import register_elementwise
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from tests.dialects.expr import reference
from tests.dialects.expr.graphs import graphs, operations, values

Array = np.ndarray[Any, Any]

NAN, INF = math.nan, math.inf


def assert_same(got: Array, wanted: Array, *, close: bool = False, zeros: bool = True) -> None:
    """Compare by bits, but for the payloads of NaNs: `close` allows for rounding, `zeros` tells them apart by sign."""
    assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
    if got.dtype.kind != "f":
        assert (got == wanted).all()
        return
    if close:
        np.testing.assert_allclose(got, wanted, rtol=8 * np.finfo(got.dtype).eps, atol=0)
    else:
        np.testing.assert_array_equal(got, wanted)
    if zeros:
        numbers = ~np.isnan(wanted)
        assert (np.signbit(got[numbers]) == np.signbit(wanted[numbers])).all()


def inputs_for(roots: list[Expr], seed: int) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    nodes = [node for node in postorder(*roots) if node.op is ops.INPUT]
    return {node.attrs["name"]: values(rng, str(node.type.dtype), node.type.shape) for node in nodes}


def check_each(roots: list[Expr], seed: int) -> None:
    """Evaluate all operations at once and compare each with NumPy on the values of its operands."""
    order: list[Any] = postorder(*roots)
    results = dict(zip(order, evaluate(order, inputs_for(roots, seed)), strict=True))
    for node in order:
        if node.op in (ops.INPUT, ops.CONST):
            continue
        name = node.op.mnemonic
        arrays = [results[operand] for operand in node.args]
        wanted = reference.apply(name, node.attrs, arrays, str(node.type.dtype))
        extrema = ("minimum", "maximum", "reduce")
        assert_same(results[node], wanted, close=name in reference.LIBM, zeros=name not in extrema)


@pytest.mark.parametrize("name", reference.NAMES)
def test_every_operation_computes_what_numpy_does(name: str) -> None:
    @given(operations(name), st.integers(0, 2**32 - 1))
    def check(made: Expr, seed: int) -> None:
        check_each([made], seed)

    check()


@given(graphs(), st.integers(0, 2**32 - 1))
def test_graphs_compute_what_their_operations_do(made: list[Expr], seed: int) -> None:
    check_each(made, seed)


# --- edges ------------------------------------------------------------------------------------------------------------


def ints(*entries: int, dtype: str = "int64") -> Expr:
    return const(np.array(entries, dtype))


def listed(e: Expr) -> Any:
    return evaluate(e, {}).tolist()


def test_integer_division_rounds_down_and_never_traps() -> None:
    x, y = ints(-7, 7, -7, 5, -(2**63)), ints(2, -2, -2, 0, -1)
    assert listed(x // y) == [-4, -4, 3, 0, -(2**63)]
    assert listed(x % y) == [1, -1, -1, 0, 0]
    assert listed(-ints(-(2**63))) == [-(2**63)]
    assert listed(abs(ints(-(2**31), dtype="int32"))) == [-(2**31)]
    assert listed(ints(2**31 - 1, dtype="int32") + ints(1, dtype="int32")) == [-(2**31)]


def test_cast_drops_fractions_and_high_bits() -> None:
    assert listed(const([2.9, -2.9]).cast("int64")) == [2, -2]
    assert listed(const([NAN, 0.0, -0.0]).cast("bool")) == [True, False, False]
    assert listed(ints(2**40 + 5).cast("int32")) == [5]
    assert listed(const([True, False]).cast("float32")) == [1.0, 0.0]
    assert listed(const([1e300]).cast("float32")) == [INF]
    assert listed(ints(2**53 + 1).cast("float64")) == [2.0**53]
    assert evaluate(const([NAN, INF, 1e300]).cast("int64"), {}).dtype == np.int64


def test_extrema_of_nan() -> None:
    nan, one = const(NAN), const(1.0)
    assert listed(nan.minimum(one)) == 1.0
    assert listed(one.maximum(nan)) == 1.0
    assert math.isnan(listed(nan.minimum(nan)))
    assert math.isnan(listed(const([NAN, 1.0]).max()))
    assert math.isnan(listed(const([1.0, NAN]).min()))
    assert listed(argmax(const([1.0, NAN, 3.0]))) == 1
    assert listed(argmax(const([3.0, 3.0]))) == 0


def test_powers_and_angles() -> None:
    def power(x: float, y: float) -> float:
        return listed(const(x) ** const(y))  # type: ignore[no-any-return]

    assert (power(0.0, 0.0), power(NAN, 0.0), power(1.0, NAN), power(-0.0, -1.0)) == (1.0, 1.0, 1.0, -INF)
    assert math.isnan(power(-2.0, 0.5))

    def angle(y: float, x: float) -> float:
        return listed(build.binary("atan2", const(y), const(x)))  # type: ignore[no-any-return]

    assert (angle(0.0, -0.0), angle(-0.0, -1.0)) == (math.pi, -math.pi)
    assert math.copysign(1.0, listed(build.unary("sqrt", const(-0.0)))) == -1.0
    assert (listed(build.unary("log", const(0.0))), listed(build.unary("erf", const(INF)))) == (-INF, 1.0)


def test_reductions_of_nothing() -> None:
    empty = make_const(Table.from_array(np.zeros((0, 3))))
    assert listed(build.reshape(empty, (0,)).sum()) == 0.0
    assert listed(empty.sum(0)) == [0.0, 0.0, 0.0]
    assert evaluate(empty.max(1), {}).shape == (0,)
    with pytest.raises(ValueError, match="no entries"):
        empty.max(0)
    assert math.copysign(1.0, listed(const([-0.0]).sum())) == 1.0  # it starts from 0


def test_slices_are_those_of_numpy() -> None:
    v = const(np.arange(10))
    assert listed(v[8:2:-3]) == [8, 5]
    assert listed(v[-100:3]) == [0, 1, 2]
    assert listed(v[::-4]) == [9, 5, 1]


def test_positions_out_of_range() -> None:
    i = build.sym("i", 3, dtype="int64")
    given_index = {"i": np.array([-1, 0, 5])}
    assert evaluate(build.gather(ints(10, 20), i), given_index).tolist() == [0, 10, 0]
    promised = build.gather(ints(10, 20), i, mode="promise_in_bounds")
    with pytest.raises(IndexError, match=r"index -1 is outside \[0, 2\)") as caught:
        evaluate(promised, given_index)
    assert caught.value.__notes__ == ["in the evaluation of 'expr.gather' : tensor<3xint64>"]
    base, written = const([5.0, 5.0, 5.0]), const([1.0, 2.0, 3.0])
    at = {"i": np.array([1, 1, 7])}
    assert evaluate(build.index_add(base, i, written), at).tolist() == [5.0, 8.0, 5.0]
    assert evaluate(build.index_set(base, i, written), at).tolist() == [5.0, 2.0, 5.0]
    with pytest.raises(IndexError, match="index 7"):
        evaluate(build.index_set(base, i, written, mode="promise_in_bounds"), at)


def test_products() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.integers(-9, 9, (2, 1, 3, 4)), rng.integers(-9, 9, (5, 4, 2))
    result = evaluate(const(x) @ const(y), {})
    assert result.shape == (2, 5, 3, 2)
    assert (result == x @ y).all()
    assert listed(const(np.zeros((2, 0))) @ const(np.zeros((0, 3)))) == [[0.0] * 3] * 2
    with pytest.raises(ValueError, match="one axis or more"):
        const(1.0) @ const([1.0])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_sums_are_in_index_order_bit_for_bit(dtype: str) -> None:
    x = (np.random.default_rng(2).normal(size=(7, 301)) * 10.0 ** np.arange(-3, 4)[:, None]).astype(dtype)
    wanted = x.dtype.type(0)
    for entry in x.flat:
        wanted = wanted + entry
    assert evaluate(const(x).sum(), {}).tobytes() == wanted.tobytes()
    total = x.dtype.type(0)
    for left, right in zip(x[0], x[1], strict=True):
        total = total + left * right
    assert evaluate(const(x[0]) @ const(x[1]), {}).tobytes() == total.tobytes()


# --- sparse values ----------------------------------------------------------------------------------------------------


def test_what_a_pattern_leaves_out_is_zero() -> None:
    pattern = SparsityPattern((2, 2), [0, 1], [0, 1])
    s = build.make(ops.INPUT, (), {"name": "s"}, TensorType((2, 2), "float64", True, pattern))
    value = np.diag([2.0, 3.0])
    assert evaluate(s / const(np.zeros((2, 2))), {"s": value}).tolist() == [[INF, 0.0], [0.0, INF]]
    assert evaluate(s * const(INF), {"s": value}).tolist() == [[INF, 0.0], [0.0, INF]]
    assert evaluate(-s, {"s": value}).tobytes() == np.diag([-2.0, -3.0]).tobytes()
    with pytest.raises(ValueError, match="entries outside of its sparsity pattern"):
        evaluate(s, {"s": np.ones((2, 2))})


# --- inputs and results -----------------------------------------------------------------------------------------------


def test_results_have_the_structure_of_what_was_asked_for() -> None:
    x = build.sym("x", 2)
    one, several, none = evaluate(x, {"x": [1, 2]}), evaluate((x, x + 1), {"x": [1, 2]}), evaluate([], {})
    assert (one.tolist(), type(several), several[1].tolist(), none) == ([1.0, 2.0], tuple, [2.0, 3.0], [])
    assert evaluate(x.sum(), {"x": [1, 2]}).shape == ()


def test_results_are_arrays_of_their_own() -> None:
    x, value = build.sym("x", 2), np.array([1.0, 2.0])
    same, turned, constant = evaluate([x, x[::-1], const([3.0])], {"x": value})
    for result in (same, turned, constant):
        result[0] = 9.0
    assert value.tolist() == [1.0, 2.0]
    assert listed(const([3.0])) == [3.0]


@pytest.mark.parametrize(
    ("value", "error", "message"),
    [
        (np.zeros(2, np.float32), TypeError, "expected float64 for 'x', got float32"),
        (np.zeros(2, np.int64), TypeError, "expected float64 for 'x', got int64"),
        (np.float64(1.0), ValueError, r"expected shape \(2,\) for 'x', got \(\)"),
        (np.zeros((2, 1)), ValueError, r"expected shape \(2,\) for 'x', got \(2, 1\)"),
        ([1j, 2.0], TypeError, "expected float64 for 'x', got complex128"),
        ([None, 2.0], TypeError, "expected float64 for 'x', got object"),
    ],
)
def test_values_must_be_what_the_input_is(value: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        evaluate(build.sym("x", 2), {"x": value})


def test_python_numbers_become_what_the_input_is() -> None:
    assert evaluate(build.sym("x", 2, dtype="float32"), {"x": [1, True]}).dtype == np.float32
    assert evaluate(build.sym("x", 2), {"x": np.array([1.0, 2.0], ">f8")}).tolist() == [1.0, 2.0]
    with pytest.raises(OverflowError, match="the value of 'n' does not fit int32"):
        evaluate(build.sym("n", dtype="int32"), {"n": 2**40})
    with pytest.raises(TypeError, match="expected int64 for 'n', got float64"):
        evaluate(build.sym("n", dtype="int64"), {"n": 1.0})


def test_names_are_those_of_the_inputs() -> None:
    x = build.sym("velocity", 2)
    with pytest.raises(ValueError, match="no value for input 'velocity' : tensor<2xfloat64 diff>"):
        evaluate(x, {})
    with pytest.raises(ValueError, match="no input is called 'velocty'; did you mean 'velocity'"):
        evaluate(x, {"velocity": [1, 2], "velocty": [1, 2]})
    with pytest.raises(TypeError, match="expected an expression"):
        evaluate(1.0, {})


@pytest.mark.usefixtures("registry")
def test_operators_of_plug_ins_are_checked() -> None:
    x = build.sym("x", 2)
    register_elementwise("third", 1, FNumpy=lambda a: a / 3.0)
    third = build.unary("third", x)
    assert evaluate(third, {"x": [3.0, 6.0]}).tolist() == [1.0, 2.0]
    register_elementwise("narrow", 1, FNumpy=lambda a: a.astype(np.float32))
    with pytest.raises(
        EvaluationError, match=r"'expr.narrow' gave float32 of shape \(2,\), expected tensor<2xfloat64 diff>"
    ):
        evaluate(build.unary("narrow", x), {"x": [3.0, 6.0]})
    register_elementwise("first", 1, FNumpy=lambda a: a[0])
    with pytest.raises(EvaluationError, match=r"'expr.first' gave float64 of shape \(\)"):
        evaluate(build.unary("first", x), {"x": [3.0, 6.0]})
    register_elementwise("broken", 1, FNumpy=lambda a: 1 // 0)
    broken = build.unary("broken", x)
    with pytest.raises(
        EvaluationError, match=r"^FNumpy of 'expr\.broken' failed: ZeroDivisionError: .* by zero$"
    ) as failed:
        evaluate(broken * 2.0, {"x": [3.0, 6.0]})
    assert failed.value.blamed == (broken,)
    with pytest.raises(EvaluationError, match=r"^FNumpy of 'expr\.broken' failed: ZeroDivisionError: .* by zero$"):
        evaluate_constants(build.unary("broken", const(1.0)))
    register_elementwise("opaque", 1)
    with pytest.raises(NotImplementedError, match=r"operator 'expr\.opaque' has no FNumpy"):
        evaluate(build.unary("opaque", x), {"x": [3.0, 6.0]})
    scaled = Op.register("my_ext.scaled")
    scaled.set_signature(["x"], attrs={"by": float})
    scaled.set_attr("FNumpy", lambda a, by: a * by)
    assert evaluate(build.hinted(Expr(scaled, [x], x.type, attrs={"by": 2.0}), "block"), {"x": [1, 2]}).tolist() == [
        2,
        4,
    ]


# --- calls ------------------------------------------------------------------------------------------------------------


def function(name: str, inputs: list[Expr], *outputs: Expr) -> Node:
    return make_function(name, inputs, outputs, [f"o{number}" for number in range(len(outputs))])


def call(callee: Any, *operands: Expr, output: int = 0) -> Expr:
    return build.make(ops.CALL, operands, {"callee": callee, "output": output})


@pytest.mark.usefixtures("registry")
def test_equal_calls_are_one_evaluation() -> None:
    seen = []

    def noted(a: Array) -> Array:
        seen.append(1)
        return a

    register_elementwise("noted", 1, FNumpy=noted)
    x, y = build.sym("x"), build.sym("y")
    f = function("f", [x], build.unary("noted", x), x * 2)
    results = evaluate([call(f, y), call(f, y, output=1), call(f, y) + call(f, y, output=1), call(f, y + 1)], {"y": 1})
    assert ([float(result) for result in results], len(seen)) == ([1.0, 2.0, 3.0, 2.0], 2)
    hinted = build.hinted(call(f, y, output=1), "block")
    evaluate([call(f, y), hinted], {"y": 1})
    assert len(seen) == 3


def test_operands_go_by_position_and_substitution_is_simultaneous() -> None:
    x, y = build.sym("x"), build.sym("y")
    f = function("f", [x, y], x - y)
    assert float(evaluate(call(f, y, x), {"x": 1.0, "y": 10.0})) == 9.0
    assert float(evaluate(call(f, x, call(f, y, x)), {"x": 1.0, "y": 10.0})) == -8.0
    unused = function("g", [x, y], y)
    assert float(evaluate(call(unused, x, y), {"x": 1.0, "y": 10.0})) == 10.0
    assert [float(each) for each in evaluate_function(f, [np.array(3.0), np.array(1.0)])] == [2.0]


def test_a_function_that_is_not_known_is_an_error() -> None:
    opaque = Expr("call", [build.sym("x")], TensorType(), attrs={"callee": "far", "output": 0})
    with pytest.raises(ValueError, match=r"'expr\.call' refers to the function 'far', which is not defined here"):
        evaluate(opaque, {"x": 1.0})


def test_long_chains_need_no_recursion() -> None:
    x = build.sym("x")
    f = function("f0", [x], x + 1)
    for number in range(1, 2000):
        f = function(f"f{number}", [x], call(f, x) + 1)
    assert float(evaluate(call(f, x), {"x": 0.0})) == 2000.0
    e = x
    for _ in range(100_000):
        e = e + x
    assert float(evaluate(e, {"x": 1.0})) == 100_001.0


@pytest.mark.usefixtures("registry")
def test_values_are_freed_when_they_are_not_needed_any_more() -> None:
    made: list[weakref.ref[Array]] = []
    most = 0

    def counted(a: Array) -> Array:
        nonlocal most
        result = a + 1
        made.append(weakref.ref(result))
        most = max(most, sum([each() is not None for each in made]))
        return result

    register_elementwise("counted", 1, FNumpy=counted)
    x = build.sym("x", 4)
    e = x
    for _ in range(100):
        e = build.unary("counted", e)
    assert evaluate(e, {"x": [0.0] * 4}).tolist() == [100.0] * 4
    assert most <= 2


# --- loops ------------------------------------------------------------------------------------------------------------


def spelled_out(node: Expr, args: list[Array]) -> list[Array]:
    """The pseudo-code of specification 2.8, line by line."""
    attrs = node.attrs
    body, cond = attrs["callee"], attrs["cond"]
    outputs = len(body.attrs["output_names"])
    body_inputs, body_outputs = body.args[outputs:], body.args[:outputs]
    starts, strides = attrs["starts"], attrs["strides"]

    def size(formal: Node) -> int:
        return math.prod(formal.type.shape)

    c, L, m = attrs["n_carry"], attrs["length"], len(starts)
    carry, outer = list(args[:c]), args[c : c + m]
    T = L if len(args) == c + m else min(max(int(args[-1]), 0), L)
    formals = body_inputs[c + (1 if attrs["index"] else 0) :]

    def window(j: int, k: int) -> Array:
        return outer[j][starts[j] + k * strides[j] :][: size(formals[j])].reshape(formals[j].type.shape)

    ys = [np.zeros(L * size(o), str(o.type.dtype)) for o in body_outputs[c:]]
    traj = [np.zeros(L * a.size, a.dtype) for a in carry]
    params, steps = [window(j, 0) for j in range(m) if strides[j] == 0] if L else [], 0
    for t in range(T):
        k = T - 1 - t if attrs["reverse"] else t
        if cond is not None and not evaluate_function(cond, [*carry, *params])[0].all():
            break
        for i in range(c):
            traj[i][k * carry[i].size : (k + 1) * carry[i].size] = carry[i].ravel()
        index = [np.asarray(k)] if attrs["index"] else []
        out = evaluate_function(body, [*carry, *index, *[window(j, k) for j in range(m)]])
        carry = out[:c]
        for j, y in enumerate(out[c:]):
            ys[j][k * y.size : (k + 1) * y.size] = y.ravel()
        steps += 1
    return [*carry, *ys, np.asarray(steps), *traj]


def loop_results(operands: list[Expr], body: Node, **attrs: Any) -> list[Expr]:
    """Every result of a loop."""
    given_attrs = {"cond": None, "index": False, "reverse": False, "in_place": [], "starts": [], "strides": [], **attrs}
    carries, outputs = given_attrs["n_carry"], len(body.attrs["output_names"])
    made = {"callee": body, **given_attrs}
    return [build.make(ops.LOOP, operands, {**made, "output": number}) for number in range(outputs + 1 + carries)]


@st.composite
def loops(draw: Any) -> tuple[list[Expr], dict[str, Any]]:
    """Every result of a random loop, and values for what it reads."""
    sizes = draw(st.lists(st.sampled_from([(), (2,), (1, 2), (0,)]), max_size=2))
    carries = [build.sym(f"c{number}", shape) for number, shape in enumerate(sizes)]
    shapes = draw(st.lists(st.sampled_from([(), (3,), (2, 1)]), max_size=2))
    parts = [build.sym(f"p{number}", shape) for number, shape in enumerate(shapes)]
    index, reverse = draw(st.booleans()), draw(st.booleans())
    step = [build.sym("k", dtype="int64")] if index else []
    total = const(0.5)
    for formal in [*carries, *parts]:
        total = total + formal.sum()
    if index:
        total = total + step[0].cast("float64")
    following = [carry * 0.5 + total for carry in carries]
    extra: list[Expr] = draw(st.sampled_from([[], [total], [total, build.stack([total, total * 2])]]))
    if not following and not extra:
        extra = [total]
    body = function("body", [*carries, *step, *parts], *following, *extra)
    length = draw(st.integers(0, 4))
    starts = [draw(st.integers(0, 2)) for _ in parts]
    strides = [draw(st.integers(0, 3)) for _ in parts]
    cond = None
    if carries and not reverse and draw(st.booleans()):
        shared = [part for part, stride in zip(parts, strides, strict=True) if stride == 0]
        limit = carries[0].sum() + sum([part.sum() for part in shared], start=const(0.0))
        cond = function("cond", [*carries, *shared], limit < draw(st.sampled_from([-1.0, 1.0, 3.0, 100.0])))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    given_values: dict[str, Any] = {f"i{n}": rng.normal(size=shape) for n, shape in enumerate(sizes)}
    outers = []
    for n, (part, start, stride) in enumerate(zip(parts, starts, strides, strict=True)):
        extent = start + max(length - 1, 0) * stride + part.size
        outers.append(build.sym(f"a{n}", extent))
        given_values[f"a{n}"] = rng.normal(size=extent)
    operands = [*[build.sym(f"i{n}", shape) for n, shape in enumerate(sizes)], *outers]
    if draw(st.booleans()):
        operands.append(build.sym("trip", dtype="int64"))
        given_values["trip"] = draw(st.sampled_from([-1, 0, 1, 2, length, length + 3]))
    results = loop_results(
        operands, body, n_carry=len(carries), length=length, starts=starts, strides=strides, index=index,
        reverse=reverse, cond=cond,
    )  # fmt: skip
    return results, given_values


@given(loops())
def test_loops_are_those_of_the_specification(made: tuple[list[Expr], dict[str, Any]]) -> None:
    results, given_values = made
    args = [np.asarray(given_values[operand.attrs["name"]]) for operand in results[0].args]
    wanted = spelled_out(results[0], args)
    read = {operand.attrs["name"]: given_values[operand.attrs["name"]] for operand in results[0].args}
    for got, expected in zip(evaluate(results, read), wanted, strict=True):
        assert_same(got, expected)
    for node, expected in zip(results, wanted, strict=True):  # each on its own keeps no more than it needs
        assert_same(evaluate(node, read), expected)


@pytest.mark.usefixtures("registry")
def test_the_results_of_a_loop_are_one_evaluation() -> None:
    seen = []

    def noted(a: Array) -> Array:
        seen.append(1)
        return a

    register_elementwise("noted", 1, FNumpy=noted)
    c = build.sym("c")
    body = function("body", [c], build.unary("noted", c) + 1)
    evaluate(loop_results([const(0.0)], body, n_carry=1, length=5), {})
    assert len(seen) == 5


def test_a_long_loop_allocates_only_what_is_asked_for() -> None:
    c = build.sym("c", dtype="int64")
    body, cond = function("body", [c], c + 1), function("cond", [c], c < 10)
    results = loop_results([ints(0).reshape(())], body, cond=cond, n_carry=1, length=2**50)
    assert [int(each) for each in evaluate(results[:2], {})] == [10, 10]


def test_loops_nest_with_calls() -> None:
    c = build.sym("c", dtype="int64")
    inner = function("inner", [c], c + 1)
    middle = function("middle", [c], loop_results([c], inner, n_carry=1, length=3)[0])
    outer = loop_results([ints(0).reshape(())], function("outer", [c], call(middle, c) * 2), n_carry=1, length=4)
    value = 0
    for _ in range(4):
        value = (value + 3) * 2
    assert int(evaluate(outer[0], {})) == value


# --- folding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (lambda: const(1.0) / 0.0, Reason.DIVISION_BY_ZERO),
        (lambda: const(0.0) / 0.0, Reason.DIVISION_BY_ZERO),
        (lambda: const(INF) / 0.0, Reason.DIVISION_BY_ZERO),
        (lambda: ints(1, 2) // ints(1, 0), Reason.DIVISION_BY_ZERO),
        (lambda: ints(1, 2) % ints(1, 0), Reason.DIVISION_BY_ZERO),
        (lambda: const(INF) - INF, Reason.DOMAIN),
        (lambda: build.unary("sqrt", const(-1.0)), Reason.DOMAIN),
        (lambda: build.unary("log", const([1.0, 0.0])), Reason.OVERFLOW),
        (lambda: const(1e300) * 1e300, Reason.OVERFLOW),
        (lambda: build.unary("exp", const(1000.0)), Reason.OVERFLOW),
        (lambda: const([1e308, 1e308]).sum(), Reason.OVERFLOW),
        (lambda: const([INF, -INF]).sum(), Reason.DOMAIN),
        (lambda: const([1e308, 1e308]) @ const([1.0, 1.0]), Reason.OVERFLOW),
        (lambda: const([INF]) @ const([0.0]), Reason.DOMAIN),
        (lambda: build.index_add(const([1e308]), [0], const([1e308])), Reason.OVERFLOW),
        (lambda: const(1e300).cast("float32"), Reason.OVERFLOW),
        (lambda: const([0.0, NAN]).cast("int64"), Reason.CONVERSION),
        (lambda: const(INF).cast("int32"), Reason.CONVERSION),
        (lambda: const(2.0**63).cast("int64"), Reason.CONVERSION),
        (lambda: const(-(2.0**31) - 1).cast("int32"), Reason.CONVERSION),
        (lambda: build.make(ops.GATHER, [const([1.0]), ints(0) + 4], PROMISED).replace(
            args=(const([1.0]), ints(4))), Reason.DOMAIN),
        (lambda: build.sym("x"), Reason.OPAQUE),
    ],
)  # fmt: skip
def test_what_folding_must_leave_alone(made: Any, reason: Reason) -> None:
    with pytest.raises(NotExact) as caught:
        evaluate_constants(made())
    assert caught.value.reason is reason


PROMISED: dict[str, Any] = {"axis": None, "mode": "promise_in_bounds"}


@pytest.mark.parametrize(
    ("made", "value"),
    [
        (lambda: const(1.5) + 2.0, 3.5),
        (lambda: ints(2**63 - 1) + 1, [-(2**63)]),
        (lambda: ints(-(2**63)) // ints(-1), [-(2**63)]),
        (lambda: const([INF, 1.0]) * 2.0, [INF, 2.0]),
        (lambda: build.unary("exp", const(INF)), INF),
        (lambda: const(1.0) / INF, 0.0),
        (lambda: const(5e-324) / 2.0, 0.0),
        (lambda: const([INF, 1.0]).sum(), INF),
        (lambda: build.unary("isfinite", const([NAN, 1.0])), [False, True]),
        (lambda: const(NAN).minimum(1.0), 1.0),
        (lambda: const(2.0**63 - 1024).cast("int64"), 2**63 - 1024),
        (lambda: const(-(2.0**31) - 0.5).cast("int32"), -(2**31)),
        (lambda: const(np.zeros((0, 2))).sum(0), [0.0, 0.0]),
        (lambda: const(np.zeros(0)) / 0.0, []),
        (lambda: const(np.zeros(0, np.int64)) // ints(0), []),
    ],
)
def test_what_folds(made: Any, value: Any) -> None:
    assert evaluate_constants(made()).tolist() == value


def test_nan_operands_fold_to_nan() -> None:
    for made in (const(NAN) + 1.0, const([NAN, INF]).sum(), build.unary("sqrt", const(NAN))):
        assert np.isnan(evaluate_constants(made)).all()


def test_results_grow_up_to_a_limit() -> None:
    column = const(np.ones((LARGEST_FOLDED + 1, 1)))
    assert evaluate_constants(-column).shape == column.shape
    with pytest.raises(NotExact):
        evaluate_constants(column + const(np.ones((1, 2))))
    assert evaluate_constants(const(np.ones((64, 1))) * const(np.ones((1, 64)))).size == LARGEST_FOLDED


@pytest.mark.usefixtures("registry")
def test_only_pure_operators_of_constants_fold() -> None:
    with pytest.raises(ValueError, match="is no constant"):
        evaluate_constants(build.sym("x") + 1.0)
    noisy = Op.register("my_ext.noisy")
    noisy.set_attr("FNumpy", lambda a: a)
    one = const(1.0)
    with pytest.raises(NotExact):
        evaluate_constants(Expr(noisy, [one], one.type))
    noisy.set_attr("TCallEffectKind", 0)
    assert evaluate_constants(Expr(noisy, [one], one.type)) == 1.0


@given(operations())
def test_folding_gives_what_evaluation_gives(made: Expr) -> None:
    if all([operand.op is ops.CONST for operand in made.args]):
        try:
            folded = evaluate_constants(made)
        except NotExact:
            return
        assert_same(folded, evaluate(made, {}))


def test_a_value_of_65_axes_is_not_evaluated() -> None:
    many = build.reshape(build.sym("x", 1), (1,) * 65)
    with pytest.raises(
        EvaluationError, match=r"^'expr\.reshape' has 65 axes; what is evaluated has at most 64$"
    ) as failed:
        evaluate(many, {"x": [1.0]})
    assert failed.value.blamed == (many,)
    with pytest.raises(NotExact):
        evaluate_constants(build.reshape(const([1.0]), (1,) * 65))
    assert evaluate(build.reshape(build.sym("x", 1), (1,) * 64), {"x": [1.0]}).ndim == 64
