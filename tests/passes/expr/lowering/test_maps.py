"""Lowering of maps (lowering specification 1.8)."""

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
from tests.passes.expr.lowering.functions import body_of, check_function, loop_of, module_of
from tests.passes.expr.lowering.random_loops import Case, functions

VALUES = {"x": np.arange(12.0) - 5.5}


@sc.function(sc.arg("z", 2), sc.arg("u", 1), outputs=sc.arg("znext"))
def model(z: sc.Expr, u: sc.Expr) -> sc.Expr:
    return z + 0.1 * sc.concat([z[1:], u])


@sc.function(sc.arg("z", 2), outputs=sc.arg("cost"))
def terminal(z: sc.Expr) -> sc.Expr:
    return sc.sumsqr(z)


@sc.function(sc.arg("a", 2), sc.arg("b", 1), outputs=sc.group(sc.arg("p"), sc.arg("q"), sc.arg("r")))
def three(a: sc.Expr, b: sc.Expr) -> tuple[sc.Expr, sc.Expr, sc.Expr]:
    return a * b, a[0] + b[0], sc.concat([a, b])


def test_the_stages_of_the_reference() -> None:
    @sc.function(sc.arg("zs", 20), sc.arg("us", 10), outputs=sc.arg("J"))
    def stages(zs: sc.Expr, us: sc.Expr) -> sc.Expr:
        znexts = sc.vmap(model, 10)(zs.reshape((10, 2)), us.reshape((10, 1))).vec()
        return terminal(znexts[18:])  # type: ignore[no-any-return]

    assert body_of(stages) == dedent("""\
        %t0 = prog.buffer : memref<20xfloat64, private>
        prog.for %it_t0 = 0 to 10 step 1 {kind=global} {
          prog.call @model(%zs[prog.add(0, prog.mul(2, %it_t0))], %us[prog.add(0, prog.mul(1, %it_t0))], \
%t0[prog.mul(%it_t0, 2)]) {n_in=2, n_out=1}
        }
        %t1 = prog.buffer : memref<2xfloat64, private> = prog.alias %t0 offset 18
        %t2 = prog.buffer : memref<1xfloat64, private>
        prog.call @terminal(%t1, %t2) {n_in=1, n_out=1}
        prog.for %c_J = 0 to 1 step 1 {kind=global} {
          prog.store prog.load %t2[%c_J], %J[%c_J] : float64
        }
        """)
    header = sc.render(module_of(stages)).split("@stages")[-1].splitlines()[0]
    assert header.endswith('{device=host, input_count=2, lowering="auto", scalarize_mode="disabled"} {')


def test_a_result_goes_into_the_output_and_what_is_shared_stays_where_it_is() -> None:
    @sc.function(sc.arg("x", 3), sc.arg("w", 9), outputs=sc.arg("y"))
    def stage(x: sc.Expr, w: sc.Expr) -> sc.Expr:
        return x * w[3:6]

    @sc.function(sc.arg("xs", 15), sc.arg("w", 9), outputs=sc.arg("ys"))
    def horizon(xs: sc.Expr, w: sc.Expr) -> sc.Expr:
        return sc.vmap(stage, 5, [xs, w])  # type: ignore[no-any-return]

    assert body_of(horizon) == dedent("""\
        prog.for %it_ys = 0 to 5 step 1 {kind=global} {
          prog.call @stage(%xs[prog.add(0, prog.mul(3, %it_ys))], %w[0], %ys[prog.mul(%it_ys, 3)]) {n_in=2, n_out=1}
        }
        """)


def test_results_of_one_map_are_one_loop_and_the_rest_goes_to_one_slice() -> None:
    @sc.function(sc.arg("x", 12), outputs=sc.group(sc.arg("last"), sc.arg("first")))
    def f(x: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        arguments = [sc.window(x, 1, 2), sc.window(x, 0, 1)]
        return sc.vmap(three, 4, arguments, output=2), sc.vmap(three, 4, arguments, output=1)

    assert body_of(f) == dedent("""\
        %t0 = prog.buffer : memref<2xfloat64, private>
        prog.for %it_first = 0 to 4 step 1 {kind=global} {
          prog.call @three(%x[prog.add(1, prog.mul(2, %it_first))], %x[prog.add(0, prog.mul(1, %it_first))], \
%t0, %first[%it_first], %last[prog.mul(%it_first, 3)]) {n_in=2, n_out=3}
        }
        """)
    check_function(f, VALUES)


def test_windows_of_one_buffer_overlap_and_an_output_is_read_again() -> None:
    @sc.function(sc.arg("x", 12), outputs=sc.group(sc.arg("u"), sc.arg("v"), sc.arg("w"), sc.arg("y")))
    def f(x: sc.Expr) -> tuple[sc.Expr, ...]:
        outer = x * 2.0
        mapped = sc.vmap(three, 9, [sc.window(outer, 0, 1), sc.window(outer, 3, 1)], output=2)
        again = sc.vmap(three, 5, [sc.window(mapped, 1, 5), sc.window(outer, 2, 0)], output=0)
        return outer, mapped, again, mapped + mapped

    text = sc.render(check_function(f, VALUES))
    assert "@three(%v[prog.add(1, prog.mul(5, %it_w))], %u[2], %w[prog.mul(%it_w, 2)]," in text


def test_a_body_that_maps_itself_and_one_that_is_called_as_well() -> None:
    @sc.function(sc.arg("a", 4), outputs=sc.group(sc.arg("p"), sc.arg("q")))
    def outer(a: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        arguments = [sc.window(a, 0, 1), sc.window(a, 1, 1)]
        return sc.vmap(three, 3, arguments, output=0), sc.vmap(three, 3, arguments, output=1)

    @sc.function(sc.arg("x", 12), outputs=sc.group(sc.arg("u"), sc.arg("v"), sc.arg("w")))
    def f(x: sc.Expr) -> tuple[sc.Expr, ...]:
        one = sc.vmap(outer, 3, [x])
        two = sc.vmap(outer, 2, [sc.window(x, 3, 4)], output=1)
        return one, two, outer(x[2:6])[1]

    assert [proc.attrs["name"] for proc in check_function(f, VALUES).args] == ["three", "outer", "f"]


@pytest.mark.parametrize("reverse", [False, True])
def test_a_map_with_step_numbers(reverse: bool) -> None:
    a, k = sc.sym("a", ()), sc.sym("k", (), dtype="int64")
    body = sc.Function.from_exprs("body", [k, a], [a * sc.cast(k, "float64"), a + 1.0], None, ["r", "s"])
    x = sc.sym("x", 12)
    first, second = [
        loop_of(body, [x], length=5, index=True, reverse=reverse, output=number, starts=[2], strides=[2])
        for number in (0, 1)
    ]
    module = check_function(sc.Function.from_exprs("f", [x], [first, second], None, ["u", "v"]), VALUES)
    statements = [line.strip() for line in sc.render(module).splitlines()[-6:-3]]
    assert statements == [
        "prog.for %it_u = 0 to 5 step 1 {kind=global} {",
        "prog.store %it_u, %t0[0] : int64",
        "prog.call @body(%t0, %x[prog.add(2, prog.mul(2, %it_u))], %u[%it_u], %v[%it_u]) {n_in=2, n_out=2}",
    ]


def test_a_map_over_nothing_is_no_loop() -> None:
    @sc.function(sc.arg("x", 12), outputs=sc.group(sc.arg("u"), sc.arg("v")))
    def f(x: sc.Expr) -> tuple[sc.Expr, sc.Expr]:
        empty = sc.vmap(terminal, 0, [x[:0]])
        return empty, sc.concat([empty, empty, x])

    assert "prog.call" not in sc.render(check_function(f, VALUES))


def test_a_map_of_empty_and_of_single_entries() -> None:
    a, b = sc.sym("a", (0,)), sc.sym("b", ())
    body = sc.Function.from_exprs("body", [a, b], [a * b, b + 1.0, sc.const(np.ones((1, 1)))], None, ["r", "s", "t"])

    @sc.function(sc.arg("x", 12), outputs=sc.group(sc.arg("u"), sc.arg("v"), sc.arg("w"), sc.arg("y")))
    def f(x: sc.Expr) -> tuple[sc.Expr, ...]:
        arguments = [sc.window(x, 12, 0), sc.window(x, 0, 6)]
        ends = [sc.vmap(body, 1, [sc.window(x, 12, 3), x[3:4]], output=1)]
        return *[sc.vmap(body, 2, arguments, output=number) for number in (0, 1, 2)], *ends

    check_function(f, VALUES)


def test_the_number_of_steps_of_a_map_is_known() -> None:
    x = sc.sym("x", 12)
    count = loop_of(terminal, [x], length=5, output=1)
    module = check_function(sc.Function.from_exprs("f", [x], [sc.cast(count, "float64")], None, ["n"]), VALUES)
    assert "prog.call" not in sc.render(module)
    both = [sc.cast(count, "float64"), loop_of(terminal, [x], length=5)]
    check_function(sc.Function.from_exprs("f", [x], both, None, ["n", "y"]), VALUES)


def test_what_a_map_passes_is_float64() -> None:
    n = sc.sym("n", (), dtype="int64")
    inner = sc.Function.from_exprs("inner", [n], [n + 1], None, ["m"])
    x = sc.sym("x", 12)
    node = sc.cast(loop_of(inner, [sc.cast(x, "int64")], length=3), "float64")
    with pytest.raises(sc.LoweringError, match="@inner: inputs and outputs are dense float64, got tensor<int64"):
        lower(make_module([sc.Function.from_exprs("f", [x], [node]).node]))


def test_a_million_stages_are_as_much_program_as_ten() -> None:
    texts = []
    started = time.perf_counter()
    for length in (10, 1_000_000):
        x = sc.sym("x", 2 * length)
        nodes = [loop_of(model, [x, x], length=length, strides=[2, 1], output=0)]
        function = sc.Function.from_exprs("f", [x], [nodes[0] * 2.0], None, ["y"])
        texts.append(re.sub(rf"\b({2 * length}|{length})\b|{2 * length}x", "N", sc.render(module_of(function))))
    assert texts[0] == texts[1]
    assert time.perf_counter() - started < 5


@given(functions(carries=[]))
def test_random_maps(case: Case) -> None:
    check_function(*case)
