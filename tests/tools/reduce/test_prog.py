"""What is left of programs, by hand: one program and one thing to keep for each kind of change."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import scaly_ir as sc
from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.tools.reduce import prog
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Kind
from scaly_ir.types import FLOAT64
from tests.tools.reduce.searching import smallest

PROGRAM = """\
prog.module {
  prog.proc @copy(%from: memref<4xfloat64>, %unused: memref<1xint64>, %to: memref<4xfloat64>) {input_count=2} {
    prog.store prog.load %from[0], %to[0] : float64
  }
  prog.proc @main(%x: memref<4x4xfloat64>, %n: memref<1xint64>, %out: memref<4x4xfloat64>) {input_count=2} {
    %scale = prog.assign prog.load %x[3] : float64 {declare=True}
    %table = prog.buffer : memref<3xfloat64, constant> = dense<[1.5, 2.5, 3.5]>
    %temp = prog.buffer : memref<4x4xfloat64, private>
    %window = prog.buffer : memref<4xfloat64, private> = prog.alias %temp offset 4
    prog.for %i = 0 to 4 step 1 {kind=global} {
      prog.for %j = 0 to 4 step 1 {kind=global} {
        %at = prog.assign prog.add(prog.mul(%i, 4), %j) : int64 {declare=True}
        prog.store prog.mul(%scale, prog.load %x[%at]), %temp[%at] : float64
      }
    }
    prog.call @copy(%window, %n, %out[4]) {n_in=2, n_out=1}
    prog.store prog.sin(prog.add(prog.load %table[2], prog.load %temp[7])), %out[15] : float64
  }
}
"""


def left(keeps: Callable[[Node], bool], text: str = PROGRAM) -> str:
    """Return what is left of a program, without its outermost lines."""
    return sc.render(smallest(sc.parse(text), keeps))


def has(*names: str) -> Callable[[Node], bool]:
    return lambda root: {f"prog.{name}" for name in names} <= {node.op.name for node in preorder(root)}


def test_a_statement() -> None:
    assert left(has("sin")) == (
        "prog.module {\n  prog.proc @a(%a: memref<1xfloat64>) {\n    prog.store prog.sin(0), %a[0] : float64\n  }\n}\n"
    )


def test_a_call_and_its_callee_lose_parameters_together() -> None:
    assert left(has("call")) == (
        "prog.module {\n  prog.proc @a() {\n  }\n  prog.proc @b() {\n    prog.call @a()\n  }\n}\n"
    )


def test_a_parameter_that_is_passed_stays() -> None:
    def is_passed(root: Node) -> bool:
        return any([node.op is ops.CALL and node.args for node in preorder(root)])

    text = left(lambda root: is_passed(root) and has("load")(root))
    assert "prog.call @a(%a)" in text or "prog.call @a(%a[0])" in text


def test_an_alias_needs_what_it_is_a_window_of() -> None:
    text = left(lambda root: "prog.alias" in sc.render(root))
    assert text == (
        "prog.module {\n"
        "  prog.proc @a() {\n"
        "    %a = prog.buffer : memref<1xfloat64, private>\n"
        "    %b = prog.buffer : memref<1xfloat64, private> = prog.alias %a offset 0\n"
        "  }\n"
        "}\n"
    )


def test_a_loop_around_nothing() -> None:
    assert left(has("for")) == (
        "prog.module {\n  prog.proc @a() {\n    prog.for %i = 0 to 1 step 1 {kind=global} {\n    }\n  }\n}\n"
    )


def test_a_loop_makes_way_for_its_first_trip() -> None:
    kind = next(kind for kind in prog.KINDS if kind.name == "regions")
    root = sc.parse(PROGRAM)
    made = kind.apply(root, kind.edits(root))
    assert made is not None
    assert "prog.for" not in sc.render(made)
    assert "%at = prog.assign prog.add(prog.mul(0, 4), 0)" in sc.render(made)


def test_a_table_becomes_short_and_zero() -> None:
    text = left(lambda root: "dense" in sc.render(root))
    assert "memref<1xfloat64, constant> = dense<[0.0]>" in text


def test_extents_shrink_where_indices_need_them() -> None:
    def reads_the_last(root: Node) -> bool:
        return "prog.load %x[%" in sc.render(root).replace("%a[", "%x[") and has("for")(root)

    text = left(reads_the_last)
    assert "= 0 to 1 step 1" in text
    assert "memref<1xfloat64>" in text


def kinds(name: str) -> list[Kind]:
    return [kind for kind in prog.KINDS if kind.name == name]


@pytest.mark.parametrize(
    "header",
    [
        "device=host, input_count=1, sz_w=0, w_self=0",
        'hoisted_from="g", in_place=True, lowering="auto", scalarize_mode="disabled"',
    ],
)
def test_header_attributes_go(header: str) -> None:
    text = f"prog.proc @f(%x: memref<1xfloat64>) {{{header}}} {{\n}}\n"
    assert left(lambda root: len(root.args) == 1 and bool(build.params_of(root.args[0])), text) == (
        "prog.proc @f(%x: memref<1xfloat64>) {\n}\n"
    )


def test_names_that_are_short_and_those_of_the_language_stay() -> None:
    text = (
        "prog.proc @f(%x: memref<8xfloat64>, %long: memref<8xfloat64>) {input_count=1} {\n"
        "  %a = prog.assign prog.load %x[0] : float64 {declare=True}\n"
        "  prog.for %other = 0 to 8 step %SCALY_WIDTH_1_1_1_1 {kind=serial} {\n"
        "    prog.store %a, %long[%other] : float64\n"
        "  }\n"
        "}\n"
    )
    (kind,) = kinds("names")
    root = sc.parse(text)
    made = kind.apply(root, kind.edits(root))
    assert made is not None
    assert sc.render(made) == text.replace("long", "b").replace("other", "c")


def test_a_recursive_exchange_of_buffers_ends() -> None:
    text = (
        "prog.proc @f(%y: memref<1xfloat64>) {\n"
        "  %s = prog.buffer : memref<1xfloat64, private>\n"
        "  %t = prog.buffer : memref<1xfloat64, private>\n"
        "  %u = prog.buffer : memref<1xfloat64, private>\n"
        "  prog.store 1, %u[0] : float64\n"
        "  prog.store prog.load %u[0], %y[0] : float64\n"
        "}\n"
    )
    (kind,) = kinds("results")
    root = sc.parse(text)
    instead = [edit for edit in kind.edits(root) if edit.instead is not None]
    made = kind.apply(root, instead)
    assert made is not None
    assert sc.render(made) == (
        "prog.proc @f(%y: memref<1xfloat64>) {\n"
        "  prog.store 1, %y[0] : float64\n"
        "  prog.store prog.load %y[0], %y[0] : float64\n"
        "}\n"
    )


def applied(name: str, wanted: Callable[[Node, Any], bool], text: str) -> str:
    """Make those changes of the first kind of a name that are wanted."""
    kind = kinds(name)[0]
    root = sc.parse(text)
    made = kind.apply(root, [edit for edit in kind.edits(root) if wanted(root, edit)])
    assert made is not None
    sc.verify(made)
    return sc.render(made)


def test_a_declaration_stays_as_long_as_it_is_needed() -> None:
    text = (
        "prog.proc @f(%y: memref<1xfloat64>) {\n"
        "  %s = prog.buffer : memref<1xfloat64, private>\n"
        "  %w = prog.buffer : memref<1xfloat64, private> = prog.alias %s offset 0\n"
        "  %a = prog.assign prog.load %w[0] : float64 {declare=True}\n"
        "  %b = prog.assign %a : float64 {declare=True}\n"
        "  prog.for %i = 0 to 1 step 1 {kind=global} {\n"
        "    %c = prog.assign %b : float64 {declare=True}\n"
        "    prog.store %c, %y[0] : float64\n"
        "  }\n"
        "  prog.store %a, %y[0] : float64\n"
        "}\n"
    )
    all_but_the_last = applied("operations", lambda root, edit: edit.statement < 7, text)
    lines = text.splitlines(keepends=True)
    assert all_but_the_last == "".join([*lines[:4], *lines[-2:]])


@pytest.mark.parametrize(
    ("gone", "call"),
    [
        (["to"], "prog.call @copy(%window, %n) {n_in=2, n_out=0}"),
        (["unused"], "prog.call @copy(%window, %out[4]) {n_in=1, n_out=1}"),
        (["from", "to"], "prog.call @copy(%n) {n_in=1, n_out=0}"),
    ],
)
def test_arguments_go_with_parameters(gone: list[str], call: str) -> None:
    assert call in applied("results", lambda root, edit: edit.procedure == 0 and edit.name in gone, PROGRAM)


def test_windows_go_with_what_they_are_windows_of() -> None:
    text = applied("results", lambda root, edit: edit.name == "temp" and edit.instead is None, PROGRAM)
    assert "%temp" not in text
    assert "%window" not in text
    assert "prog.sin(prog.add(prog.load %table[2], 0))" in text


def test_scalars_of_two_scopes_that_are_copies_of_each_other() -> None:
    text = (
        "prog.proc @f(%y: memref<1xfloat64>) {\n"
        "  prog.for %i = 0 to 1 step 1 {kind=global} {\n"
        "    %a = prog.assign 1 : float64 {declare=True}\n"
        "    %b = prog.assign %a : float64 {declare=True}\n"
        "    prog.store %b, %y[0] : float64\n"
        "  }\n"
        "  prog.for %i = 0 to 1 step 1 {kind=global} {\n"
        "    %b = prog.assign 1 : float64 {declare=True}\n"
        "    %a = prog.assign %b : float64 {declare=True}\n"
        "    prog.store %a, %y[0] : float64\n"
        "  }\n"
        "}\n"
    )
    made = applied("results", lambda root, edit: edit.instead is not None, text)
    assert made.count("prog.store 0, %y[0]") == 2


def test_a_fragment() -> None:
    text = "prog.store prog.sin(prog.add(%a, %b)), %x[%i] : float64\nprog.store 1, %x[0] : float64\n"
    assert left(has("sin"), text) == "prog.store prog.sin(0), %x[0] : float64\n"


def test_a_module_that_cannot_shrink_stays() -> None:
    root = sc.parse("prog.proc @f() {\n}\n")
    assert smallest(root, lambda other: bool(other.args)) is root


def test_deep_nests_and_long_chains() -> None:
    depth = 300
    loops = "".join([f"prog.for %i{at} = 0 to 2 step 1 {{kind=global}} {{\n" for at in range(depth)])
    nest = f"prog.proc @f(%y: memref<1xfloat64>) {{\n{loops}prog.store 1, %y[0] : float64\n{'}' * depth}\n}}\n"
    assert sc.render(smallest(sc.parse(nest), has("store"))).count("prog.for") == 0
    value = build.var("v", FLOAT64)
    for _ in range(20_000):
        value = build.apply("sin", value)
    chain = build.block([build.store(build.view("y", 0, FLOAT64), build.apply("exp", value))])
    assert sc.render(smallest(chain, has("exp"))) == "prog.store prog.exp(0), %y[0] : float64\n"


@pytest.mark.parametrize("kind", prog.KINDS, ids=range(len(prog.KINDS)))
def test_no_edit_is_left_in_the_smallest_of_all(kind: Kind) -> None:
    root = sc.parse("prog.proc @f() {\n}\n")
    for edit in kind.edits(root):
        made = kind.apply(root, [edit])
        assert made is None or State(made).weight >= State(root).weight
