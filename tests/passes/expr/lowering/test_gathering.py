"""Gathers and scatters: positions as arithmetic, duplicates, what is outside, and addresses that are checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import build
from scaly_ir.dialects.expr.node import Expr
from tests.passes.expr.lowering.lowered import EvaluationError, body, check, lowered, results

LIMITS = np.iinfo(np.int64)


def sym(name: str, shape: Any, dtype: str = "float64") -> Expr:
    return build.sym(name, shape, dtype=dtype)


# --- scatter: form ----------------------------------------------------------------------------------------------------


def test_scatter_into_zeros_stores() -> None:
    assert body(build.index_add(np.zeros(6), [2, 3, 4, 5], sym("x", 4))) == (
        "prog.for %z_out = 0 to 6 step 1 {kind=global} {\n"
        "  prog.store 0, %out[%z_out] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 4 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[%i_out], %out[prog.add(2, %i_out)] : float64\n"
        "}\n"
    )


def test_scatter_into_zeros_adds_where_destinations_repeat() -> None:
    assert body(build.index_add(np.zeros(2), [0, 1, 0, 1], sym("x", 4))) == (
        "prog.for %z_out = 0 to 2 step 1 {kind=global} {\n"
        "  prog.store 0, %out[%z_out] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 4 step 1 {kind=reduce} {\n"
        "  prog.store prog.add(prog.load %out[prog.add(prog.mul(prog.div(%i_out, 2), -2), %i_out)], "
        "prog.load %x[%i_out]), %out[prog.add(prog.mul(prog.div(%i_out, 2), -2), %i_out)] : float64\n"
        "}\n"
    )


def test_scatter_into_a_base_copies_it_first() -> None:
    assert body(build.index_add(sym("b", 5), [4, 2, 0], sym("x", 3))) == (
        "prog.for %c_out = 0 to 5 step 1 {kind=global} {\n"
        "  prog.store prog.load %b[%c_out], %out[%c_out] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store prog.add(prog.load %out[prog.sub(4, prog.mul(%i_out, 2))], prog.load %x[%i_out]), "
        "%out[prog.sub(4, prog.mul(%i_out, 2))] : float64\n"
        "}\n"
    )


def test_only_the_last_write_of_each_position_is_kept() -> None:
    assert body(build.index_set(sym("b", 5), [1, 1, 3, 1], sym("x", 4))) == (
        "prog.for %c_out = 0 to 5 step 1 {kind=global} {\n"
        "  prog.store prog.load %b[%c_out], %out[%c_out] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 2 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.add(2, %i_out)], %out[prog.sub(3, prog.mul(%i_out, 2))] : float64\n"
        "}\n"
    )


def test_zeros_keep_their_sign() -> None:
    text = body(build.index_set(np.full(2, -0.0), [1], sym("x", 1)))
    assert "prog.store -0.0, %out[%z_out] : float64" in text


def test_computed_scatter_writes_back_what_is_there() -> None:
    idx = sym("i", 3, "int64")
    assert body(build.index_set(sym("b", 5), idx, sym("x", 3))) == (
        "prog.for %c_out = 0 to 5 step 1 {kind=global} {\n"
        "  prog.store prog.load %b[%c_out], %out[%c_out] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 3 step 1 {kind=reduce} {\n"
        "  %p_out = prog.assign prog.load %i[%i_out] : int64 {declare=True}\n"
        "  %in_out = prog.assign prog.and(prog.le(0, %p_out), prog.lt(%p_out, 5)) : bool {declare=True}\n"
        "  %at_out = prog.assign prog.select(%in_out, %p_out, 0) : int64 {declare=True}\n"
        "  prog.store prog.select(%in_out, prog.load %x[%i_out], prog.load %out[%at_out]), %out[%at_out] : float64\n"
        "}\n"
    )


def test_promised_scatter_checks_nothing() -> None:
    idx = sym("i", 3, "int64")
    text = body(build.index_add(sym("b", 5), idx, sym("x", 3), mode="promise_in_bounds"))
    assert text.endswith(
        "  %at_out = prog.assign prog.load %i[%i_out] : int64 {declare=True}\n"
        "  prog.store prog.add(prog.load %out[%at_out], prog.load %x[%i_out]), %out[%at_out] : float64\n"
        "}\n"
    )


# --- gather: form -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("idx", "index"),
    [
        ([3], "3"),
        ([0], "0"),
        ([0, 1, 2, 3], "%i_out"),
        ([2, 3, 4, 5], "prog.add(2, %i_out)"),
        ([0, 3, 6, 9], "prog.mul(%i_out, 3)"),
        ([1, 4, 7], "prog.add(1, prog.mul(%i_out, 3))"),
        ([5, 4, 3], "prog.sub(5, %i_out)"),
        ([7, 7, 7, 7], "7"),
        ([0, 0, 1, 1, 2, 2], "prog.div(%i_out, 2)"),
        ([1, 1, 3, 3], "prog.add(1, prog.mul(prog.div(%i_out, 2), 2))"),
        ([0, 1, 0, 1, 0, 1], "prog.add(prog.mul(prog.div(%i_out, 2), -2), %i_out)"),
        ([0, 1, 4, 5, 8, 9], "prog.add(prog.mul(prog.div(%i_out, 2), 2), %i_out)"),
        ([4, 3, 2, 8, 7, 6], "prog.sub(prog.add(4, prog.mul(prog.div(%i_out, 3), 7)), %i_out)"),
    ],
)
def test_regular_positions_are_arithmetic(idx: list[int], index: str) -> None:
    text = body(build.gather(sym("x", 10), idx))
    assert f"prog.load %x[{index}], %out[%i_out]" in text
    assert "prog.buffer" not in text


def test_irregular_positions_are_a_table() -> None:
    assert body(build.gather(sym("x", 10), [5, 0, 7])) == (
        "%k0 = prog.buffer : memref<3xint64, constant> = dense<[5, 0, 7]>\n"
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.load %k0[%i_out]], %out[%i_out] : float64\n"
        "}\n"
    )


def test_irregular_positions_that_repeat_are_read_with_mod() -> None:
    text = body(build.gather(sym("x", 10), [0, 2, 1, 0, 2, 1]))
    assert text.startswith("%k0 = prog.buffer : memref<3xint64, constant> = dense<[0, 2, 1]>\n")
    assert "prog.load %x[prog.load %k0[prog.mod(%i_out, 3)]]" in text


def test_irregular_positions_that_move_on_are_read_with_mod_and_shifted() -> None:
    text = body(build.gather(sym("x", 10), [0, 2, 1, 5, 7, 6]))
    assert "prog.load %x[prog.add(prog.load %k0[prog.mod(%i_out, 3)], prog.mul(prog.div(%i_out, 3), 5))]" in text


def test_equal_tables_are_one() -> None:
    x, y = sym("x", 10), sym("y", 10)
    text = body(build.gather(x, [5, 0, 7]), build.gather(y, [5, 0, 7]), build.gather(x, [5, 0, 8]))
    assert text.count("dense<") == 2


def test_axis_is_turned_into_flat_positions() -> None:
    assert body(build.gather(sym("x", (2, 3, 4)), [0, 2], axis=1)) == (
        "prog.for %i_out = 0 to 16 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.add(prog.add(prog.mul(prog.div(%i_out, 8), -4), "
        "prog.mul(prog.div(%i_out, 4), 4)), %i_out)], %out[%i_out] : float64\n"
        "}\n"
    )


def test_positions_outside_are_filled_by_a_loop_of_their_own() -> None:
    assert body(build.gather(sym("x", 3), [1, -1, 2, 9], mode="fill", fill=0.5)) == (
        "prog.for %z_out = 0 to 2 step 1 {kind=global} {\n"
        "  prog.store 0.5, %out[prog.add(1, prog.mul(%z_out, 2))] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 2 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.add(1, %i_out)], %out[prog.mul(%i_out, 2)] : float64\n"
        "}\n"
    )


def test_computed_gather_checks_its_address() -> None:
    inside = "prog.and(prog.le(0, prog.load %i[%i_out]), prog.lt(prog.load %i[%i_out], 5))"
    assert body(build.gather(sym("x", 5), sym("i", 3, "int64"), fill=0.5)) == (
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        f"  prog.store prog.select({inside}, prog.load %x[prog.select({inside}, prog.load %i[%i_out], 0)], 0.5), "
        "%out[%i_out] : float64\n"
        "}\n"
    )


def test_promised_gather_along_an_axis() -> None:
    node = build.gather(sym("x", (2, 5, 3)), sym("i", 4, "int64"), axis=1, mode="promise_in_bounds")
    assert body(node) == (
        "prog.for %i_out = 0 to 24 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.add(prog.add(prog.mul(prog.div(%i_out, 12), 15), "
        "prog.mul(prog.load %i[prog.mod(prog.div(%i_out, 3), 4)], 3)), prog.mod(%i_out, 3))], %out[%i_out] : float64\n"
        "}\n"
    )


def test_gather_from_nothing_is_the_fill_alone() -> None:
    assert body(build.gather(sym("x", 0), sym("i", 3, "int64"), fill=0.5)) == (
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n  prog.store 0.5, %out[%i_out] : float64\n}\n"
    )


@pytest.mark.parametrize("mode", ["fill", "promise_in_bounds"])
def test_procedure_with_computed_positions_is_not_expanded(mode: str) -> None:
    x, i = sym("x", 3), build.cast(sym("y", 2), "int64")
    for node in (build.gather(x, i, mode=mode), build.index_add(x, i, sym("y", 2), mode=mode)):
        assert lowered(node.scalar()).args[0].attrs["scalarize_mode"] == "disabled"


def test_procedure_with_known_positions_may_be_expanded() -> None:
    x = sym("x", 4)
    for node in (build.gather(x, [2, 0, 3]), build.index_add(x, [2, 0, 2], sym("y", 3))):
        assert lowered(node.scalar()).args[0].attrs["scalarize_mode"] == "procedure"


# --- values -----------------------------------------------------------------------------------------------------------

COMBINATIONS = [build.index_add, build.index_set]


@pytest.mark.parametrize("combine", COMBINATIONS)
@pytest.mark.parametrize(
    "idx", [[], [2], [0, 0, 0, 0], [3, 1, 3, 1], [1, 2, 1, 2, 1], [4, 3, 2, 1, 0], [0, 1, 2, 3, 4], [0, 4, 0]]
)
def test_destinations(combine: Any, idx: list[int]) -> None:
    x = np.array([1e16, 1.0, -1e16, 1.0, -0.0])[: len(idx)]
    base = np.array([1.0, -0.0, np.nan, 0.5, np.inf])
    values = {"b": base, "x": x}
    check(combine(sym("b", 5), idx, sym("x", len(idx))), values=values)
    i = sym("i", len(idx), "int64")
    check(combine(sym("b", 5), i, sym("x", len(idx))), values={**values, "i": np.array(idx, np.int64)})
    check(combine(base, idx, sym("x", len(idx))), values={"x": x})
    for zero in (0.0, -0.0):
        node = combine(np.full(5, zero), idx, sym("x", len(idx)))
        # A sum of one term is a plain store: 0 + -0 has another sign then.
        check(node, values={"x": x}, signed_zeros=combine is build.index_set)


def test_positions_outside_are_dropped() -> None:
    idx = [7, -1, 2, LIMITS.min, LIMITS.max, 0, 2, 5, -6]
    x = np.arange(9.0) + 1
    for combine in COMBINATIONS:
        values = {"b": np.ones(5), "x": x}
        check(combine(sym("b", 5), idx, sym("x", 9), mode="fill"), values=values)
        check(combine(np.zeros(5), idx, sym("x", 9), mode="fill"), values={"x": x})
        node = combine(sym("b", 5), sym("i", 9, "int64"), sym("x", 9))
        check(node, values={**values, "i": np.array(idx)})


def test_positions_outside_are_filled() -> None:
    idx = [7, -1, 2, LIMITS.min, LIMITS.max, 0, 2, 5, -6]
    x = np.array([np.nan, 1.0, -0.0, 2.0, np.inf])
    for fill in (0, 0.5, np.nan, -0.0):
        check(build.gather(sym("x", 5), idx, mode="fill", fill=fill), values={"x": x})
        node = build.gather(sym("x", 5), sym("i", 9, "int64"), fill=fill)
        check(node, values={"x": x, "i": np.array(idx)})


def test_all_positions_outside() -> None:
    check(build.gather(sym("x", 2), [5, -1], mode="fill", fill=3.0), values={"x": np.ones(2)})
    check(build.index_set(sym("x", 2), [5, -1], sym("y", 2), mode="fill"), values={"x": np.ones(2), "y": np.ones(2)})


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("shape", [(2, 3, 4), (1, 3, 1), (2, 0, 3), (0, 2, 2), (3, 2, 0), (1, 1, 1)])
@pytest.mark.parametrize("idx", [[[0, 1], [5, -1]], [], 0, [1, 0, 1], [[0], [0], [2]]])
def test_axes(axis: int, shape: tuple[int, ...], idx: Any) -> None:
    rng = np.random.default_rng(0)
    positions = np.array(idx, np.int64)
    x = rng.normal(size=shape)
    wanted = (*shape[:axis], *positions.shape, *shape[axis + 1 :])
    values = rng.normal(size=wanted)
    i = sym("i", positions.shape, "int64")
    check(build.gather(sym("x", shape), positions, axis=axis, mode="fill"), values={"x": x})
    check(build.gather(sym("x", shape), i, axis=axis), values={"x": x, "i": positions})
    for combine in COMBINATIONS:
        node = combine(sym("x", shape), positions, sym("v", wanted), axis=axis, mode="fill")
        check(node, values={"x": x, "v": values})
        node = combine(sym("x", shape), i, sym("v", wanted), axis=axis)
        check(node, values={"x": x, "v": values, "i": positions})


@pytest.mark.parametrize("dtype", ["bool", "int32", "int64", "float32"])
def test_dtypes(dtype: str) -> None:
    x, idx = np.arange(4).astype(dtype), np.array([3, 9, 0, 0])
    check(build.gather(sym("x", 4, dtype), idx, mode="fill", fill=1), values={"x": x})
    check(build.gather(sym("x", 4, dtype), sym("i", 4, "int64"), fill=1), values={"x": x, "i": idx})
    for combine in COMBINATIONS[dtype == "bool" :]:
        values = {"x": x, "v": np.array([1, 2, 3, 4]).astype(dtype)}
        check(combine(sym("x", 4, dtype), idx, sym("v", 4, dtype), mode="fill"), values=values)
        node = combine(sym("x", 4, dtype), sym("i", 4, "int64"), sym("v", 4, dtype))
        check(node, values={**values, "i": idx})


def test_integers_wrap() -> None:
    x = np.array([LIMITS.max, LIMITS.min])
    node = build.index_add(sym("x", 2, "int64"), [0, 0, 1], np.array([1, 1, -1]))
    check(node, values={"x": x})


def test_gather_from_nothing() -> None:
    check(build.gather(sym("x", 0), [0, -1, 3], mode="fill", fill=2.0), values={"x": np.zeros(0)})
    i = np.array([0, -1, 3])
    for shape, axis in (((0,), None), ((0, 2), 0), ((2, 0), 1), ((0, 2), None)):
        node = build.gather(sym("x", shape), sym("i", 3, "int64"), axis=axis, fill=2.0)
        check(node, values={"x": np.zeros(shape), "i": i})


def test_scatter_into_nothing() -> None:
    node = build.index_add(sym("x", 0), sym("i", 3, "int64"), sym("v", 3))
    check(node, values={"x": np.zeros(0), "v": np.ones(3), "i": np.array([0, -1, 3])})
    check(
        build.index_add(np.zeros(0), sym("i", 3, "int64"), sym("v", 3)), values={"v": np.ones(3), "i": np.zeros(3, int)}
    )


def test_base_that_is_an_output_or_the_values_stays() -> None:
    x = sym("x", 4)
    y = x * x
    first = build.index_add(y, [1, 1, 3], build.gather(y, [0, 1, 2]))
    second = build.index_set(first, [3, 2, 1, 0], first)
    check(y, first, second, x, values={"x": np.array([1.0, -2.0, 3.0, 4.5])})
    check(build.index_set(x, [3, 2, 1, 0], x), build.index_add(x, [0, 0, 0, 0], x), values={"x": np.arange(4.0)})


def test_positions_that_are_data_as_well() -> None:
    i = sym("i", 4, "int64")
    check(build.gather(i, i), build.index_add(i, i, i), values={"i": np.array([3, -2, 0, 2])})
    table = np.array([3, 0, 2, 2])
    check(build.gather(i, table), build.index_add(table, i, i), values={"i": np.array([3, -2, 0, 2])})


def test_a_broken_promise_is_read_where_it_points() -> None:
    node = build.gather(sym("x", 2), sym("i", 1, "int64"), mode="promise_in_bounds")
    with pytest.raises(EvaluationError, match="read of element 5"):
        results(lowered(node), {"x": np.ones(2), "i": np.array([5])})


def test_listing_of_a_module() -> None:
    x = sym("x", 4)
    module = lowered(build.index_add(np.zeros(6), [2, 3, 4, 5], build.unary("sin", x)))
    assert sc.render(module).startswith(
        "prog.module {\n"
        "  prog.proc @f(%x: memref<4xfloat64>, %out: memref<6xfloat64>) "
        '{device=host, input_count=1, lowering="auto", scalarize_mode="disabled"} {\n'
        "    %t0 = prog.buffer : memref<4xfloat64, private>\n"
    )
