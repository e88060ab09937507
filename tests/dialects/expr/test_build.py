"""Builders and operators (expression specification 1.4, 2, 3.1, 3.2 and checks 8 to 14 and 19)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc
from scaly_ir.dialects.expr import build

X = sc.sym("x", 3)
Y = sc.sym("y", (2, 3))
N = sc.sym("n", 3, dtype="int64", diff=False)
B = sc.sym("b", 3, dtype="bool")
S = sc.sym("s")


def test_identity() -> None:
    assert (X + 1.0) is (X + 1.0)
    assert sc.sym("x", (3,)) is X
    assert sc.sym("x", 3, diff=False) is not X
    equal: Any = X == X
    assert equal is True
    assert X != N
    assert len({X, N, X}) == 2
    with pytest.raises(TypeError, match=r"sc\.where"):
        bool(X < 1.0)
    with pytest.raises(TypeError, match=r"sc\.where"):
        1.0 < X < 2.0  # noqa: B015


def test_fields() -> None:
    assert (X.name, X.value, X.lowering, X.shape, X.size, X.ndim, X.dtype, X.diff) == (
        *("x", None, "auto", (3,), 3, 1, "float64", True),
    )
    made = X * 2.0
    assert made.op == sc.ExprOp.MUL == "mul"
    assert (made.name, made.args[0]) == (None, X)
    assert sc.const(2.0).value == 2.0
    bare = sc.Expr(sc.ExprOp.RESHAPE, (X,), sc.TensorType((4,)), attrs={"shape": (4,)})
    assert bare.attrs["shape"] == (4,)
    assert sc.Expr(sc.ExprOp.INPUT, type=sc.TensorType(3), name="x") is X
    assert sc.Expr("const", type=sc.TensorType(2, diff=False), value=np.ones(2)) is sc.const(np.ones(2))


@pytest.mark.parametrize(
    ("name", "make"),
    {
        "add": lambda: X + X,
        "sub": lambda: 1.0 - X,
        "mul": lambda: X * X,
        "div": lambda: X / 2.0,
        "pow": lambda: X**2.5,
        "matmul": lambda: X @ X,
        "floordiv": lambda: N // 2,
        "mod": lambda: 7 % N,
        "neg": lambda: -X,
        "abs": lambda: abs(X),
        "lt": lambda: X < 1.0,
        "le": lambda: X <= 1.0,
        "and": lambda: B & B,
        "or": lambda: True | B,
        "not": lambda: ~B,
        "eq": lambda: sc.equal(X, 1.0),
        "ne": lambda: sc.not_equal(X, 1.0),
        "isfinite": lambda: sc.isfinite(X),
        "minimum": lambda: X.minimum(0.0),
        "maximum": lambda: sc.maximum(0.0, X),
        "atan2": lambda: sc.atan2(X, 1.0),
        "select": lambda: sc.where(B, X, 0.0),
        "cast": lambda: N.cast("float32"),
        "slice": lambda: X[1:],
        "reshape": lambda: Y.vec(),
        "transpose": lambda: Y.T,
        "reduce": lambda: X.sum(),
        "gather": lambda: X.gather([0, 2]),
        "scatter": lambda: sc.index_add(X, [0], [1.0]),
        "stack": lambda: sc.stack([X, X]),
        "concat": lambda: sc.concat([X, [1.0]]),
        **{
            name: partial(build.unary, name, X)
            for name in "sin cos tan asin acos atan sinh cosh tanh erf exp log sqrt floor ceil".split()
        },
    }.items(),
)
def test_operators_make_the_operation_of_their_name(name: str, make: Any) -> None:
    assert make().op == sc.ExprOp(name)


def test_comparisons_turned_around() -> None:
    for made in (sc.greater(X, S), X > S):
        assert made.op == sc.ExprOp.LT
        assert made.args == (S, X)
    for made in (sc.greater_equal(X, S), X >= S):
        assert made.op == sc.ExprOp.LE
        assert made.args == (S, X)
    assert +X is X


@pytest.mark.parametrize(
    ("make", "diff"),
    [
        (lambda: X.floor(), True),
        (lambda: X * X.floor(), True),
        (lambda: X.minimum(0.0), True),
        (lambda: X < 0.0, False),
        (lambda: sc.const(2.0), False),
        (lambda: sc.cast(X, "int64"), False),
        (lambda: sc.cast(X, "float32"), True),
        (lambda: sc.cast(sc.sym("k", 3, dtype="int64"), "float64"), False),
        (lambda: sc.where(X < 0.0, 1.0, 2.0), False),
        (lambda: sc.where(X < 0.0, X, 2.0), True),
        (lambda: sc.const([1.0, 2.0]).gather(sc.sym("i", 1, dtype="int64")), False),
        (lambda: sc.index_add([0.0, 0.0], [1], X[:1]), True),
        (lambda: N // 2, False),
        (lambda: sc.sym("m", 3, dtype="int64") + N, True),
        (lambda: X.sum(), True),
    ],
)
def test_the_diff_flag(make: Any, diff: bool) -> None:
    assert make().type.diff is diff


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: N / N, TypeError, "'div' needs a floating operand, got int64; convert it with sc.cast"),
        (lambda: X // X, TypeError, "'floordiv' needs an integer operand, got float64; convert it with sc.cast"),
        (lambda: B + B, TypeError, "'add' needs an integer or floating operand, got bool; convert it with sc.cast"),
        (lambda: -B, TypeError, "convert it with sc.cast"),
        (lambda: ~X, TypeError, "'not' needs a bool operand, got float64"),
        (lambda: N.sin(), TypeError, "'sin' needs a floating operand, got int64"),
        (lambda: X + Y.T, ValueError, "cannot broadcast shapes (3,) and (3, 2)"),
        (lambda: sc.where(True, X, X), TypeError, "sc.equal"),
        (lambda: sc.where(X, X, X), TypeError, "the condition of 'select' is float64, not bool"),
        (lambda: sc.where(B, X, N), TypeError, "mixed dtypes float64 and int64"),
        (lambda: X.reshape(4), ValueError, "cannot reshape 3 entries of shape (3,) to (4,), which has 4"),
        (lambda: X.reshape(-1, -1), ValueError, "only one extent can be -1"),
        (lambda: X.reshape(-1, 2), ValueError, "cannot reshape 3 entries"),
        (lambda: sc.sym("e", 0).reshape(-1, 0), ValueError, "cannot reshape 0 entries"),
        (lambda: X.sum(1), ValueError, "axis 1 is out of range for 1 axes"),
        (lambda: Y.sum((0, -2)), ValueError, "names an axis twice"),
        (lambda: B.sum(), TypeError, "a sum of bools is not defined"),
        (lambda: sc.sym("e", 0).max(), ValueError, "has no entries"),
        (lambda: sc.sym("e", (0, 3)).max(0), ValueError, "has no entries"),
        (lambda: Y.transpose(0, 0), ValueError, "are not a permutation of 2 axes"),
        (lambda: X[3], IndexError, "index 3 is out of range for axis 0 with 3 entries"),
        (lambda: X[0, 0], IndexError, "too many indices: 2 for shape (3,)"),
        (lambda: X[::0], ValueError, "the step of a slice cannot be 0"),
        (lambda: X[True], TypeError, "sc.gather"),
        (lambda: X[None], TypeError, "sc.gather"),
        (lambda: X[[0, 1]], TypeError, "sc.gather"),
        (lambda: X[N], TypeError, "sc.gather"),
        (lambda: X[1.5], TypeError, "sc.gather"),
        (lambda: X[..., ...], IndexError, "only one ellipsis"),
        (lambda: sc.gather([10, 20], [0, -1]), IndexError, "index -1 is outside [0, 2)"),
        (lambda: X.gather(X), TypeError, "an index is int64, got float64; convert it with sc.cast"),
        (lambda: X.gather([0.5]), TypeError, "an index is made of integers"),
        (lambda: X.gather([0], mode="wrap"), ValueError, "unknown mode 'wrap'"),
        (lambda: X.gather([0], axis=1), ValueError, "axis 1 is out of range for 1 axes"),
        (lambda: sc.index_add(X, [0, 1], [1.0]), ValueError, "do not fit the index, which needs (2,)"),
        (lambda: sc.stack([]), ValueError, "'stack' needs at least one array"),
        (lambda: sc.concat([]), ValueError, "'concat' needs at least one array"),
        (lambda: sc.stack([X, Y]), ValueError, "(3,) and (2, 3)"),
        (lambda: sc.concat([X, S]), ValueError, "use sc.stack"),
        (lambda: sc.concat([X, N]), TypeError, "mixed dtypes float64 and int64"),
        (lambda: sc.concat([X, X], axis=1), ValueError, "axis 1 is out of range"),
        (lambda: S @ X, ValueError, "needs arrays of one axis or more, got shapes () and (3,)"),
        (lambda: X @ Y, ValueError, "cannot contract 3 with 2 entries: shapes (3,) and (2, 3)"),
        (lambda: B @ B, TypeError, "a matrix product of bools is not defined"),
        (lambda: N**-1, TypeError, "constant power of at least 0"),
        (lambda: N**N, TypeError, "constant power of at least 0"),
        (lambda: sc.sym(""), ValueError, "an input needs a name"),
        (lambda: sc.dot(X, Y), ValueError, "dot of 3 and 6 entries"),
        (lambda: sc.norm_inf(sc.sym("e", 0)), ValueError, "has no entries"),
        (lambda: sc.mean(sc.sym("e", 0)), ValueError, "has no entries"),
        (lambda: sc.mean(N), TypeError, "'mean' needs a floating operand, got int64"),
        (lambda: sc.split(X, 2), ValueError, "cannot split 3 entries into 2 equal parts"),
        (lambda: sc.split(X, [1, 1]), ValueError, "do not add up to 3"),
        (lambda: sc.diag(S), ValueError, "expected a vector or a matrix"),
        (lambda: iter(S), TypeError, "a scalar cannot be iterated over"),
        (lambda: len(S), TypeError, "a scalar has no length"),
    ],
)
def test_errors(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (lambda: sc.sym("a", (1,)) + sc.sym("b", (0,)), (0,)),
        (lambda: sc.sym("a", (2, 1)) + sc.sym("b", (3,)), (2, 3)),
        (lambda: sc.sym("a", 6).reshape((-1, 2)), (3, 2)),
        (lambda: sc.sym("a", (0, 3)).max(1), (0,)),
        (lambda: Y.sum(-1, keepdims=True), (2, 1)),
        (lambda: Y.sum(), ()),
        (lambda: Y.transpose(-1, 0), (3, 2)),
        (lambda: sc.sym("v", 10)[8:2:-3], (2,)),
        (lambda: sc.sym("v", 10)[-100:3], (3,)),
        (lambda: sc.sym("a", (2, 3, 4))[0, ..., 1:], (3, 3)),
        (lambda: sc.sym("a", (2, 3, 4))[...], (2, 3, 4)),
        (lambda: sc.gather(sc.sym("a", (2, 3, 4)), [[0, 1]], axis=1), (2, 1, 2, 4)),
        (lambda: sc.stack([X, X, X, X], axis=-1), (3, 4)),
        (lambda: sc.concat([Y, Y], axis=-1), (2, 6)),
        (lambda: sc.sym("a", (2, 1, 3, 4)) @ sc.sym("b", (5, 4, 2)), (2, 5, 3, 2)),
        (lambda: sc.sym("a", (2, 0)) @ sc.sym("b", (0, 3)), (2, 3)),
        (lambda: X @ X, ()),
        (lambda: Y @ X, (2,)),
        (lambda: sc.take(Y, [0, 9]), (2, 2)),
        (lambda: sc.argmax(Y, 0), (3,)),
        (lambda: sc.diag(X), (3, 3)),
        (lambda: sc.diag(Y), (2,)),
        (lambda: sc.segment_sum(X, [0, 0, 1], 4), (4,)),
        (lambda: sc.scatter(X, [0, 1, 5], (2, 3)), (2, 3)),
    ],
)
def test_shapes(make: Any, shape: tuple[int, ...]) -> None:
    assert make().shape == shape


def test_attributes_are_stored_as_the_user_wrote_them() -> None:
    assert X[1:].attrs["index"] == (slice(1, None, None),)
    assert Y[0, np.int64(1) :].attrs["index"] == (0, slice(1, None, None))
    assert Y[-1].attrs["index"] == (-1, slice(None, None, None))
    assert Y.sum((-1, 0)).attrs["axes"] == (0, 1)
    assert X.gather([0]).attrs == {"axis": None, "mode": "promise_in_bounds"}
    assert X.gather(N).attrs == {"axis": None, "mode": "fill", "fill": 0.0}
    assert sc.stack([X, X], axis=-1).attrs["axis"] == 1


def test_what_needs_no_operation_makes_none() -> None:
    assert sc.cast(X, "float64") is X
    assert N.floor() is N
    assert sc.cast(B, "bool") is B
    assert sc.cast(N, "bool").op == sc.ExprOp.NE
    assert (N**1) is N
    assert (N**3) is N * (N * N) or (N**3).op == sc.ExprOp.MUL
    assert X.reshape(3) is not X
    assert X[:] is not X


def test_hints_are_passed_on() -> None:
    assert X.block().lowering == "block"
    assert X.block() is not X
    assert (X.block() + X.scalar()).lowering == "block"
    assert (X.scalar() * 2.0).lowering == "scalar"
    assert "lowering" not in (X + X).attrs


def test_sparse_patterns() -> None:
    first = sc.SparsityPattern((2, 2), [0, 1], [0, 1])
    second = sc.SparsityPattern((2, 2), [0, 0], [1, 0])
    a = sc.pack(sc.sym("a", 2), first)
    b = sc.pack(sc.sym("b", 2), second)
    assert a.type.pattern is first
    assert (-a).type.pattern is first
    assert (a + b).type.pattern is sc.SparsityPattern((2, 2), [0, 0, 1], [0, 1, 1])
    assert (a * b).type.pattern is sc.SparsityPattern((2, 2), [0], [0])
    assert (a * 2.0).type.pattern is first
    assert (a / sc.sym("d", (2, 2))).type.pattern is first
    assert b.T.type.pattern is sc.SparsityPattern((2, 2), [0, 1], [0, 0])
    assert (a @ b).type.pattern is second
    assert (a @ sc.sym("v", 2)).type.pattern is None
    assert a.sum().type.pattern is None
    assert sc.to_dense(a).type.pattern is None
    assert sc.values(a).shape == (2,)
    refused: list[Any] = [lambda: a.exp(), lambda: a.reshape(4), lambda: a[0], lambda: 2.0 / a, lambda: a + 1.0]
    for make in refused:
        with pytest.raises(TypeError, match=r"sparse operand; call to_dense\(\) first"):
            make()


def test_patterns() -> None:
    pattern = sc.SparsityPattern((2, 3), [1, 0], [0, 2])
    assert (pattern.rows, pattern.columns, pattern.nnz) == ((0, 1), (2, 0), 2)
    assert sc.SparsityPattern.from_mask(pattern.to_mask()) is pattern
    assert sc.SparsityPattern.from_csr((2, 3), *pattern.to_csr()) is pattern
    assert sc.SparsityPattern.from_csc((2, 3), *pattern.to_csc()) is pattern
    assert sc.SparsityPattern.dense((2, 3)).nnz == 6
    assert sc.SparsityPattern.empty((2, 3)).nnz == 0
    with pytest.raises(ValueError, match="a coordinate is no integer"):
        sc.SparsityPattern((2, 3), [0.5], [0])  # type: ignore[list-item]
    with pytest.raises(TypeError, match="the extents of a shape are ints"):
        X.reshape(True, 3)
    for rows, columns in (([0, 0], [1, 1]), ([2], [0]), ([0], [3]), ([-1], [0]), ([0], [])):
        with pytest.raises(ValueError, match="sparsity"):
            sc.SparsityPattern((2, 3), rows, columns)
