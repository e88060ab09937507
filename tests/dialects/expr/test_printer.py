"""Tests of the canonical text of functions and graphs, and of the listing for people."""

from __future__ import annotations

import math
from typing import Any

import pytest

from scaly_ir.attributes import Attrs
from scaly_ir.dialects.expr import build, ops
from scaly_ir.dialects.expr.debug import format_expr
from scaly_ir.dialects.expr.functions import make_function, make_module
from scaly_ir.dialects.expr.library import pack
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.dialects.expr.printer import render, render_expr_assembly
from scaly_ir.graph import Node, intern_node
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import float_from_bits
from scaly_ir.types import FLOAT32, FLOAT64

X = build.sym("x", 3)


def sin(x: Node) -> Expr:
    """Return the sine."""
    return build.unary("sin", x)


def cos(x: Node) -> Expr:
    """Return the cosine."""
    return build.unary("cos", x)


def tan(x: Node) -> Expr:
    """Return the tangent."""
    return build.unary("tan", x)


def call(function: Node | str, *args: Node, output: int = 0, type_: TensorType | None = None) -> Expr:
    """Return a call, of a function that need not be known."""
    return (
        build.make(ops.CALL, args, {"callee": function, "output": output})
        if type_ is None
        else opaque(function, args, type_)
    )


def opaque(callee: Node | str, args: tuple[Node, ...], type_: TensorType) -> Expr:
    """Return a call with a type that nobody can know."""
    return Expr(ops.CALL, args, type_, attrs={"callee": callee, "output": 0})


def const(value: float, dtype: str = "float64") -> str:
    """Return how a constant scalar is printed."""
    node = Expr(
        ops.CONST, (), TensorType((), dtype, diff=False), value=Table.of([value], TensorType((), dtype).dtype, ())
    )
    return render(node).splitlines()[0].partition("value=")[2].partition("}")[0]


def test_module_as_the_specification_shows_it() -> None:
    picked = build.gather(X, [2, 0])
    function = make_function("energy", [X], [picked.sum()], ["e"])
    assert render_expr_assembly(function) == (
        "expr.module {\n"
        "  expr.func @energy(%x: tensor<3xfloat64 diff>) -> (%e: tensor<float64 diff>) {\n"
        '    %0 = expr.input {lowering="auto", name="x"} : tensor<3xfloat64 diff>\n'
        '    %1 = expr.const {lowering="auto", value=[2, 0]} : tensor<2xint64>\n'
        '    %2 = expr.gather(%0, %1) {axis=None, mode="promise_in_bounds"} : tensor<2xfloat64 diff>\n'
        '    %3 = expr.reduce(%2) {axes=[0], kind="add"} : tensor<float64 diff>\n'
        "    expr.return %3\n"
        "  }\n"
        "}\n"
    )


def test_expressions_print_as_a_fragment_or_a_region() -> None:
    lines = [
        '%0 = expr.input {lowering="auto", name="x"} : tensor<3xfloat64 diff>',
        "%1 = expr.sin(%0) : tensor<3xfloat64 diff>",
        "expr.return %1, %0",
    ]
    assert render_expr_assembly([sin(X), X]).splitlines() == lines
    region = render_expr_assembly([sin(X), X], name="my region")
    assert region.splitlines() == ['expr.region @"my region" {', *[f"  {line}" for line in lines], "}"]
    assert render(sin(X)) == render_expr_assembly(sin(X))


def test_operands_come_before_users_each_once_and_left_to_right() -> None:
    left, right = sin(X), cos(X)
    text = render((left * right) + left)
    assert [line.split("expr.")[1].split()[0] for line in text.splitlines()] == [
        *("input", "sin(%0)", "cos(%0)", "mul(%1,", "add(%3,", "return"),
    ]


def test_unused_inputs_stand_in_the_signature_only() -> None:
    function = make_function("f", [build.sym("u", 2), X], [X], ["y"])
    text = render(make_module([function]))
    assert "@f(%u: tensor<2xfloat64 diff>, %x: tensor<3xfloat64 diff>) -> (%y: tensor<3xfloat64 diff>)" in text
    assert text.count("expr.input") == 1


def test_callees_come_first_and_a_loop_s_condition_behind_its_body() -> None:
    inner = make_function("inner", [X], [sin(X)], ["y"])
    outer = make_function("outer", [X], [call(inner, X)], ["y"])
    text = render(intern_node(ops.MODULE, (outer,), Attrs({}), None))
    assert text.index("@inner") < text.index("@outer")
    assert '%1 = expr.call(%0) {callee="inner", output=0} : tensor<3xfloat64 diff>' in text


def test_a_second_function_of_one_name_gets_a_free_one() -> None:
    first = make_function("f", [X], [sin(X)], ["y"])
    second = make_function("f", [X], [cos(X)], ["y"])
    taken = make_function("f_1", [X], [tan(X)], ["y"])
    entry = make_function("g", [X], [call(first, X) + call(second, X) + call(taken, X)], ["y"])
    text = render_expr_assembly(entry)
    assert [line.split("@")[1].split("(")[0] for line in text.splitlines() if "expr.func" in line] == [
        *("f", "f_2", "f_1", "g"),
    ]
    assert text.count('callee="f_2"') == 1


def test_bare_functions_and_a_function_alone_have_no_module_around_them() -> None:
    inner = make_function("inner", [X], [sin(X)], ["y"])
    outer = make_function("outer", [X], [call(inner, X)], ["y"])
    bare = render(make_module([outer], bare=True))
    assert bare == render(inner) + render(outer)
    assert render(outer).startswith("expr.func @outer(")
    assert 'callee="inner"' in render(outer)


def test_what_nobody_knows_prints_by_its_name() -> None:
    node = opaque("my model", (X,), X.type)
    assert '%1 = expr.call(%0) {callee="my model", output=0} : tensor<3xfloat64 diff>' in render(node)


def test_hints_print_except_auto_which_sources_print_as_well() -> None:
    text = render(sin(X.block()) + X)
    assert '%0 = expr.input {lowering="block", name="x"}' in text
    assert '%1 = expr.sin(%0) {lowering="block"} :' in text
    assert '%2 = expr.input {lowering="auto", name="x"}' in text


def test_names_that_are_no_words_are_quoted() -> None:
    x = build.sym("fwd:x")
    function = make_function("my fn", [x], [x], ["a b"])
    assert render(function).startswith('expr.func @"my fn"(%"fwd:x": tensor<float64 diff>) -> (%"a b": tensor<')


def test_numbers_keep_their_bits_and_always_look_like_floats() -> None:
    assert [const(value) for value in (1.0, -0.0, 1e22, 5e-324, math.inf, -math.inf, math.nan)] == [
        *("1.0", "-0.0", "1e+22", "5e-324", "inf", "-inf", "nan"),
    ]
    assert const(float_from_bits(0x7FF8000000000001)) == "nan<0x7ff8000000000001>"
    assert const(float_from_bits(0x7FC00001, FLOAT32), "float32") == "nan<0x7fc00001>"
    assert const(float_from_bits(0x3DCCCCCD, FLOAT32), "float32") == "0.1"
    assert [const(1, "bool"), const(-3, "int32")] == ["True", "-3"]


def test_tables_print_in_full() -> None:
    assert "value=[[1.0, 2.0], [3.0, 4.0]]" in render(build.const([[1, 2], [3, 4]]))
    empty = Expr(ops.CONST, (), TensorType((2, 0), FLOAT64, diff=False), value=Table(FLOAT64, (2, 0), b""))
    assert "value=[[], []]} : tensor<2x0xfloat64>" in render(empty)


def test_a_fill_is_spelled_in_the_dtype_of_the_data() -> None:
    x = build.sym("x", 3, dtype="float32")
    i = build.sym("i", dtype="int64")
    assert "{axis=None, fill=0.1, mode=" in render(build.gather(x, i, fill=0.1))
    assert "{axis=None, fill=7, mode=" in render(build.gather(build.sym("n", 3, dtype="int32"), i, fill=7))


def test_long_patterns_have_names_in_a_module_only() -> None:
    pattern = SparsityPattern.dense((4, 5))
    small = SparsityPattern.dense((4, 4))
    values, few = build.sym("v", 20), build.sym("w", 16)
    function = make_function("f", [values, few], [pack(values, pattern), pack(few, small)], ["y", "z"])
    text = render(make_module([function]))
    assert text.splitlines()[1] == f"  #sp0 = {pattern}"
    assert text.count(": tensor<4x5xfloat64 diff, sparse<#sp0>>") == 2
    assert text.count(str(small)) == 2
    assert "#sp0" not in render(function)


def test_a_long_chain_prints_without_recursion() -> None:
    x: Expr = build.sym("x")
    for _ in range(20_000):
        x = sin(x)
    assert render(x).count("\n") == 20_002


def test_what_is_no_expression_is_refused() -> None:
    function = make_function("f", [X], [X], ["y"])
    with pytest.raises(TypeError, match="a name of its own"):
        render_expr_assembly(function, name="g")
    with pytest.raises(TypeError, match="expected a function, an expression"):
        render_expr_assembly([1.0])
    with pytest.raises(TypeError, match="no tensor expression"):
        render_expr_assembly([function])


def test_the_listing_for_people() -> None:
    body = make_function("f", [build.sym("z", 2)], [build.sym("z", 2).sum()], ["y"])
    n = build.sym("xs", 20)
    windows = {"length": 10, "starts": [0], "strides": [2]}
    flags: dict[str, Any] = {"cond": None, "n_carry": 0, "index": False, "reverse": False, "in_place": [], "output": 0}
    attrs = {"callee": body, **windows, **flags}
    loop = build.make(ops.LOOP, [n], attrs)
    result = call(body, build.concat([X[:1] + build.const([1.0, 2.0])[:1], [0.5]])) + loop.sum()
    lines = format_expr([result]).splitlines()
    assert lines[0] == "%0 = input x : float64(3,)"
    assert lines[2] == "%2 = const [1. 2.] : float64(2,)"
    assert "%4 = add(%1, %3) : float64(1,)" in lines
    assert "%7 = call f[0](%6) : float64()" in lines
    assert any(line.startswith("%9 = loop[10] f[0](%8[0::2]) {") for line in lines)
    assert lines[-1] == "outputs %11"
    assert "const [0. 1. 2. ... 97. 98. 99.] : float64(100,)" in format_expr(build.const(list(range(100))))
