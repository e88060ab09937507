"""What is left of functions of buffers, by hand: one module and one thing to keep for each kind of change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

import scaly_ir as sc
from scaly_ir.graph import Node, preorder
from scaly_ir.tools.reduce import matrix
from scaly_ir.tools.reduce.state import State
from scaly_ir.tools.reduce.steps import Kind
from tests.counting import calls_of
from tests.tools.reduce.searching import smallest

MODULE = """\
buffer.func @unused(%x: float64) -> (%y: float64) {
  buffer.return %x
}
buffer.func @main(%A: memref<3x4xfloat64>, %B: memref<4x3xfloat64>, %scale: float64)
    -> (%C: memref<3x3xfloat64>, %total: float64) {
  %0 = matrix.prod(%A, %B) : memref<3x3xfloat64>
  %1 = matrix.transpose(%0) : memref<3x3xfloat64>
  %2 = matrix.map_reduce(%A, %B) init(0) {indices=[[0, 2], [2, 1]]} : memref<3x3xfloat64> {
  ^comb(%sum: float64, %a: float64, %b: float64):
    %product = prog.mul(%a, %b) : float64
    matrix.yield prog.add(%sum, prog.tan(%product))
  }
  %padded = matrix.pad(%2, %scale)
    {hi=[2, 0], lo=[1, 0], mode=constant, s_in=[3, 3], s_out=[6, 3]} : memref<6x3xfloat64>
  %3 = matrix.concat(%padded, %1) {axis=0, s_out=[9, 3], shapes=[[6, 3], [3, 3]]} : memref<9x3xfloat64>
  %4 = affine.for %i = 0 to 9 step 1 iter(%acc = 0) {kind=reduce} : float64 {
    %at = affine.min(%i) {map=affine_map<(d0) -> (d0 * 2 + 1, 8)>} : index
    %5 = buffer.read %3[%at, 2] : float64
    affine.yield prog.add(%acc, prog.sin(prog.mul(%5, %scale)))
  }
  %6 = buffer.alloc : memref<3x3xfloat64>
  affine.for %i = 0 to 3 step 1 {kind=global} {
    affine.for %j = 0 to 3 step 1 {kind=global} {
      %7 = buffer.read %1[%i, %j] : float64
      buffer.write prog.exp(prog.add(%7, %4)), %6[%i, %j] : float64
    }
  }
  buffer.return %6, %4
}
"""


def left(keeps: Callable[[Node], bool], text: str = MODULE) -> str:
    """Return what is left of a module."""
    return sc.render(smallest(sc.parse(text), keeps))


def has(*names: str) -> Callable[[Node], bool]:
    return lambda root: set(names) <= {node.op.name for node in preorder(root)}


def test_one_operation_of_whole_arrays() -> None:
    assert left(has("matrix.transpose")) == (
        "buffer.func @a(%A: memref<1x1xfloat64>) -> () {\n"
        "  %0 = matrix.transpose(%A) : memref<1x1xfloat64>\n"
        "  buffer.return\n"
        "}\n"
    )


def test_a_scalar_in_a_loop() -> None:
    assert left(has("prog.exp")) == (
        "buffer.func @a() -> () {\n"
        "  %0 = buffer.alloc : memref<float64>\n"
        "  buffer.write prog.exp(0), %0[] : float64\n"
        "  buffer.return\n"
        "}\n"
    )


def test_a_loop_that_carries_a_value() -> None:
    assert left(has("affine.for", "prog.sin")) == (
        "buffer.func @a() -> () {\n"
        "  %0 = affine.for %i = 0 to 0 step 1 iter(%a = 0) {kind=reduce} : float64 {\n"
        "    affine.yield prog.sin(0)\n"
        "  }\n"
        "  buffer.return\n"
        "}\n"
    )


def test_a_map() -> None:
    assert left(has("affine.min")) == (
        "buffer.func @a() -> () {\n  %a = affine.min(0) {map=affine_map<(d0) -> (0, 0)>} : index\n  buffer.return\n}\n"
    )


def test_a_combiner_loses_inputs_and_bindings() -> None:
    text = left(has("prog.tan", "matrix.map_reduce"))
    assert text == (
        "buffer.func @a() -> () {\n"
        "  %0 = matrix.map_reduce() init(0) {indices=[]} : memref<float64> {\n"
        "  ^comb(%a: float64):\n"
        "    matrix.yield prog.tan(0)\n"
        "  }\n"
        "  buffer.return\n"
        "}\n"
    )


def test_shapes_that_hang_together_shrink_together() -> None:
    assert left(has("matrix.concat", "matrix.pad")) == (
        "buffer.func @a(%A: memref<float64>) -> () {\n"
        "  %a = matrix.pad(%A, 0) {hi=[0, 0], lo=[0, 0], mode=constant, s_in=[1, 1], s_out=[1, 1]} : "
        "memref<1x1xfloat64>\n"
        "  %0 = matrix.concat(%a, %A) {axis=0, s_out=[2, 1], shapes=[[1, 1], [1, 1]]} : memref<2x1xfloat64>\n"
        "  buffer.return\n"
        "}\n"
    )


def test_a_loop_makes_way_for_its_first_trip() -> None:
    (kind,) = [kind for kind in matrix.KINDS if kind.name == "regions"]
    root = sc.parse(MODULE)
    made = kind.apply(root, kind.edits(root))
    assert made is not None
    assert State(made).is_valid()
    text = sc.render(made)
    assert "affine.for" not in text
    assert "affine.min(0)" in text
    assert "buffer.return %5, prog.add(0, prog.sin(prog.mul(%4, %scale)))" in text


def test_names_of_loops_that_make_way_stay_apart() -> None:
    text = """\
buffer.func @f(%A: memref<4xfloat64>) -> () {
  %0 = buffer.alloc : memref<4xfloat64>
  affine.for %i = 0 to 4 step 1 {kind=serial} {
    %v = buffer.read %A[%i] : float64
    buffer.write %v, %0[%i] : float64
  }
  affine.for %i = 0 to 4 step 1 {kind=serial} {
    %v = buffer.read %A[%i] : float64
    buffer.write prog.neg(%v), %0[%i] : float64
  }
  buffer.return
}
"""
    (kind,) = [kind for kind in matrix.KINDS if kind.name == "regions"]
    root = sc.parse(text)
    for some in (kind.edits(root), kind.edits(root)[:1], kind.edits(root)[1:]):
        made = kind.apply(root, some)
        assert made is not None
        assert State(made).is_valid()
        assert sc.render(made).count("affine.for") == 2 - len(some)


@pytest.mark.parametrize("kind", matrix.KINDS, ids=[f"{at}-{each.name}" for at, each in enumerate(matrix.KINDS)])
def test_single_changes_are_valid_or_refused(kind: Kind) -> None:
    root = sc.parse(MODULE)
    for edit in kind.edits(root):
        made = kind.apply(root, [edit])
        if made is not None and State(made).is_valid():
            assert sc.parse(sc.render(made)) is made


def _long(count: int) -> str:
    lines = [f"  %{at + 1} = matrix.prod(%{at}, %A) : memref<2x2xfloat64>\n" for at in range(count)]
    return (
        "buffer.func @f(%A: memref<2x2xfloat64>) -> (%y: memref<2x2xfloat64>) {\n"
        f"  %0 = matrix.transpose(%A) : memref<2x2xfloat64>\n{''.join(lines)}  buffer.return %{count}\n}}\n"
    )


@pytest.mark.parametrize("kind", matrix.KINDS, ids=[f"{at}-{each.name}" for at, each in enumerate(matrix.KINDS)])
def test_what_there_is_to_change_is_listed_in_linear_time(kind: Kind) -> None:
    small, large = [sc.parse(_long(count)) for count in (100, 200)]

    def listed_and_made(root: Node) -> None:
        kind.apply(root, kind.edits(root))

    assert calls_of(lambda: listed_and_made(large)) < 2.5 * calls_of(lambda: listed_and_made(small)) + 2000


def test_deep_nests_are_no_trouble() -> None:
    loops = "".join([f"affine.for %i{at} = 0 to 2 step 1 {{kind=serial}} {{\n" for at in range(1500)])
    text = f"buffer.func @f() -> () {{\n{loops}{'}' * 1500}\nbuffer.return\n}}\n"
    root = sc.parse(text)
    for kind in matrix.KINDS:
        edits = kind.edits(root)
        if edits:
            kind.apply(root, edits)
