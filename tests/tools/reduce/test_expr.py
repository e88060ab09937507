"""What is left of functions of `expr`, by hand: one module and one thing to keep for each kind of change."""

from __future__ import annotations

from collections.abc import Callable

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.graph.walk import with_references
from scaly_ir.tools.reduce import expr
from tests.tools.reduce.searching import smallest

MODULE = """\
expr.module {
  expr.func @stage(%first: V, %k: tensor<float64 diff>) -> (%p: V, %q: V) {
    %0 = expr.input {name="first"} : tensor<8xfloat64 diff>
    %1 = expr.input {name="k"} : tensor<float64 diff>
    %2 = expr.mul(%0, %1) : tensor<8xfloat64 diff>
    %3 = expr.sin(%2) : tensor<8xfloat64 diff>
    expr.return %3, %2
  }
  expr.func @main(%x: V, %y: V) -> (%out: V, %sum: tensor<float64 diff>) {
    %0 = expr.input {name="x"} : tensor<8xfloat64 diff>
    %1 = expr.input {name="y"} : tensor<8xfloat64 diff>
    %2 = expr.const {value=2.5} : tensor<float64>
    %3 = expr.call(%0, %2) {callee="stage", output=1} : tensor<8xfloat64 diff>
    %4 = expr.cos(%3) : tensor<8xfloat64 diff>
    %5 = expr.add(%4, %1) : tensor<8xfloat64 diff>
    %6 = expr.reduce(%5) {axes=[0], kind="add", lowering="scalar"} : tensor<float64 diff>
    expr.return %5, %6
  }
}
""".replace("V,", "tensor<8xfloat64 diff>,").replace("V)", "tensor<8xfloat64 diff>)")


def has(*names: str) -> Callable[[Node], bool]:
    return lambda root: {f"expr.{name}" for name in names} <= {node.op.name for node in with_references(root)}


def left(keeps: Callable[[Node], bool], text: str = MODULE) -> str:
    return sc.render(smallest(sc.parse(text), keeps))


def test_an_operation_of_a_callee() -> None:
    assert left(has("sin")) == (
        "expr.module {\n"
        "  expr.func @a() -> (%p: tensor<1xfloat64>) {\n"
        '    %0 = expr.const {lowering="auto", value=[0.0]} : tensor<1xfloat64>\n'
        "    %1 = expr.sin(%0) : tensor<1xfloat64>\n"
        "    expr.return %1\n"
        "  }\n"
        "}\n"
    )


def test_a_call_keeps_its_callee_and_both_lose_inputs_and_outputs() -> None:
    text = left(has("call"))
    assert text == (
        "expr.module {\n"
        "  expr.func @a() -> (%q: tensor<1xfloat64>) {\n"
        '    %0 = expr.const {lowering="auto", value=[0.0]} : tensor<1xfloat64>\n'
        "    expr.return %0\n"
        "  }\n"
        "  expr.func @b() -> (%a: tensor<1xfloat64>) {\n"
        '    %0 = expr.call {callee="a", output=0} : tensor<1xfloat64>\n'
        "    expr.return %0\n"
        "  }\n"
        "}\n"
    )


def test_a_hint_and_an_operation_that_bears_it() -> None:
    def is_scalar(root: Node) -> bool:
        return any([node.attrs.get("lowering") == "scalar" for node in with_references(root)])

    text = left(is_scalar)
    assert text.count("expr.reduce") == 1
    assert text.count("\n") <= 8
    assert 'lowering="auto"' in left(has("reduce"))
    assert 'lowering="scalar"' not in left(has("reduce"))


def test_a_call_makes_way_for_what_it_computes() -> None:
    kind = next(kind for kind in expr.KINDS if kind.name == "regions")
    root = sc.parse(MODULE)
    made = kind.apply(root, kind.edits(root))
    assert made is not None
    assert "expr.call" not in sc.render(made)


def test_a_loop_runs_once() -> None:
    step: sc.Function = sc.function(sc.arg("z", 2), outputs=sc.arg("next"), name="step")(lambda z: z.sin())

    def body(x: sc.Expr) -> sc.Expr:
        last, _ = sc.scan(step, x, length=5)
        assert isinstance(last, sc.Expr)
        return last

    function: sc.Function = sc.function(sc.arg("x", 2), outputs=sc.arg("y"), name="main")(body)
    text = sc.render_expr_assembly(function)
    assert "length=5" in text
    kept = left(has("loop"), text)
    assert "length=1" in kept
    assert "tensor<2x" not in kept


def test_shapes_that_hang_together_shrink_together() -> None:
    text = """\
expr.func @f(%x: tensor<6x4xfloat64 diff>, %m: tensor<4x3xfloat64 diff>) -> (%y: tensor<18xfloat64 diff>) {
  %0 = expr.input {name="x"} : tensor<6x4xfloat64 diff>
  %1 = expr.input {name="m"} : tensor<4x3xfloat64 diff>
  %2 = expr.matmul(%0, %1) : tensor<6x3xfloat64 diff>
  %3 = expr.reshape(%2) {shape=[18]} : tensor<18xfloat64 diff>
  expr.return %3
}
"""
    kept = left(has("matmul"), text)
    assert "tensor<1x1xfloat64>" in kept
    assert "x4x" not in kept


def test_shapes_that_attributes_state_shrink_too() -> None:
    text = """\
expr.func @f(%x: tensor<6x4xfloat64 diff>) -> (%y: tensor<12xfloat64 diff>) {
  %0 = expr.input {name="x"} : tensor<6x4xfloat64 diff>
  %1 = expr.reshape(%0) {shape=[4, 6]} : tensor<4x6xfloat64 diff>
  %2 = expr.slice(%1) {index=[slice(0, 4, None), slice(0, 6, 2)]} : tensor<4x3xfloat64 diff>
  %3 = expr.reshape(%2) {shape=[12]} : tensor<12xfloat64 diff>
  expr.return %3
}
"""
    kept = left(has("slice", "reshape", "input"), text)
    assert "{shape=[1" in kept
    assert "x6xf" not in kept


def test_a_region_and_a_fragment() -> None:
    body = '%0 = expr.input {name="x"} : tensor<2xfloat64>\n%1 = expr.sin(%0) : tensor<2xfloat64>\n'
    for text in (f"{body}expr.return %1\n", f"expr.region @r {{\n{body}expr.return %1\n}}\n"):
        kept = left(has("sin"), text)
        assert "expr.sin(%0) : tensor<1xfloat64>" in kept
        assert left(has("return"), text).count("\n") <= kept.count("\n") if "region" not in text else True


def test_a_function_that_only_a_bare_file_may_call() -> None:
    text = """\
expr.func @f(%x: tensor<2xfloat64 diff>) -> (%y: tensor<2xfloat64 diff>) {
  %0 = expr.input {name="x"} : tensor<2xfloat64 diff>
  %1 = expr.call(%0) {callee="somewhere else", output=0} : tensor<2xfloat64 diff>
  %2 = expr.sin(%1) : tensor<2xfloat64 diff>
  expr.return %2
}
"""
    assert 'callee="somewhere else"' in left(has("call"), text)
    assert "expr.call" not in left(has("sin"), text)
