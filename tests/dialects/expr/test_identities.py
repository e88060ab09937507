"""Every identity of the tables of simplification, and what none of them applies to.

Rows are written as Python: what is simplified, and the very graph that has to come out.
"""

from __future__ import annotations

import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.build import make
from tests.dialects.expr.written import GRAPHS, full, kept, lines, rows, written

# --- identities -------------------------------------------------------------------------------------------------------


@rows("""
    x + x -> 2 * x
    s + s -> 2 * s
    n + n -> 2 * n
    f + f -> 2 * f
    x + 0 -> x
    0 + x -> x
    x + -0.0 -> x
    x + full(0.0, 3) -> x
    n + 0 -> n
    0 + h -> h
    A + full(0.0, 3) -> A
    x + -y -> x - y
    -y + x -> x - y
    n + -k -> n - k
    A + -x -> A - x
    -x + A -> A - x
    x - x -> full(0.0, 3)
    n - n -> full(0, 3, "int64")
    s - s -> sc.const(0.0)
    x - 0 -> x
    n - 0 -> n
    0 - x -> -x
    0 - n -> -n
    x - -y -> x + y
    n - -k -> n + k
    -(-x) -> x
    -(-n) -> n
    -(-(-(-x))) -> x
""")
def test_sums(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@rows("""
    x * 0 -> full(0.0, 3)
    0 * x -> full(0.0, 3)
    A * full(0.0, 3) -> full(0.0, (4, 3))
    x * full(0.0, (4, 3)) -> full(0.0, (4, 3))
    n * 0 -> full(0, 3, "int64")
    x * 1 -> x
    1 * x -> x
    n * 1 -> n
    A * full(1.0, 3) -> A
    x * -1 -> -x
    -1 * x -> -x
    n * -1 -> -n
    (-x) * (-y) -> x * y
    (-n) * (-k) -> n * k
    (-x) * y -> -(x * y)
    x * (-y) -> -(x * y)
    (-n) * k -> -(n * k)
    (-x) * A -> -(x * A)
    x ** 0 -> full(1.0, 3)
    1 ** x -> full(1.0, 3)
    x ** full(0.0, (4, 3)) -> full(1.0, (4, 3))
    f ** 0 -> full(1, 3, "float32")
    x ** 1 -> x
    x ** 2 -> x * x
    A ** full(2.0, 3) -> A * A
""")
def test_products(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@rows("""
    x / x -> full(1.0, 3)
    f / f -> full(1, 3, "float32")
    0 / x -> full(0.0, 3)
    full(0.0, (4, 3)) / x -> full(0.0, (4, 3))
    x / 1 -> x
    A / full(1.0, 3) -> A
    (-x) / y -> -(x / y)
    x / (-y) -> -(x / y)
    (-x) / (-y) -> x / y
    (-x) / A -> -(x / A)
    n // 1 -> n
    0 // n -> full(0, 3, "int64")
    n % 1 -> full(0, 3, "int64")
    0 % n -> full(0, 3, "int64")
    n % n -> full(0, 3, "int64")
    h % h -> full(0, 3, "int32")
""")
def test_quotients(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@rows("""
    ~(~b) -> b
    sc.where(sc.const(np.True_), x, y) -> x
    sc.where(sc.const(np.False_), x, y) -> y
    sc.where(full(True, 3, "bool_"), n, k) -> n
    sc.where(full(False, (4, 3), "bool_"), A, x) -> sc.where(full(False, (4, 3), "bool_"), A, x)
    sc.where(full(False, 3, "bool_"), x, A) -> A
    sc.where(b, x, x) -> x
    sc.where(b, c, c) -> c
    sc.where(b, full(0.0, 3), full(0.0, 3)) -> full(0.0, 3)
    sc.where(b, sc.const(0.0), sc.const(-0.0)) -> full(0.0, 3)
    sc.where(b, full(0.0, (4, 1)), sc.const(0.0)) -> full(0.0, (4, 3))
    sc.where(b, full(0, 3, "int64"), full(0, (), "int64")) -> full(0, 3, "int64")
    sc.where(b, full(False, 3, "bool_"), sc.const(np.False_)) -> full(False, 3, "bool_")
""")
def test_choices(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


def test_a_cast_to_the_same_dtype_is_its_operand() -> None:
    x = GRAPHS["x"]
    assert sc.simplify(make(ops.CAST, [x], stated=x.type)) is x
    assert sc.simplify(sc.cast(sc.cast(x, "float32"), "float64")).op is ops.CAST  # rounded in between


@rows("""
    x.reshape(3) -> x
    x.reshape(3).reshape(3) -> x
    x.reshape(x.shape)[:] -> x
    A.reshape(12).reshape(2, 6) -> A.reshape(2, 6)
    A.reshape(12).reshape(4, 3) -> A
    A.transpose(0, 1) -> A
    s.transpose() -> s
    A.T.T -> A
    T.transpose(2, 0, 1).transpose(2, 0, 1) -> T.transpose(1, 2, 0)
    T.transpose(1, 2, 0).transpose(2, 0, 1) -> T
    A[:] -> A
    A[:, :] -> A
    A[0:4, -3:] -> A
    A[-9:9, ::1] -> A
    w[1:][1:] -> w[2:5]
    w[1:4][1:] -> w[2:4]
    w[:-1][:-1] -> w[0:3]
    w[1:4][-1] -> w[3]
    w[1:][-4] -> w[1]
    w[1:4][2:1] -> w[3:3]
    w[3:][5:] -> w[5:5]
    A[1][1:] -> A[1, 1:3]
    A[1:, 1:][1:, 1] -> A[2:4, 2]
    A[:, -1][2:] -> A[2:4, -1]
    T[:, 1:][0, :, 2:] -> T[0, 1:3, 2:4]
    make(ops.REDUCE, [A], {"axes": [], "kind": "add"}) -> A
    make(ops.REDUCE, [A], {"axes": [], "kind": "max"}) -> A
""")
def test_views(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@rows("""
    sc.stack([x, y])[:, 1:] -> sc.stack([x[1:], y[1:]])
    sc.stack([x, y])[:, 1] -> sc.stack([x[1], y[1]])
    sc.stack([x, y])[1] -> y
    sc.stack([x, y])[-2] -> x
    sc.stack([x, y])[1, 1:] -> y[1:]
    sc.stack([x, y], axis=1)[:, 0] -> x
    sc.stack([x, y], axis=1)[1:, 1] -> y[1:]
    sc.stack([x, y], axis=1)[1] -> sc.stack([x[1], y[1]], axis=0)
    sc.stack([A, B], axis=1)[1:, :, 2] -> sc.stack([A[1:, 2], B[1:, 2]], axis=1)
    sc.stack([A, B], axis=2)[0, 1:] -> sc.stack([A[0, 1:], B[0, 1:]], axis=1)
    sc.stack([A, B], axis=2)[0, 1] -> sc.stack([A[0, 1], B[0, 1]], axis=0)
    sc.stack([x, y])[0:2, :2] -> sc.stack([x[:2], y[:2]])
""")
def test_slices_of_stacks(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@rows("""
    sc.gather(A, list(range(12))) -> A.vec()
    sc.gather(x, [0, 1, 2]) -> x
    sc.gather(x, [[0, 1, 2]]) -> x.reshape(1, 3)
    sc.gather(x, [0, 1, 2], mode="fill", fill=7.0) -> x
    sc.gather(s, 0) -> s
    sc.gather(full(0.0, 5), idx) -> full(0.0, 2)
    sc.gather(full(0.0, (4, 3)), idx, axis=1) -> full(0.0, (4, 2))
    sc.gather(full(0.0, 5), idx, mode="promise_in_bounds") -> full(0.0, 2)
    sc.gather(full(0, 5, "int32"), idx, fill=0) -> full(0, 2, "int32")
    sc.gather(full(False, 5, "bool_"), idx, fill=False) -> full(False, 2, "bool_")
    sc.index_add(w, idx, full(0.0, 2)) -> w
    sc.index_add(A, idx, full(0.0, (4, 2)), axis=1) -> A
    full(0.0, (4, 3)) @ C -> full(0.0, (4, 4))
    C @ full(0.0, 4) -> full(0.0, 3)
    T @ full(0.0, (4, 4)) -> full(0.0, (2, 3, 4))
""")
def test_positions_and_zeros(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "bool_"])
def test_zeros_above_what_is_evaluated(dtype: str) -> None:
    zeros, n = full(0, 3000, dtype), 3000
    assert sc.simplify(sc.stack([zeros, zeros])) is full(0, (2, n), dtype)
    assert sc.simplify(sc.concat([zeros, zeros, full(0, 1, dtype)])) is full(0, 2 * n + 1, dtype)
    assert sc.simplify(zeros.max()) is full(0, (), dtype)
    if dtype != "bool_":
        assert sc.simplify(full(0, (4, n), dtype).sum(0)) is full(0, n, dtype)


@rows("""
    A.T @ sc.sym("v", 4) -> sc.sym("v", 4) @ A
    x @ A.T -> A @ x
    sc.sym("v", 4) @ C.T.T.T -> C @ sc.sym("v", 4)
    x @ full(1.0, 3) -> x.sum()
    full(1.0, 3) @ x -> x.sum()
    n @ full(1, 3, "int64") -> n.sum()
    A @ full(1.0, 3) -> A.sum(1)
    full(1.0, 4) @ A -> A.sum(0)
    A.T @ full(1.0, 4) -> A.sum(0)
""")
def test_products_of_matrices(before: str, after: str) -> None:
    assert sc.simplify(written(before)) is written(after)


def test_rewrites_go_into_what_they_make() -> None:
    x, y = GRAPHS["x"], GRAPHS["y"]
    assert sc.simplify((x + 0) * 1 - (-y) * -1) is x - y
    assert sc.simplify(sc.stack([x * 0, y - y]).sum()) is sc.const(0.0)
    assert sc.simplify(x.reshape(1, 3)[:, 0:].reshape(3) ** 2) is x * x
    assert sc.simplify((x + y - y * 1) + 0) is x + y - y  # nothing is reassociated


def test_a_shared_operand_is_rewritten_once_for_all() -> None:
    x = GRAPHS["x"]
    shared = x.sin() + 0
    before = sc.stack([shared * 2, shared.exp()])
    assert sc.simplify([before, shared]) == [sc.stack([x.sin() * 2, x.sin().exp()]), x.sin()]


# --- what must not happen ---------------------------------------------------------------------------------------------


@lines("""
    n // n
    n // 2
    n % 2
    sc.const(1.0) / 0.0
    sc.const(0.0) / sc.const(0.0)
    sc.const(0.0) / 0.0 + x
    full(1.0, (4, 3)) * x
    x * full(1.0, (4, 3))
    full(0.0, (4, 3)) + x
    x - full(0.0, (4, 3))
    full(0.0, (4, 3)) - x
    x / full(1.0, (4, 3))
    x ** full(1.0, (4, 3))
    x ** full(2.0, (4, 3))
    full(-1.0, (4, 3)) * x
    x ** 3
    x ** 0.5
    (x + y) - y
    (x + 1.0) + 2.0
    2.0 * (3.0 * x)
    x * y + x * s
    x / 2.0
    x / y / x
    x + sc.const([0.0, 0.0, 1.0])
    x * sc.const([1.0, 1.0, -1.0])
    sc.minimum(x, x)
    sc.maximum(x, y)
    sc.where(full(True, (4, 3), "bool_"), x, y)
    sc.where(b, x, full(0.0, (4, 3)))
    sc.where(b, sc.const([1.0, 0.0, 0.0]), sc.const(0.0))
    sc.gather(full(0.0, 5), idx, fill=1.0)
    sc.gather(full(0.0, 5), idx, fill=NAN)
    sc.gather(full(False, 5, "bool_"), idx, fill=True)
    sc.gather(x, [0, 2, 1])
    sc.gather(x, [0, 1])
    sc.gather(x, [0, 1, 2], axis=0)
    sc.gather(w, idx)
    sc.index_set(w, idx, full(0.0, 2))
    sc.index_add(full(0.0, 5), idx, sc.sym("v", 2))
    w[::2][1:]
    w[1:][::2]
    w[::-1][1:]
    w[::-1][1]
    w[::2][1]
    w[::-1]
    A.reshape(3, 4)
    C.T
    sc.stack([x, y])[0:1]
    sc.stack([x, y])[::-1]
    sc.concat([x, y])[:3]
    A.T @ C.T
    U @ full(1.0, 4)
    U.transpose(0, 2, 1) @ sc.sym("v", 4)
    T.transpose(2, 1, 0)[0] @ sc.sym("u", 2)
    A @ sc.const([1.0, 1.0, 2.0])
    sc.cast(sc.cast(n, "float64"), "int64")
    sc.cast(x, "float32")
    ~b
    b & b
    (x < y) | (x < y)
    sc.isfinite(x)
    sc.sym("e", 0).sum()
""")
def test_what_stays(text: str) -> None:
    kept(written(text))
