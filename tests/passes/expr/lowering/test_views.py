"""What moves entries: which slices are aliases, where entries come from, and windows of a joined array."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.dialects.expr import build
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.errors import LoweringError
from tests.passes.expr.lowering.lowered import body, check, lowered


def sym(name: str, shape: Any, dtype: str = "float64") -> Expr:
    return build.sym(name, shape, dtype=dtype)


def neg(x: Expr) -> Expr:
    return build.unary("neg", x)


# --- slices -----------------------------------------------------------------------------------------------------------

M = sym("M", (4, 5))
T = sym("T", (2, 3, 4))
COLUMN = sym("C", (4, 1))
ROW = sym("R", (1, 4))


def test_row_is_an_alias() -> None:
    assert body(build.unary("exp", M[2])) == (
        "%t0 = prog.buffer : memref<5xfloat64, private> = prog.alias %M offset 10\n"
        "prog.for %i_out = 0 to 5 step 1 {kind=global} {\n"
        "  prog.store prog.exp(prog.load %t0[%i_out]), %out[%i_out] : float64\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("part", "alias"),
    [
        (M[1:3], "memref<2x5xfloat64, private> = prog.alias %M offset 5"),
        (M[:3], "memref<3x5xfloat64, private> = prog.alias %M offset 0"),
        (M[-1], "memref<5xfloat64, private> = prog.alias %M offset 15"),
        (M[2, 3], "memref<1xfloat64, private> = prog.alias %M offset 13"),
        (M[2, 1:4], "memref<3xfloat64, private> = prog.alias %M offset 11"),
        (T[1, 1:], "memref<2x4xfloat64, private> = prog.alias %T offset 16"),
        (T[0, 2, -3:], "memref<3xfloat64, private> = prog.alias %T offset 9"),
        (COLUMN[1:3, 0], "memref<2xfloat64, private> = prog.alias %C offset 1"),
        (COLUMN[:, 0], "memref<4xfloat64, private> = prog.alias %C offset 0"),
        (COLUMN[1:3, :1], "memref<2x1xfloat64, private> = prog.alias %C offset 1"),
        (M[1:99], "memref<3x5xfloat64, private> = prog.alias %M offset 5"),
    ],
)
def test_contiguous_part_is_an_alias(part: Expr, alias: str) -> None:
    assert alias in body(neg(part))
    values = {name: np.arange(24.0)[:size].reshape(shape) for name, size, shape in SOURCES}
    (name,) = [node for node in values if f"%{node} offset" in alias]
    check(neg(part), values={name: values[name]})


SOURCES = [("M", 20, (4, 5)), ("T", 24, (2, 3, 4)), ("C", 4, (4, 1)), ("R", 4, (1, 4))]


@pytest.mark.parametrize(
    ("part", "index"),
    [
        (M[:, 1:3], "%M[prog.add(prog.add(1, prog.mul(prog.div(%i_t0, 2), 5)), prog.mod(%i_t0, 2))]"),
        (M[:, 2], "%M[prog.add(2, prog.mul(%i_t0, 5))]"),
        (M[::2], "%M[prog.add(prog.mul(prog.div(%i_t0, 5), 10), prog.mod(%i_t0, 5))]"),
        (M[0, ::-1], "%M[prog.sub(4, %i_t0)]"),
        (T[:, 0], "%T[prog.add(prog.mul(prog.div(%i_t0, 4), 12), prog.mod(%i_t0, 4))]"),
        (T[1:, 1:2], "%T[prog.add(16, %i_t0)]"),
        (ROW[:, 1:3], "%R[prog.add(1, %i_t0)]"),
    ],
)
def test_other_part_is_copied(part: Expr, index: str) -> None:
    assert f"prog.store prog.load {index}, %t0[%i_t0]" in body(neg(part))


def test_slice_that_is_an_output_is_copied_there() -> None:
    assert body(sym("x", 8)[2:5]) == (
        "prog.for %i_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.add(2, %i_out)], %out[%i_out] : float64\n"
        "}\n"
    )


def test_alias_of_an_alias() -> None:
    text = body(neg(M[1:3].vec()[2:6]))
    assert "%t1 = prog.buffer : memref<4xfloat64, private> = prog.alias %t0 offset 2\n" in text


def test_alias_of_what_is_written_to_an_output() -> None:
    x = sym("x", 6)
    y = neg(x)
    check(y, neg(y[2:4]), y[1:], values={"x": np.arange(6.0)})


def test_alias_of_a_table() -> None:
    table = np.arange(6.0)
    check(sym("x", 2) + build.stack([build.const(table)[2], sym("y", 6)[3]]), values={"x": np.ones(2), "y": table})


@pytest.mark.parametrize("index", [slice(3, 3), slice(5, None), slice(2, 0), slice(0, 0, -1)])
def test_nothing_selected(index: slice) -> None:
    check(neg(M[index]), M[:, index], values={"M": np.ones((4, 5))})


# --- reshapes and transposes ------------------------------------------------------------------------------------------


def test_reshape_shares_the_buffer() -> None:
    assert body(neg(build.reshape(M, (2, 10)))) == (
        "prog.for %i_out = 0 to 20 step 1 {kind=global} {\n"
        "  prog.store prog.neg(prog.load %M[%i_out]), %out[%i_out] : float64\n"
        "}\n"
    )


def test_reshape_of_an_output_is_written_in_place() -> None:
    assert body(build.reshape(neg(M), (10, 2))).startswith("prog.for %i_out = 0 to 20")


def test_reshape_of_an_input_is_copied() -> None:
    assert body(M.vec()) == (
        "prog.for %c_out = 0 to 20 step 1 {kind=global} {\n"
        "  prog.store prog.load %M[%c_out], %out[%c_out] : float64\n"
        "}\n"
    )


def test_transpose_is_one_flat_loop() -> None:
    assert body(build.transpose(M)) == (
        "prog.for %d_out = 0 to 20 step 1 {kind=global} {\n"
        "  prog.store prog.load %M[prog.add(prog.div(%d_out, 4), prog.mul(prog.mod(%d_out, 4), 5))], "
        "%out[%d_out] : float64\n"
        "}\n"
    )


def test_axes_that_stay_together_have_one_coordinate() -> None:
    text = body(build.transpose(T, (2, 0, 1)))
    assert "%T[prog.add(prog.div(%d_out, 6), prog.mul(prog.mod(%d_out, 6), 4))]" in text


def test_transpose_of_four_axes() -> None:
    x = np.arange(24.0).reshape(2, 3, 1, 4)
    for axes in ((3, 2, 1, 0), (1, 0, 3, 2), (0, 3, 1, 2)):
        check(build.transpose(sym("x", x.shape), axes), values={"x": x})


def test_transpose_of_five_axes_is_refused() -> None:
    node = build.transpose(sym("x", (2, 2, 2, 2, 2)))
    with pytest.raises(LoweringError, match=r"@f: 'expr.transpose' .*a transpose of 5 axes; at most 4 are") as raised:
        lowered(node)
    assert raised.value.blamed[0] is node


# --- stacks and concatenations ----------------------------------------------------------------------------------------


def test_parts_are_copied_to_their_windows() -> None:
    assert body(build.concat([sym("x", 4), sym("y", 3)])) == (
        "prog.for %j_out_0 = 0 to 4 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[%j_out_0], %out[%j_out_0] : float64\n"
        "}\n"
        "prog.for %j_out_1 = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store prog.load %y[%j_out_1], %out[prog.add(4, %j_out_1)] : float64\n"
        "}\n"
    )


def test_stack_along_the_last_axis_is_spread() -> None:
    text = body(build.stack([sym("x", 3), sym("y", 3)], axis=1))
    assert "prog.load %x[%j_out_0], %out[prog.mul(%j_out_0, 2)]" in text
    assert "prog.load %y[%j_out_1], %out[prog.add(1, prog.mul(%j_out_1, 2))]" in text


def test_repeated_operand_is_one_loop() -> None:
    x = sym("x", 3)
    assert body(build.concat([x, x, x])) == (
        "prog.for %j_out = 0 to 9 step 1 {kind=global} {\n"
        "  prog.store prog.load %x[prog.mod(%j_out, 3)], %out[%j_out] : float64\n"
        "}\n"
    )
    assert "prog.load %s[0], %out[%j_out]" in body(build.stack([sym("s", ())] * 3))


@pytest.mark.parametrize("axis", [0, 1, 2])
@pytest.mark.parametrize("extents", [[1, 2], [0, 3], [2, 0, 1], [0, 0], [2]])
def test_concatenation_along_each_axis(axis: int, extents: list[int]) -> None:
    parts, values = [], {}
    for number, extent in enumerate(extents):
        shape = [2, 3, 2]
        shape[axis] = extent
        parts.append(sym(f"x{number}", shape))
        values[f"x{number}"] = np.random.default_rng(number).normal(size=shape)
    check(build.concat(parts, axis=axis), values=values)


@pytest.mark.parametrize("shape", [(), (1,), (3,), (2, 2), (0, 2)])
def test_stack_along_each_axis(shape: tuple[int, ...]) -> None:
    x, y = sym("x", shape), sym("y", shape)
    values = {"x": np.full(shape, 2.0), "y": np.full(shape, 3.0)}
    for axis in range(len(shape) + 1):
        check(build.stack([x, y], axis=axis), build.stack([x, y, x], axis=axis), values=values)
        check(build.stack([x, x], axis=axis), values={"x": values["x"]})


@pytest.mark.parametrize("taken", ["j_out_0", "j_out_1", "j_out", "i_out", "t0", "k0"])
def test_names_that_are_taken(taken: str) -> None:
    x, y = sym(taken, 3), sym("y", 3)
    check(build.concat([x, y]), values={taken: np.arange(3.0), "y": np.ones(3)})
    check(build.concat([neg(x), neg(x)]), values={taken: np.arange(3.0)})


# --- everything -------------------------------------------------------------------------------------------------------


@given(data=st.data(), shape=st.lists(st.integers(0, 4), min_size=1, max_size=3))
def test_slices_of_slices(data: st.DataObject, shape: list[int]) -> None:
    x = sym("x", shape)
    made: list[Expr] = [x]
    for _ in range(3):
        source = data.draw(st.sampled_from(made))
        items: list[Any] = []
        for extent in source.shape:
            if extent and data.draw(st.booleans()):
                items.append(data.draw(st.integers(-extent, extent - 1)))
            else:
                bounds = st.none() | st.integers(-5, 5)
                step = data.draw(st.sampled_from([None, 1, 1, 2, -1]))
                items.append(slice(data.draw(bounds), data.draw(bounds), step))
        made.append(source[tuple(items)])
    values = {"x": np.arange(float(np.prod(shape))).reshape(shape)}
    check(*[neg(node) for node in made], values=values)
    check(*made, values=values)
