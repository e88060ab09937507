"""Lowering of calls (lowering specification 1.8)."""

from __future__ import annotations

import re
from textwrap import dedent

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.passes.expr.lowering.driver import lower
from scaly_ir.tensors import TensorType
from tests.passes.expr.lowering.functions import body_of, check_function, module_of

VALUES = {"x": np.arange(8.0) - 2.5}


@sc.function(sc.arg("M", (2, 3)), outputs=sc.arg("s"))
def trace2(M: sc.Expr) -> sc.Expr:
    return M[0, 0] + M[1, 1]


@sc.function(sc.arg("a", 2), sc.arg("b", 2), outputs=sc.group(sc.arg("p"), sc.arg("q")))
def pair(a: sc.Expr, b: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
    return a - b, a * b


@sc.function(sc.arg("a", 2), outputs=sc.arg("r"))
def same(a: sc.Expr) -> sc.Expr:
    return a


def test_a_view_of_a_computed_value_is_passed_as_an_alias() -> None:
    @sc.function(sc.arg("x", 8), outputs=sc.arg("t"))
    def f(x: sc.Expr) -> sc.Expr:
        return trace2(x.sin()[2:].reshape((2, 3)))  # type: ignore[no-any-return]

    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<8xfloat64, private>
        prog.for %i_t0 = 0 to 8 step 1 {kind=global} {
          prog.store prog.sin(prog.load %x[%i_t0]), %t0[%i_t0] : float64
        }
        %t1 = prog.buffer : memref<6xfloat64, private> = prog.alias %t0 offset 2
        %t2 = prog.buffer : memref<1xfloat64, private>
        prog.call @trace2(%t1, %t2) {n_in=1, n_out=1}
        prog.for %c_t = 0 to 1 step 1 {kind=global} {
          prog.store prog.load %t2[%c_t], %t[%c_t] : float64
        }
        """)


def test_callees_come_first_and_may_become_scalars() -> None:
    @sc.function(sc.arg("x", 8), outputs=sc.arg("t"))
    def f(x: sc.Expr) -> sc.Expr:
        return trace2(x[:6].reshape((2, 3)))  # type: ignore[no-any-return]

    module = module_of(f)
    assert [proc.attrs["name"] for proc in module.args] == ["trace2", "f"]
    assert [proc.attrs["scalarize_mode"] for proc in module.args] == ["procedure", "disabled"]
    assert [proc.attrs["input_count"] for proc in module.args] == [1, 1]


def test_outputs_of_one_call_share_it_whether_they_are_used_or_not() -> None:
    @sc.function(sc.arg("x", 8), outputs=sc.group(sc.arg("u"), sc.arg("v")))
    def f(x: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        difference, product = pair(x[:2], x[2:4])
        again, _ = pair(x[:2], x[4:6])
        return product + again, difference

    module = check_function(f, VALUES)
    calls = re.findall(r"prog\.call .*", sc.render(module))
    assert calls == [
        "prog.call @pair(%t0, %t1, %t2, %t3) {n_in=2, n_out=2}",
        "prog.call @pair(%t0, %t4, %t5, %t6) {n_in=2, n_out=2}",
    ]


def test_one_buffer_may_be_passed_twice_and_to_several_calls() -> None:
    @sc.function(sc.arg("x", 8), outputs=sc.arg("u"))
    def f(x: sc.Expr) -> sc.Expr:
        y = x[1:3] * 2.0
        none, square = pair(y, y)
        return none + square + same(y) + pair(same(y), y)[0] + pair(x[0:2], x[1:3])[1]  # type: ignore[no-any-return]

    assert sc.render(check_function(f, VALUES)).count("prog.call @same") == 1


def test_functions_of_one_graph_are_one_procedure_and_one_call() -> None:
    a = sc.sym("a", 2)
    first, second = [sc.Function.from_exprs(name, [a], [a * a + 1.0], None, ["r"]) for name in ("one", "two")]

    @sc.function(sc.arg("x", 8), outputs=sc.arg("u"))
    def f(x: sc.Expr) -> sc.Expr:
        return first(x[:2]) * 3.0 - second(x[:2])  # type: ignore[no-any-return]

    module = check_function(f, VALUES)
    assert [proc.attrs["name"] for proc in module.args] == ["one", "f"]
    assert sc.render(module).count("prog.call") == 1


def test_results_that_are_several_outputs_and_inputs_that_are_outputs() -> None:
    @sc.function(
        sc.arg("a", 2), sc.arg("b", 2), outputs=sc.group(sc.arg("a"), sc.arg("n"), sc.arg("m"), sc.arg("k", 3))
    )
    def passing(a: sc.Expr, b: sc.Expr) -> tuple[sc.Expr, ...]:
        twice = b + b
        return a, twice, twice, sc.const([1.0, 2.0, 3.0])

    @sc.function(sc.arg("x", 8), outputs=sc.group(*[sc.arg(name) for name in "uvwyz"]))
    def f(x: sc.Expr) -> tuple[sc.Expr, ...]:
        one, two, three, four = passing(x[:2], x[3:5])
        return one, two, two.reshape((2, 1)), three, four

    check_function(f, VALUES)


def test_arguments_that_are_constants_scalars_empty_or_of_another_shape() -> None:
    @sc.function(sc.arg("a", ()), sc.arg("b", (0, 3)), sc.arg("c", (2, 2)), outputs=sc.group(sc.arg("r"), sc.arg("e")))
    def odd(a: sc.Expr, b: sc.Expr, c: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        return a * c, b + a

    @sc.function(sc.arg("x", 8), outputs=sc.group(sc.arg("u"), sc.arg("v")))
    def f(x: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        r, e = odd(x[3], x[8:].reshape((0, 3)), sc.const([[1.0, 2.0], [3.0, 4.0]]))
        return odd(sc.const(2.0), e, r.T)[0], e

    check_function(f, VALUES)


def test_calls_of_calls_deeper_than_the_stack_of_python() -> None:
    function = same
    for number in range(1500):
        a = sc.sym("a", 2)
        function = sc.Function.from_exprs(f"level{number}", [a], [function(a) + 1.0], None, ["r"])
    assert len(lower(make_module([function.node])).args) == 1501


def test_a_function_that_is_not_defined() -> None:
    x = sc.sym("x", 2)
    node = sc.Expr(sc.ExprOp.CALL, (x,), TensorType((2,)), attrs={"callee": "g", "output": 0})
    with pytest.raises(sc.LoweringError, match=r"@f: 'expr\.call'.*the function 'g' is not defined here") as error:
        lower(make_module([make_function("f", [x], [node], ["y"])]))
    assert error.value.blamed[0] is node


def test_two_functions_that_have_one_name_in_c() -> None:
    a = sc.sym("a", 2)
    first, second = [sc.Function.from_exprs(name, [a], [a * n]) for name, n in (("g.h", 2.0), ("g_h", 3.0))]
    f = sc.Function.from_exprs("f", [a], [first(a) + second(a)])
    with pytest.raises(sc.LoweringError, match=r"two functions have one name in C: 'g\.h' and 'g_h'") as error:
        lower(make_module([f.node]))
    assert error.value.blamed[0] is second.node


def test_what_a_call_passes_is_float64() -> None:
    n = sc.sym("n", (), dtype="int64")
    inner = sc.Function.from_exprs("inner", [n], [n + 1], None, ["m"])

    @sc.function(sc.arg("x", 8), outputs=sc.arg("u"))
    def f(x: sc.Expr) -> sc.Expr:
        return sc.cast(inner(sc.cast(x[0], "int64")), "float64")

    with pytest.raises(sc.LoweringError, match="@inner: inputs and outputs are dense float64, got tensor<int64"):
        lower(make_module([f.node]))
