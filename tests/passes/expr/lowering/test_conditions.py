"""Lowering of loops with a condition (lowering specification 1.8)."""

from __future__ import annotations

from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.passes.expr.lowering.driver import lower
from scaly_ir.tensors import TensorType
from tests.passes.expr.lowering.functions import as_floats, body_of, check_function, loop_of
from tests.passes.expr.lowering.random_loops import Case, functions

X, N = sc.sym("x", 3), sc.sym("n", ())
K = sc.sym("k", (), dtype="int64")


@sc.function(sc.arg("c", 3), outputs=sc.arg("next"))
def step(c: sc.Expr) -> sc.Expr:
    return c + 1.0


@sc.function(sc.arg("c", 3), outputs=sc.arg("go"))
def more(c: sc.Expr) -> sc.Expr:
    return c[0] < 3.0


def counting(shape: tuple[int, ...] = ()) -> tuple[sc.Function, sc.Function]:
    """A body and a condition of two carries, a number that counts up and an array, and one operand, the limit."""
    n, c, limit = sc.sym("n", (), dtype="int64"), sc.sym("c", 2), sc.sym("limit", ())
    below = sc.less(sc.cast(n, "float64"), limit).reshape(shape)
    body = sc.Function.from_exprs("body", [n, c, K, limit], [n + 1, c * 2.0 + limit, c, K], None, ["n", "c", "y", "k"])
    return body, sc.Function.from_exprs("below", [n, c, limit], [below], None, ["go"])


def loops(length: int, wanted: range | tuple[int, ...] = range(7), shape: tuple[int, ...] = ()) -> list[sc.Expr]:
    """Results of the loop of `counting` from 0 and the first entries of `x` up to the input `n`."""
    body, below = counting(shape)
    attrs = {"cond": below.node, "n_carry": 2, "length": length, "index": True, "strides": [0]}
    operands = [sc.const(np.int64(0)), X[:2], N.reshape((1,))]
    return [loop_of(body, operands, output=number, **attrs) for number in wanted]


def test_both_parts_of_a_turn_are_loops_of_no_trip_or_one() -> None:
    last, count = [loop_of(step, [X], cond=more.node, n_carry=1, length=50, output=number) for number in (0, 1)]
    f = sc.Function.from_exprs("f", [X], [last, sc.cast(count, "float64")], None, ["last", "n"])
    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<6xfloat64, private>
        prog.for %c_t0 = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %x[%c_t0], %t0[%c_t0] : float64
        }
        %t1 = prog.buffer : memref<1xint64, private>
        %t2 = prog.buffer : memref<1xbool, private>
        %t3 = prog.buffer : memref<1xint64, private>
        prog.store 1, %t1[0] : int64
        prog.store 0, %t3[0] : int64
        prog.for %it_t0 = 0 to 50 step 1 {kind=serial} {
          prog.for %ask_t0 = 0 to prog.load %t1[0] step 1 {kind=serial} {
            prog.call @more(%t0[prog.mul(prog.mod(%it_t0, 2), 3)], %t2) {n_in=1, n_out=1}
            prog.store prog.cast(prog.load %t2[0], int64), %t1[0] : int64
          }
          prog.for %do_t0 = 0 to prog.load %t1[0] step 1 {kind=serial} {
            prog.call @step(%t0[prog.mul(prog.mod(%it_t0, 2), 3)], \
%t0[prog.mul(prog.sub(1, prog.mod(%it_t0, 2)), 3)]) {n_in=1, n_out=1}
            prog.store prog.add(prog.load %t3[0], 1), %t3[0] : int64
          }
        }
        prog.for %c_t0 = 0 to prog.mul(prog.mod(prog.load %t3[0], 2), 3) step 1 {kind=global} {
          prog.store prog.load %t0[prog.add(3, %c_t0)], %t0[%c_t0] : float64
        }
        %t4 = prog.buffer : memref<3xfloat64, private> = prog.alias %t0 offset 0
        prog.for %i_n = 0 to 1 step 1 {kind=global} {
          prog.store prog.cast(prog.load %t3[0], float64), %n[%i_n] : float64
        }
        prog.for %c_last = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %t4[%c_last], %last[%c_last] : float64
        }
        """)
    check_function(f, {"x": [-1.5, 0.25, 7.0]})


@pytest.mark.parametrize("limit", [-1.0, 0.0, 1.0, 2.0, 4.5, 5.0, 6.0, 99.0, np.nan, np.inf])
def test_a_condition_that_fails_at_once_later_or_never(limit: float) -> None:
    values = {"x": [0.5, -2.0, 3.0], "n": limit}
    check_function(as_floats("f", [X, N], loops(6)), values)
    check_function(as_floats("f", [X, N], loops(5, (1, 5))), values)
    check_function(as_floats("f", [X, N], loops(5, (4,))), values)
    check_function(as_floats("f", [X, N], loops(6, (2,), (1, 1))), values)


@pytest.mark.parametrize("length", [0, 1])
def test_short_loops(length: int) -> None:
    check_function(as_floats("f", [X, N], loops(length)), {"x": [0.5, -2.0, 3.0], "n": 9.0})


@pytest.mark.parametrize("trip", [-1, 0, 1, 3, 4, 9])
@pytest.mark.parametrize("limit", [0.0, 2.0, 3.0, 8.0])
def test_a_condition_and_a_number_of_steps(limit: float, trip: int) -> None:
    body, below = counting()
    attrs = {"cond": below.node, "n_carry": 2, "length": 4, "index": True, "strides": [0]}
    operands = [sc.const(np.int64(0)), X[:2], N.reshape((1,)), sc.cast(X[2], "int64")]
    results = [loop_of(body, operands, output=number, **attrs) for number in range(7)]
    check_function(as_floats("f", [X, N], results), {"x": [0.5, -2.0, trip], "n": limit})


def test_a_condition_takes_what_stays_where_it_is() -> None:
    c, u, v, w = [sc.sym(name, ()) for name in "cuvw"]
    body = sc.Function.from_exprs("body", [c, u, v, w], [c + u * v - w], None, ["c"])
    below = sc.Function.from_exprs("below", [c, u, w], [sc.less(c * u, w)], None, ["go"])
    attrs = {"cond": below.node, "n_carry": 1, "length": 3, "starts": [1, 0, 2], "strides": [0, 1, 0]}
    results = [loop_of(body, [N, X, X, X], output=number, **attrs) for number in range(3)]
    for n in (-1.0, 1.25, 3.0):
        check_function(as_floats("f", [X, N], results), {"x": [0.5, 2.0, 3.0], "n": n})


def test_the_number_of_steps_as_an_output() -> None:
    body, below = counting()
    limit, most, c = sc.sym("limit", ()), sc.sym("most", (), dtype="int64"), sc.sym("c", (), dtype="int64")
    attrs = {"cond": below.node, "n_carry": 2, "length": 4, "index": True, "strides": [0]}
    operands = [sc.const(np.int64(0)), sc.const([1.0, 2.0]), limit.reshape((1,)), most]
    count = loop_of(body, operands, output=4, **attrs)
    outer = sc.Function.from_exprs("outer", [c, most, limit], [c + most, count], None, ["c", "count"])
    attrs = {"n_carry": 1, "index": True, "length": 6, "strides": [0]}
    results = [loop_of(outer, [sc.cast(N, "int64"), X], output=number, **attrs) for number in range(3)]
    check_function(as_floats("f", [X, N], results), {"x": [2.5, 2.0, 3.0], "n": 1.0})


def test_after_the_condition_has_failed_nothing_of_the_body_runs() -> None:
    n, w = sc.sym("n", (), dtype="int64"), sc.sym("w", 3)
    taken = sc.gather(w, n, mode="promise_in_bounds")
    body = sc.Function.from_exprs("body", [n, w], [n + 1, taken], None, ["n", "y"])
    inside = sc.Function.from_exprs("inside", [n, w], [sc.less(n, sc.const(np.int64(3)))], None, ["go"])
    operands = [sc.const(np.int64(0)), X]
    attrs = {"cond": inside.node, "n_carry": 1, "length": 9, "strides": [0]}
    results = [loop_of(body, operands, output=number, **attrs) for number in range(4)]
    check_function(as_floats("f", [X], results), {"x": [0.5, -2.0, 3.0]})


@pytest.mark.parametrize("answer", [True, False])
def test_a_condition_that_does_not_depend_on_anything(answer: bool) -> None:
    c = sc.sym("c", 3)
    always = sc.Function.from_exprs("always", [c], [sc.const(np.bool_(answer))], None, ["go"])
    results = [loop_of(step, [X], cond=always.node, n_carry=1, length=3, output=number) for number in range(3)]
    check_function(as_floats("f", [X], results), {"x": [0.5, -2.0, 3.0]})


def test_the_carry_may_be_the_condition() -> None:
    flag, c = sc.sym("flag", (), dtype="bool"), sc.sym("c", ())
    body = sc.Function.from_exprs("body", [flag, c], [sc.less(c, 20.0), c * 2.0], None, ["flag", "c"])
    goes_on = sc.Function.from_exprs("goes_on", [flag, c], [flag], None, ["go"])
    for start in (True, False):
        operands = [sc.const(np.bool_(start)), N]
        attrs = {"cond": goes_on.node, "n_carry": 2, "length": 9}
        results = [loop_of(body, operands, output=number, **attrs) for number in range(5)]
        check_function(as_floats("f", [N], results), {"n": 1.5})


def test_a_loop_with_a_condition_inside_of_one_with_the_same() -> None:
    c = sc.sym("c", 3)
    inner, count = sc.while_loop(more, step, c, max_iter=2)
    outer = sc.Function.from_exprs("outer", [c], [inner + 0.25 * sc.cast(count, "float64")], None, ["next"])
    last, steps = sc.while_loop(more, outer, X, max_iter=10)
    module = check_function(as_floats("f", [X], [last, steps]), {"x": [-4.0, 0.0, 1.0]})
    assert [proc.attrs["name"] for proc in module.args] == ["step", "more", "outer", "f"]


def test_a_condition_that_is_not_defined() -> None:
    known = loop_of(step, [X], cond=more.node, n_carry=1, length=3)
    node = sc.Expr(sc.ExprOp.LOOP, (X,), TensorType((3,)), attrs={**known.attrs, "cond": "nobody"})
    with pytest.raises(sc.LoweringError, match=r"@f: 'expr\.loop'.*the function 'nobody' is not defined") as error:
        lower(make_module([make_function("f", [X], [node], ["y"])]))
    assert error.value.blamed[0] is node


@given(functions(conditional=True))
def test_random_loops_with_a_condition(case: Case) -> None:
    check_function(*case)
