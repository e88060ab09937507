"""Elementwise operations: one loop each, operands at broadcast indices, whatever the operator is registered as."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.attributes import NO_ATTRS
from scaly_ir.dialects.expr import build
from scaly_ir.dialects.expr.functions import make_module
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.errors import LoweringError
from scaly_ir.graph import intern_node
from scaly_ir.op import Op
from scaly_ir.passes.expr.lowering.driver import lower
from scaly_ir.prim import register_elementwise
from tests.passes.expr.lowering.lowered import body, check, function_of, lowered


def sym(name: str, shape: Any, dtype: str = "float64") -> Expr:
    return build.sym(name, shape, dtype=dtype)


# --- form -------------------------------------------------------------------------------------------------------------


def test_one_loop_for_each_operation() -> None:
    x, y = sym("x", 8), sym("y", 8)
    module = lower(make_module([function_of((build.unary("sin", x) + y) * y)]))
    assert sc.render(module) == (
        "prog.module {\n"
        "  prog.proc @f(%x: memref<8xfloat64>, %y: memref<8xfloat64>, %out: memref<8xfloat64>) "
        '{device=host, input_count=2, lowering="auto", scalarize_mode="disabled"} {\n'
        "    %t0 = prog.buffer : memref<8xfloat64, private>\n"
        "    prog.for %i_t0 = 0 to 8 step 1 {kind=global} {\n"
        "      prog.store prog.sin(prog.load %x[%i_t0]), %t0[%i_t0] : float64\n"
        "    }\n"
        "    %t1 = prog.buffer : memref<8xfloat64, private>\n"
        "    prog.for %i_t1 = 0 to 8 step 1 {kind=global} {\n"
        "      prog.store prog.add(prog.load %t0[%i_t1], prog.load %y[%i_t1]), %t1[%i_t1] : float64\n"
        "    }\n"
        "    prog.for %i_out = 0 to 8 step 1 {kind=global} {\n"
        "      prog.store prog.mul(prog.load %t1[%i_out], prog.load %y[%i_out]), %out[%i_out] : float64\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


def test_broadcast_row_is_read_with_mod() -> None:
    assert body(build.unary("sin", sym("x", 3)) * sym("y", (4, 3))) == (
        "%t0 = prog.buffer : memref<3xfloat64, private>\n"
        "prog.for %i_t0 = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store prog.sin(prog.load %x[%i_t0]), %t0[%i_t0] : float64\n"
        "}\n"
        "prog.for %i_out = 0 to 12 step 1 {kind=global} {\n"
        "  prog.store prog.mul(prog.load %t0[prog.mod(%i_out, 3)], prog.load %y[%i_out]), %out[%i_out] : float64\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("shape", "result", "index"),
    [
        ((), (3,), "0"),
        ((1,), (3,), "0"),
        ((3,), (3,), "%i_out"),
        ((3,), (1, 3), "%i_out"),
        ((4, 1), (4, 3), "prog.div(%i_out, 3)"),
        ((1, 3), (4, 3), "prog.mod(%i_out, 3)"),
        ((2, 1, 4), (2, 3, 4), "prog.add(prog.mul(prog.div(%i_out, 12), 4), prog.mod(%i_out, 4))"),
        ((3, 1), (2, 3, 4), "prog.mod(prog.div(%i_out, 4), 3)"),
        ((2, 1, 1), (2, 3, 4), "prog.div(%i_out, 12)"),
        ((3, 4), (2, 3, 4), "prog.mod(%i_out, 12)"),
    ],
)
def test_index_of_a_broadcast_operand(shape: tuple[int, ...], result: tuple[int, ...], index: str) -> None:
    x, y = sym("x", shape), sym("y", result)
    assert f"prog.sub(prog.load %x[{index}], prog.load %y[%i_out])" in body(x - y)
    rng = np.random.default_rng(0)
    check(x - y, y - x, values={"x": rng.normal(size=shape), "y": rng.normal(size=result)})


def test_integer_divisions_round_down() -> None:
    text = body(sym("n", 2, "int64") // 3 % 5)
    assert "prog.floordiv(prog.load %n[%i_t1], prog.load %k0[0])" in text
    assert "prog.floormod(prog.load %t1[%i_out], prog.load %k2[0])" in text


def test_conversion_to_bool_is_a_comparison() -> None:
    text = body(build.cast(sym("x", 2), "bool"))
    assert "prog.ne(prog.load %x[%i_out], prog.load %k0[0]), %out[%i_out] : bool" in text


def test_equal_constants_are_one_table() -> None:
    x, first, second = sym("x", 2), np.array([1.0, 2.0]), np.array([2.0, 1.0])
    assert body((x - first) * first - second).count("dense<") == 2


def test_equal_numbers_of_another_dtype_or_shape_are_another_table() -> None:
    x, y, z = sym("x", 2), sym("y", 2, "int64"), sym("z", (2, 1))
    floats = np.array([1.0, 2.0])
    assert body(x + floats, y + np.array([1, 2]), z + floats.reshape(2, 1)).count("dense<") == 3


def test_zeros_of_both_signs_are_two_tables() -> None:
    x = sym("x", 2)
    assert body(build.stack([x * [0.0, 1.0], x * [-0.0, 1.0]])).count("dense<") == 2


# --- values -----------------------------------------------------------------------------------------------------------


def test_value_of_a_choice_does_not_leak() -> None:
    x = sym("x", 4)
    chosen = build.where(build.binary("lt", 0.0, x), build.unary("log", x), x / 0.0)
    check(chosen, values={"x": np.array([-1.0, 0.0, np.nan, 2.0])})


def test_nan_is_true() -> None:
    node = build.cast(build.cast(sym("x", 4), "bool"), "float64")
    check(node, values={"x": np.array([np.nan, 0.0, -0.0, 1e-300])})


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_at_their_ends(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x, y = sym("x", 6, dtype), sym("y", 6, dtype)
    values = {
        "x": np.array([limits.min, limits.min, limits.max, -7, 7, 0], dtype),
        "y": np.array([-1, 0, limits.max, 2, -2, 0], dtype),
    }
    check(x // y, x % y, x + y, x - y, x * y, -x, abs(x), values=values)
    check(build.binary("minimum", x, y), build.binary("maximum", x, y), values=values)


def test_one_operation_that_is_several_outputs() -> None:
    x = sym("x", 3)
    y = x + 1.0
    check(y, x, y, build.const([1.0]), build.const([1.0]), y * y, values={"x": np.arange(3.0)})


def test_outputs_without_entries() -> None:
    x = sym("x", (0, 3))
    check(x + 1.0, x * sym("y", (1, 3)), values={"x": np.zeros((0, 3)), "y": np.ones((1, 3))})
    check(sym("y", 1) + sym("z", 0), values={"y": np.ones(1), "z": np.zeros(0)})


def test_long_chain() -> None:
    x = sym("x", 1)
    y = x
    for _ in range(2000):
        y = build.unary("sin", y)
    assert len(lower(make_module([function_of(y)])).args[0].args) == 2 + 2 * 1999 + 1


# --- operators of others ----------------------------------------------------------------------------------------------


@pytest.mark.usefixtures("registry")
def test_operator_that_dialects_share_is_taken_in_the_form_of_prog() -> None:
    register_elementwise("twice", 1, FNumpy=lambda x: x * 2)
    text = body(build.make(Op.get("expr.twice"), [sym("x", 3)]))
    assert "prog.store prog.twice(prog.load %x[%i_out]), %out[%i_out] : float64" in text


@pytest.mark.usefixtures("registry")
def test_operator_without_a_rule_is_refused() -> None:
    op = Op.register("my_ext.sorted", "The entries in order.")
    x = sym("x", 3)
    node = intern_node(op, (x,), NO_ATTRS, x.type)
    with pytest.raises(LoweringError, match=r"@f: 'my_ext.sorted' .*no rule") as raised:
        lowered(node)
    assert raised.value.blamed[0] is node
