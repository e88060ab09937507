"""Products of vectors and matrices: the nest of each form, and every entry one chain from zero."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from scaly_ir.dialects.expr import build
from scaly_ir.dialects.expr.node import Expr
from scaly_ir.errors import LoweringError
from tests.passes.expr.lowering.lowered import body, check, lowered


def sym(name: str, shape: Any, dtype: str = "float64") -> Expr:
    return build.sym(name, shape, dtype=dtype)


def product(left: tuple[int, ...], right: tuple[int, ...], dtype: str = "float64") -> Expr:
    return build.matmul(sym("x", left, dtype), sym("y", right, dtype))


# --- form -------------------------------------------------------------------------------------------------------------


def test_vector_by_vector() -> None:
    assert body(product((3,), (3,))) == (
        "prog.store 0, %out[0] : float64\n"
        "prog.for %k_out = 0 to 3 step 1 {kind=reduce} {\n"
        "  prog.store prog.add(prog.load %out[0], prog.mul(prog.load %x[%k_out], prog.load %y[%k_out])), "
        "%out[0] : float64\n"
        "}\n"
    )


def test_matrix_by_vector_takes_four_rows_at_once() -> None:
    assert body(product((6, 3), (3,))) == (
        "prog.for %i_out = 0 to 6 step 1 {kind=global} {\n"
        "  prog.store 0, %out[%i_out] : float64\n"
        "}\n"
        "prog.for %ib_out = 0 to 1 step 1 {kind=global} {\n"
        "  prog.for %k_out = 0 to 3 step 1 {kind=reduce} {\n"
        "    prog.store prog.add(prog.load %out[prog.mul(%ib_out, 4)], prog.mul("
        "prog.load %x[prog.add(prog.mul(%ib_out, 12), %k_out)], prog.load %y[%k_out])), "
        "%out[prog.mul(%ib_out, 4)] : float64\n"
        "    prog.store prog.add(prog.load %out[prog.add(1, prog.mul(%ib_out, 4))], prog.mul("
        "prog.load %x[prog.add(3, prog.add(prog.mul(%ib_out, 12), %k_out))], prog.load %y[%k_out])), "
        "%out[prog.add(1, prog.mul(%ib_out, 4))] : float64\n"
        "    prog.store prog.add(prog.load %out[prog.add(2, prog.mul(%ib_out, 4))], prog.mul("
        "prog.load %x[prog.add(6, prog.add(prog.mul(%ib_out, 12), %k_out))], prog.load %y[%k_out])), "
        "%out[prog.add(2, prog.mul(%ib_out, 4))] : float64\n"
        "    prog.store prog.add(prog.load %out[prog.add(3, prog.mul(%ib_out, 4))], prog.mul("
        "prog.load %x[prog.add(9, prog.add(prog.mul(%ib_out, 12), %k_out))], prog.load %y[%k_out])), "
        "%out[prog.add(3, prog.mul(%ib_out, 4))] : float64\n"
        "  }\n"
        "}\n"
        "prog.for %it_out = 4 to 6 step 1 {kind=global} {\n"
        "  prog.for %k_out = 0 to 3 step 1 {kind=reduce} {\n"
        "    prog.store prog.add(prog.load %out[%it_out], prog.mul(prog.load %x[prog.add(prog.mul(%it_out, 3), "
        "%k_out)], prog.load %y[%k_out])), %out[%it_out] : float64\n"
        "  }\n"
        "}\n"
    )


@pytest.mark.parametrize(("rows", "blocks", "rest"), [(3, False, True), (4, True, False), (8, True, False)])
def test_matrix_by_vector_has_no_loop_without_rows(rows: int, blocks: bool, rest: bool) -> None:
    text = body(product((rows, 2), (2,)))
    assert ("%ib_out" in text, "%it_out" in text) == (blocks, rest)


def test_vector_by_matrix_adds_rows() -> None:
    assert body(product((6,), (6, 3))) == (
        "prog.for %j_out = 0 to 3 step 1 {kind=global} {\n"
        "  prog.store 0, %out[%j_out] : float64\n"
        "}\n"
        "prog.for %k_out = 0 to 6 step 1 {kind=reduce} {\n"
        "  prog.for %j_out = 0 to 3 step 1 {kind=global} {\n"
        "    prog.store prog.add(prog.load %out[%j_out], prog.mul(prog.load %x[%k_out], "
        "prog.load %y[prog.add(prog.mul(%k_out, 3), %j_out)])), %out[%j_out] : float64\n"
        "  }\n"
        "}\n"
    )


def test_matrix_by_matrix_has_the_inner_index_outermost() -> None:
    assert body(product((6, 3), (3, 2))) == (
        "prog.for %i_out = 0 to 6 step 1 {kind=global} {\n"
        "  prog.for %j_out = 0 to 2 step 1 {kind=global} {\n"
        "    prog.store 0, %out[prog.add(prog.mul(%i_out, 2), %j_out)] : float64\n"
        "  }\n"
        "}\n"
        "prog.for %k_out = 0 to 3 step 1 {kind=reduce} {\n"
        "  prog.for %i_out = 0 to 6 step 1 {kind=global} {\n"
        "    prog.for %j_out = 0 to 2 step 1 {kind=global} {\n"
        "      prog.store prog.add(prog.load %out[prog.add(prog.mul(%i_out, 2), %j_out)], "
        "prog.mul(prog.load %x[prog.add(prog.mul(%i_out, 3), %k_out)], "
        "prog.load %y[prog.add(prog.mul(%k_out, 2), %j_out)])), %out[prog.add(prog.mul(%i_out, 2), %j_out)] : float64\n"
        "    }\n"
        "  }\n"
        "}\n"
    )


@pytest.mark.parametrize(
    ("left", "right"), [((2, 3, 4), (4,)), ((4,), (2, 4, 3)), ((2, 3, 4), (4, 2)), ((3, 4), (5, 4, 2))]
)
def test_batches_are_refused(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    node = product(left, right)
    with pytest.raises(LoweringError, match="an operand of 3 axes; at most 2 are") as raised:
        lowered(node)
    assert raised.value.blamed[0] is node


# --- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [0, 1, 3, 4, 5, 8, 11])
@pytest.mark.parametrize("inner", [0, 1, 2, 5])
@pytest.mark.parametrize("columns", [0, 1, 3])
def test_shapes(rows: int, inner: int, columns: int) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(rows, inner)), rng.normal(size=(inner, columns))
    check(product(x.shape, y.shape), values={"x": x, "y": y})
    check(product(x.shape, (inner,)), values={"x": x, "y": rng.normal(size=inner)})
    check(product((inner,), y.shape), values={"x": rng.normal(size=inner), "y": y})
    check(product((inner,), (inner,)), values={"x": rng.normal(size=inner), "y": rng.normal(size=inner)})


FORMS = [((4,), (4,)), ((5, 4), (4,)), ((4,), (4, 2)), ((2, 4), (4, 3))]


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_terms_are_added_in_rising_order(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    terms = np.array([1e16, 1.0, -1e16, 1.0])
    x = np.broadcast_to(terms, left)
    check(product(left, right), values={"x": x, "y": np.ones(right)})


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_sums_start_from_zero(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(product(left, right), values={"x": np.full(left, -0.0), "y": np.ones(right)})


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_nothing_is_skipped_beside_zeros(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    check(product(left, right), values={"x": np.zeros(left), "y": np.full(right, np.inf)})


@pytest.mark.parametrize(("left", "right"), FORMS)
@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_integers_wrap(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    limits = np.iinfo(dtype)
    x, y = np.full(left, limits.max, dtype), np.full(right, limits.min, dtype)
    check(product(left, right, dtype), values={"x": x, "y": y})


@pytest.mark.parametrize(("left", "right"), FORMS)
def test_float32_rounds_at_each_step(left: tuple[int, ...], right: tuple[int, ...]) -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=left).astype(np.float32), rng.normal(size=right).astype(np.float32)
    check(product(left, right, "float32"), values={"x": x, "y": y})


def test_product_of_one_operand_with_itself() -> None:
    x = sym("x", (3, 3))
    check(build.matmul(x, x), build.matmul(build.matmul(x, x), x), values={"x": np.arange(9.0).reshape(3, 3)})


def test_product_in_another_shape_is_written_in_place() -> None:
    assert "prog.buffer" not in body(product((2, 3), (3, 2)).vec())
