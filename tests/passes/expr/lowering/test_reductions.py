"""Reductions become ordered chains: their form, and the cases that break one that is out of order or deaf to NaN."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scaly_ir.dialects.expr import build
from scaly_ir.dialects.expr.node import Expr
from tests.passes.expr.lowering.lowered import body, check

NAN, INF = np.nan, np.inf


def sym(name: str, shape: Any, dtype: str = "float64") -> Expr:
    return build.sym(name, shape, dtype=dtype)


# --- form -------------------------------------------------------------------------------------------------------------


def test_sum_is_one_chain_in_the_output() -> None:
    assert body(build.reduce(sym("x", 4), "add")) == (
        "prog.store 0, %out[0] : float64\n"
        "prog.for %i_out = 0 to 4 step 1 {kind=reduce} {\n"
        "  prog.store prog.add(prog.load %out[0], prog.load %x[%i_out]), %out[0] : float64\n"
        "}\n"
    )


def test_sum_of_all_axes_runs_over_the_flat_index() -> None:
    assert "prog.load %x[%i_out]" in body(build.reduce(sym("x", (2, 3, 4)), "add"))


def test_maximum_reads_its_term_once() -> None:
    assert body(build.reduce(sym("x", 4), "max")) == (
        "prog.store -inf, %out[0] : float64\n"
        "prog.for %i_out = 0 to 4 step 1 {kind=reduce} {\n"
        "  %x_out = prog.assign prog.load %x[%i_out] : float64 {declare=True}\n"
        "  prog.store prog.select(prog.or(prog.lt(prog.load %out[0], %x_out), prog.ne(%x_out, %x_out)), %x_out, "
        "prog.load %out[0]), %out[0] : float64\n"
        "}\n"
    )


def test_minimum_along_the_first_axis() -> None:
    assert body(build.reduce(sym("A", (6, 3)), "min", 0)) == (
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store inf, %out[%i_out] : float64\n"
        "  prog.for %k_out = 0 to 6 step 1 {kind=reduce} {\n"
        "    %x_out = prog.assign prog.load %A[prog.add(%i_out, prog.mul(%k_out, 3))] : float64 {declare=True}\n"
        "    prog.store prog.select(prog.or(prog.lt(%x_out, prog.load %out[%i_out]), prog.ne(%x_out, %x_out)), %x_out, "
        "prog.load %out[%i_out]), %out[%i_out] : float64\n"
        "  }\n"
        "}\n"
    )


def test_axes_that_are_not_neighbours_have_coordinates() -> None:
    assert body(build.reduce(sym("T", (2, 3, 4)), "add", (0, 2))) == (
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store 0, %out[%i_out] : float64\n"
        "  prog.for %k_out = 0 to 8 step 1 {kind=reduce} {\n"
        "    prog.store prog.add(prog.load %out[%i_out], prog.load %T[prog.add(prog.mul(%i_out, 4), "
        "prog.add(prog.mul(prog.div(%k_out, 4), 12), prog.mod(%k_out, 4)))]), %out[%i_out] : float64\n"
        "  }\n"
        "}\n"
    )


def test_no_integer_is_asked_whether_it_is_nan() -> None:
    assert body(build.reduce(sym("n", 3, "int32"), "max")) == (
        "prog.store -2147483648, %out[0] : int32\n"
        "prog.for %i_out = 0 to 3 step 1 {kind=reduce} {\n"
        "  %x_out = prog.assign prog.load %n[%i_out] : int32 {declare=True}\n"
        "  prog.store prog.select(prog.lt(prog.load %out[0], %x_out), %x_out, prog.load %out[0]), %out[0] : int32\n"
        "}\n"
    )


def test_result_in_the_middle_has_a_buffer_of_its_own() -> None:
    text = body(build.unary("sin", build.reduce(sym("x", 4), "add")))
    assert text.startswith("%t0 = prog.buffer : memref<1xfloat64, private>\nprog.store 0, %t0[0] : float64\n")


def test_names_that_are_taken_are_stepped_around() -> None:
    taken = [sym(name, 4) for name in ("i_out", "x_out", "k_out")]
    text = body(build.reduce(build.stack(taken), "max", 0), inputs=taken)
    assert "prog.for %i_out_2 =" in text
    assert "prog.for %k_out_2 =" in text
    assert "%x_out_2 = prog.assign" in text


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "x",
    [
        [1e16, 1.0, -1e16, 1.0],
        [1.0, 1e16, 1.0, -1e16, 3.0, 1e-3, -7.0, 1e100, -1e100, 2.0],
        [-0.0],
        [-0.0, -0.0],
        [0.1] * 17,
        [INF, -INF],
        [1.0, NAN, 2.0],
        [],
    ],
)
def test_sum_is_in_order_and_from_zero(x: list[float]) -> None:
    given = sym("x", len(x))
    check(build.reduce(given, "add"), values={"x": np.array(x)})
    check(build.unary("neg", build.reduce(given, "add", keepdims=True)), values={"x": np.array(x)})


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize(
    "x",
    [
        [NAN, 1.0, 2.0],
        [1.0, 2.0, NAN],
        [3.0, NAN, 1.0],
        [NAN, INF, -INF],
        [NAN],
        [INF, INF],
        [-INF, -INF],
        [5.0],
        [-1e308, 1e308, 0.5],
    ],
)
def test_extremum_lets_nan_enter_and_stay(kind: str, x: list[float]) -> None:
    check(build.reduce(sym("x", len(x)), kind), values={"x": np.array(x)})
    both = np.array([x, x[::-1]])
    for axis in (0, 1):
        check(build.reduce(sym("x", both.shape), kind, axis), values={"x": both})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_least_and_greatest_integers(dtype: str, kind: str) -> None:
    limits = np.iinfo(dtype)
    for entries in ([limits.min], [limits.max], [limits.max, limits.max, 1], [limits.min, -1], [limits.min] * 3):
        check(build.reduce(sym("n", len(entries), dtype), kind), values={"n": np.array(entries, dtype)})


@pytest.mark.parametrize("kind", ["max", "min"])
@pytest.mark.parametrize("entries", [[False], [True], [False, True], [True, False], [True, True], [False, False]])
def test_extremum_of_bools_is_any_or_all(kind: str, entries: list[bool]) -> None:
    check(build.reduce(sym("b", len(entries), "bool"), kind), values={"b": np.array(entries)})


def test_sum_of_float32_rounds_at_each_step() -> None:
    x = np.array([16777216.0, 1.0, 1.0, 0.25], np.float32)
    check(build.reduce(sym("x", 4, "float32"), "add"), values={"x": x})


@pytest.mark.parametrize("axes", [0, 1, 2, (0, 1), (1, 2), (0, 2), (0, 1, 2)])
@pytest.mark.parametrize("kind", ["add", "max", "min"])
def test_axes(kind: str, axes: Any) -> None:
    values = np.random.default_rng(0).normal(size=(2, 3, 4))
    check(build.reduce(sym("x", (2, 3, 4)), kind, axes), values={"x": values})


@pytest.mark.parametrize("shape", [(2, 0), (0, 2), (0, 0), (3, 0, 2), (0,)])
def test_sum_of_nothing(shape: tuple[int, ...]) -> None:
    for axis in (*range(len(shape)), None):
        check(build.reduce(sym("x", shape), "add", axis), values={"x": np.zeros(shape)})


def test_extrema_of_no_rows() -> None:
    check(build.reduce(sym("x", (0, 3)), "max", 1), values={"x": np.zeros((0, 3))})


def test_operand_that_is_an_output_as_well() -> None:
    x = sym("x", (2, 3))
    y = x * x
    check(y, build.reduce(y, "add"), build.reduce(y, "max", 1), y, values={"x": np.arange(6.0).reshape(2, 3) - 2})


def test_result_in_another_shape_is_still_written_in_place() -> None:
    x = sym("x", (2, 3))
    text = body(build.reduce(x, "add", 1, keepdims=True))
    assert "prog.buffer" not in text
    check(build.reduce(x, "add", 1, keepdims=True), values={"x": np.arange(6.0).reshape(2, 3)})
