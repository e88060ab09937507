"""Lowering of loops with carries (lowering specification 1.8)."""

from __future__ import annotations

import re
import time
from textwrap import dedent

import numpy as np
import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.passes.expr.lowering.driver import lower
from tests.passes.expr.lowering.functions import as_floats, body_of, check_function, loop_of, module_of
from tests.passes.expr.lowering.lowered import any_leaves
from tests.passes.expr.lowering.random_loops import Case, functions

X, W, N = sc.sym("x", 3), sc.sym("w", 8), sc.sym("n", ())
VALUES = {"x": [0.5, -2.0, 3.0], "w": np.arange(8.0) - 2.5, "n": 3.0}


@sc.function(sc.arg("c", 3), sc.arg("u", 1), outputs=sc.group(sc.arg("next"), sc.arg("y"), sc.arg("z")))
def step(c: sc.Expr, u: sc.Expr) -> tuple[sc.Expr, sc.Expr, sc.Expr]:
    return c * 0.5 + u, c[0] * u, sc.concat([u, c[1:]])


def numbered(name: str = "numbered") -> sc.Function:
    """A body that takes its step number: ``c * 0.5 + k`` of a scalar."""
    c, k = sc.sym("c", ()), sc.sym("k", (), dtype="int64")
    return sc.Function.from_exprs(name, [c, k], [c * 0.5 + sc.cast(k, "float64")], None, ["next"])


def check(*results: sc.Expr) -> str:
    """Check a function of `x`, `w` and `n` and return its module as text."""
    return sc.render(check_function(as_floats("f", [X, W, N], results), VALUES))


def test_carries_go_back_and_forth_between_two_slots() -> None:
    results = [loop_of(step, [X, W], n_carry=1, length=5, output=number) for number in (0, 1)]
    f = sc.Function.from_exprs("f", [X, W], results, None, ["last", "ys"])
    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<6xfloat64, private>
        prog.for %c_t0 = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %x[%c_t0], %t0[%c_t0] : float64
        }
        %t1 = prog.buffer : memref<3xfloat64, private>
        prog.for %it_t0 = 0 to 5 step 1 {kind=serial} {
          prog.call @step(%t0[prog.mul(prog.mod(%it_t0, 2), 3)], %w[prog.add(0, prog.mul(1, %it_t0))], \
%t0[prog.mul(prog.sub(1, prog.mod(%it_t0, 2)), 3)], %ys[%it_t0], %t1) {n_in=2, n_out=3}
        }
        %t2 = prog.buffer : memref<3xfloat64, private> = prog.alias %t0 offset 3
        prog.for %c_last = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %t2[%c_last], %last[%c_last] : float64
        }
        """)


def test_in_reverse_step_numbers_and_trajectories_count_down() -> None:
    results = [
        loop_of(numbered(), [N], n_carry=1, index=True, length=5, reverse=True, output=number) for number in (2,)
    ]
    f = sc.Function.from_exprs("f", [N], results, None, ["past"])
    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<2xfloat64, private>
        prog.for %c_t0 = 0 to 1 step 1 {kind=global} {
          prog.store prog.load %n[%c_t0], %t0[%c_t0] : float64
        }
        %t1 = prog.buffer : memref<1xint64, private>
        prog.for %it_t0 = 0 to 5 step 1 {kind=serial} {
          prog.for %c_past = 0 to 1 step 1 {kind=global} {
            prog.store prog.load %t0[prog.add(prog.mod(%it_t0, 2), %c_past)], \
%past[prog.add(prog.sub(4, %it_t0), %c_past)] : float64
          }
          prog.store prog.sub(4, %it_t0), %t1[0] : int64
          prog.call @numbered(%t0[prog.mod(%it_t0, 2)], %t1, %t0[prog.sub(1, prog.mod(%it_t0, 2))]) {n_in=2, n_out=1}
        }
        """)


def test_a_number_of_steps_that_is_computed_may_end_the_loop_early() -> None:
    operands = [X, W, sc.cast(N, "int64")]
    results = [loop_of(step, operands, n_carry=1, length=5, reverse=True, output=number) for number in (0, 1)]
    f = sc.Function.from_exprs("f", [X, W, N], results, None, ["last", "ys"])
    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<1xint64, private>
        prog.for %i_t0 = 0 to 1 step 1 {kind=global} {
          prog.store prog.cast(prog.load %n[0], int64), %t0[%i_t0] : int64
        }
        %t1 = prog.buffer : memref<6xfloat64, private>
        prog.for %c_t1 = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %x[%c_t1], %t1[%c_t1] : float64
        }
        %t2 = prog.buffer : memref<3xfloat64, private>
        %t3 = prog.buffer : memref<1xint64, private>
        prog.store prog.minimum(prog.maximum(prog.load %t0[0], 0), 5), %t3[0] : int64
        prog.for %z_ys = 0 to 5 step 1 {kind=global} {
          prog.store 0, %ys[%z_ys] : float64
        }
        prog.for %it_t1 = 0 to prog.load %t3[0] step 1 {kind=serial} {
          prog.call @step(%t1[prog.mul(prog.mod(%it_t1, 2), 3)], \
%w[prog.add(0, prog.mul(1, prog.sub(prog.sub(prog.load %t3[0], 1), %it_t1)))], \
%t1[prog.mul(prog.sub(1, prog.mod(%it_t1, 2)), 3)], %ys[prog.sub(prog.sub(prog.load %t3[0], 1), %it_t1)], %t2) \
{n_in=2, n_out=3}
        }
        prog.for %c_t1 = 0 to prog.mul(prog.mod(prog.load %t3[0], 2), 3) step 1 {kind=global} {
          prog.store prog.load %t1[prog.add(3, %c_t1)], %t1[%c_t1] : float64
        }
        %t4 = prog.buffer : memref<3xfloat64, private> = prog.alias %t1 offset 0
        prog.for %c_last = 0 to 3 step 1 {kind=global} {
          prog.store prog.load %t4[%c_last], %last[%c_last] : float64
        }
        """)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("trip", [-3, 0, 1, 2, 4, 5, 6, 99])
def test_numbers_of_steps_below_nothing_and_above_the_length(trip: int, reverse: bool) -> None:
    operands = [X, W, sc.cast(N, "int64")]
    results = [loop_of(step, operands, n_carry=1, length=5, reverse=reverse, output=number) for number in range(5)]
    check_function(as_floats("f", [X, W, N], results), {**VALUES, "n": float(trip)})
    alone = [loop_of(step, operands, n_carry=1, length=5, reverse=reverse, output=3)]
    check_function(as_floats("f", [X, W, N], alone), {**VALUES, "n": float(trip)})


@pytest.mark.parametrize("trip", [-1, 0, 2, 4])
def test_a_loop_that_carries_nothing_may_end_early_too(trip: int) -> None:
    a, k = sc.sym("a", 2), sc.sym("k", (), dtype="int64")
    body = sc.Function.from_exprs("body", [k, a], [a * sc.cast(k, "float64"), k], None, ["y", "k"])
    operands = [W, sc.cast(N, "int64")]
    results = [loop_of(body, operands, length=4, index=True, reverse=True, output=number) for number in range(3)]
    check_function(as_floats("f", [W, N], results), {"w": VALUES["w"], "n": float(trip)})


@pytest.mark.parametrize("length", [0, 1, 2, 3])
def test_all_results_for_all_lengths(length: int) -> None:
    check(*[loop_of(step, [X, W], n_carry=1, length=length, output=number) for number in range(5)])
    check(*[loop_of(numbered(), [N], n_carry=1, index=True, length=length, output=number) for number in range(3)])


@pytest.mark.parametrize("length", [0, 1, 4, 5])
def test_carries_that_stay_are_exchanged_or_become_one(length: int) -> None:
    a, b, c = sc.sym("a", 3), sc.sym("b", 3), sc.sym("c", ())
    body = sc.Function.from_exprs("body", [a, b, c], [b, a, c, a], None, ["a", "b", "c", "y"])
    one = sc.Function.from_exprs("one", [a, b, c], [a, a, b[0]], None, ["a", "b", "r"])
    init = [X, X * 2.0, N]
    check(*[loop_of(body, init, n_carry=3, length=length, output=number) for number in range(8)])
    check(*[loop_of(one, init, n_carry=3, length=length, output=number) for number in range(7)])


def test_carries_of_integers_truth_values_and_nothing() -> None:
    n, flag = sc.sym("n", (), dtype="int64"), sc.sym("flag", (2,), dtype="bool")
    none, u = sc.sym("none", (0, 2)), sc.sym("u", ())
    nexts = [n * n + 3, ~flag, none + u]
    stacked = [sc.where(flag, u, 1.0), flag, n]
    body = sc.Function.from_exprs("body", [n, flag, none, u], [*nexts, *stacked])
    init = [sc.cast(N, "int64"), sc.less(X[:2], 0.0), sc.const(np.ones((0, 2)))]
    for length in (4, 7):
        results = [loop_of(body, [*init, W], n_carry=3, length=length, output=number) for number in range(10)]
        check(*results)
        operands = [*init, W, sc.const(np.int64(3))]
        check(*[loop_of(body, operands, n_carry=3, length=length, output=number) for number in range(10)])


def test_results_that_are_outputs_and_are_used_again() -> None:
    start = X * 2.0
    last, ys, zs, past = [loop_of(step, [start, W], n_carry=1, length=4, output=number) for number in (0, 1, 2, 4)]
    again = [loop_of(step, [last, past], n_carry=1, length=7, output=number) for number in (0, 2)]
    check(start, last, ys, past, last, zs, zs * 2.0, last.reshape((3, 1)), *again)


def test_results_of_one_loop_share_it_and_other_loops_do_not() -> None:
    results = [loop_of(step, [X, W], n_carry=1, length=4, output=number) for number in (4, 2, 0, 3)]
    other = loop_of(step, [X, W], n_carry=1, length=4, starts=[1])
    another = loop_of(step, [X * 3.0, W], n_carry=1, length=4)
    text = check(*results, other, another)
    assert text.count("prog.call @step") == 3


@pytest.mark.parametrize("length", [0, 4])
def test_hints_make_no_other_loop_and_their_results_are_one(length: int) -> None:
    last, ys = [loop_of(step, [X, W], n_carry=1, length=length, output=number) for number in (0, 1)]
    text = check(last, ys.block())
    assert text.count("prog.call @step") == (length > 0)
    text = check(last, last.block(), ys.sum(), ys.block().sum() * 2.0, ys.block())
    assert text.count("prog.call @step") == (length > 0)


def test_of_results_that_differ_in_their_hint_the_output_is_written_by_the_steps() -> None:
    ys = loop_of(step, [X, W], n_carry=1, length=4, output=1)
    for one, other in ((ys, ys.block()), (ys.block(), ys)):
        f = sc.Function.from_exprs("f", [X, W], [one, other.sum()], None, ["ys", "total"])
        check_function(f, {name: VALUES[name] for name in f.input_names})
        assert "%ys[%it_t0]" in body_of(f)
        assert "memref<4x" not in body_of(f)


def test_what_nobody_selects_is_not_built() -> None:
    f = as_floats("f", [X, W], [loop_of(step, [X, W], n_carry=1, length=4, output=2)])
    assert "memref<4x" not in body_of(f)
    assert len(re.findall("prog.buffer", body_of(f))) == 2
    assert "prog.alias" not in body_of(f)


def test_the_number_of_steps_needs_none_of_them() -> None:
    text = check(loop_of(step, [X, W], n_carry=1, length=4, output=3))
    assert "prog.call" not in text
    assert "dense<[4]>" in text
    text = check(loop_of(step, [X, W, sc.cast(N, "int64")], n_carry=1, length=4, output=3))
    assert "prog.call" not in text


def test_bodies_with_loops_maps_and_calls() -> None:
    c, u = sc.sym("c", 3), sc.sym("u", 2)
    last, ys = [loop_of(step, [c, u], n_carry=1, length=2, output=number) for number in (0, 1)]
    count = loop_of(numbered("inner"), [u[0]], n_carry=1, index=True, length=3, reverse=True)
    called = step(c, u[:1])
    mapped = sc.vmap(sc.Function.from_exprs("stage", [sc.sym("a", 2)], [sc.sym("a", 2) * 2.0]), 2, [sc.window(c, 0, 1)])
    nexts = [last + called[0], called[2] * count, ys, mapped]
    body = sc.Function.from_exprs("body", [c, u], nexts, None, ["c", "y", "z", "m"])
    results = [loop_of(body, [X, W], n_carry=1, length=6, output=number) for number in range(6)]
    check(*results)


def test_a_sparse_carry() -> None:
    pattern = sc.SparsityPattern((2, 2), [0, 1], [0, 1])
    type_ = sc.TensorType((2, 2), pattern=pattern)
    c = sc.Expr(sc.ExprOp.INPUT, (), type_, name="c")
    body = sc.Function.from_exprs("body", [c], [c], None, ["c"])
    node = loop_of(body, [c], n_carry=1, length=3, output=2)
    with any_leaves(), pytest.raises(sc.LoweringError, match=r"@f: 'expr\.loop'.*its body has a sparse value") as error:
        lower(make_module([sc.Function.from_exprs("f", [c], [node]).node]))
    assert error.value.blamed[0] is node


def test_the_frontend() -> None:
    c, k = sc.sym("c", 3), sc.sym("k", (), dtype="int64")
    body = sc.Function.from_exprs("body", [c, k, W], [c * W[:3] + sc.cast(k, "float64")], None, ["c"])
    last, (ys, zs) = sc.scan(step, X, W, length=8, reverse=True, trip=sc.cast(N, "int64"))
    check(last, ys, zs, sc.fori_loop(4, body, X, params=(W,), reverse=True), sc.fori_loop(0, body, X, params=W))


def test_a_million_steps_are_as_much_program_as_ten() -> None:
    texts = []
    started = time.perf_counter()
    for length in (10, 1_000_000):
        w = sc.sym("w", length)
        results = [loop_of(step, [X, w, sc.cast(N, "int64")], n_carry=1, length=length, output=k) for k in range(5)]
        text = sc.render(module_of(as_floats("f", [X, w, N], results)))
        texts.append(re.sub(rf"\b({3 * length}|{length})\b|({3 * length}|{length})x", "L", text))
    assert texts[0] == texts[1]
    assert time.perf_counter() - started < 5


@given(functions())
def test_random_loops(case: Case) -> None:
    check_function(*case)


@given(functions(trip=True, carries=[]))
def test_random_loops_without_carries_that_may_end_early(case: Case) -> None:
    check_function(*case)
