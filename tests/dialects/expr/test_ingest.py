"""What may stand beside an expression (expression specification 1.1 to 1.3 and checks 1 to 3)."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import scaly_ir as sc

X = sc.sym("x", 3)
N = sc.sym("n", 3, dtype=sc.dtypes.int64, diff=False)
F = sc.sym("f", 3, dtype="float32")
B = sc.sym("b", 3, dtype="bool")


def test_dtypes_never_mix() -> None:
    with pytest.raises(TypeError, match=r"^mixed dtypes float64 and int64; convert one with sc.cast$"):
        X + N
    with pytest.raises(TypeError, match=r"^mixed dtypes int64 and float64; convert one with sc.cast$"):
        N + X
    with pytest.raises(TypeError, match=r"^mixed dtypes float64 and int64; convert one with sc.cast$"):
        X * np.int64(2)
    assert (X + sc.cast(N, "float64")).type == sc.TensorType(3, "float64")


@pytest.mark.parametrize(
    ("make", "dtype", "value"),
    [
        (lambda: N + 1, "int64", 1),
        (lambda: X + 1, "float64", 1.0),
        (lambda: X + 0.1, "float64", 0.1),
        (lambda: F + 0.1, "float32", np.float32(0.1)),
        (lambda: F + 1e300, "float32", math.inf),
        (lambda: F + 10**40, "float32", math.inf),
        (lambda: X + (2**63 + 1), "float64", 2.0**63),
        (lambda: B & True, "bool", True),
        (lambda: X + np.float64(2), "float64", 2.0),
        (lambda: N + -(2**63), "int64", -(2**63)),
    ],
)
def test_a_number_takes_the_dtype_beside_it(make: Any, dtype: str, value: Any) -> None:
    constant = make().args[1]
    assert constant.op == sc.ExprOp.CONST
    assert constant.type == sc.TensorType((), dtype, diff=False)
    assert constant.value == value
    assert constant.value.dtype == dtype


@pytest.mark.parametrize(
    ("make", "error", "words"),
    [
        (lambda: N + 2**63, OverflowError, "9223372036854775808 does not fit int64"),
        (lambda: X + 10**400, OverflowError, "int too large to convert to float"),
        (lambda: N + 1.0, TypeError, "the float 1.0 beside an expression of int64; convert one with sc.cast"),
        (lambda: B & 1, TypeError, "1 beside an expression of bool; convert one with sc.cast"),
        (lambda: X + True, TypeError, "True beside an expression of float64; convert one with sc.cast"),
        (lambda: X + [[1.0], [2.0, 3.0]], ValueError, "ragged lists: 1 deep, lengths 1 and 2 differ"),
        (lambda: X + [1.0, [2.0]], ValueError, "ragged lists: numbers beside lists"),
        (lambda: X + [X[0], 1.0, 2.0], TypeError, "use sc.stack"),
        (lambda: X + "one", TypeError, "cannot make an expression of 'one', a 'str'"),
        (lambda: X + None, TypeError, "cannot make an expression of None"),
        (lambda: X + np.array([1, 2, 3], dtype=np.uint8), ValueError, "unknown dtype 'uint8'"),
        (lambda: X + np.array([1j, 2, 3]), ValueError, "unknown dtype 'complex128'"),
        (lambda: X + np.array(["a"]), ValueError, "unknown dtype"),
        (lambda: X + np.array([None]), TypeError, "an array of dtype object"),
    ],
)
def test_what_may_not_stand_beside(make: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error) as caught:
        make()
    assert words in str(caught.value)


def test_lists_become_arrays_of_the_dtype_beside_them() -> None:
    constant = (F + [[1, 2.5, 3]]).args[1]
    assert constant.type == sc.TensorType((1, 3), "float32", diff=False)
    np.testing.assert_array_equal(constant.value, np.array([[1, 2.5, 3]], np.float32))
    assert (sc.sym("s") + []).shape == (0,)


def test_numpy_on_the_left_leaves_the_operation_to_the_expression() -> None:
    made = np.ones(3) - X
    assert made.op == sc.ExprOp.SUB
    assert made.args[1] is X
    assert (np.float64(1.0) - X).args[1] is X


def test_constants() -> None:
    assert sc.const(np.arange(3)).type == sc.TensorType(3, "int64", diff=False)
    assert sc.const([0, 1, 2]).type == sc.TensorType(3, "float64", diff=False)
    assert sc.const(True).type == sc.TensorType((), "float64", diff=False)
    assert sc.const([[]]).shape == (1, 0)
    assert sc.const(np.float32(0.1)).type.dtype == "float32"
    assert sc.const([1, 2], dtype="int32").type.dtype == "int32"
    assert sc.const(True, dtype="bool").value == np.True_
    assert sc.const(True, dtype="int64").value == 1


@pytest.mark.parametrize(
    ("make", "error"),
    [
        (lambda: sc.const(np.zeros(2, np.uint8)), ValueError),
        (lambda: sc.const(1.5, dtype="int64"), TypeError),
        (lambda: sc.const(np.ones(2), dtype="int64"), TypeError),
        (lambda: sc.const(2**31, dtype="int32"), OverflowError),
        (lambda: sc.const(2**63, dtype="int64"), OverflowError),
        (lambda: sc.const(1, dtype="bool"), TypeError),
        (lambda: sc.const("1"), TypeError),
        (lambda: sc.const(1j), TypeError),
        (lambda: sc.const([[1], 2]), ValueError),
        (lambda: sc.const([X]), TypeError),
        (lambda: sc.const(X), TypeError),
    ],
)
def test_what_is_no_constant(make: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        make()


def test_a_constant_copies_its_data() -> None:
    data = np.array([1.0, 2.0])
    constant = sc.const(data)
    data[0] = 9.0
    assert constant.value is not None
    assert constant.value.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        constant.value[0] = 3.0


def test_the_layout_of_an_array_does_not_matter() -> None:
    table = np.arange(6.0).reshape(2, 3)
    assert sc.const(table.T) is sc.const(np.ascontiguousarray(table.T))
    assert sc.const(table.astype(">f8")) is sc.const(table)
    assert sc.const(table[:, ::2]) is sc.const([[0.0, 2.0], [3.0, 5.0]])


def test_constants_are_told_apart_by_bits() -> None:
    assert sc.const(0.0) is not sc.const(-0.0)
    assert sc.const(math.nan) is sc.const(math.nan)
    payload = np.array([0x7FF8000000000001], np.uint64).view(np.float64)
    assert sc.const(payload) is not sc.const([math.nan])
    assert sc.const([1.0]) is not sc.const(1.0)


@pytest.mark.parametrize("dtype", ["uint8", "int8", "float16", "complex128", np.uint8, np.dtype("float16"), "float"])
def test_other_dtypes_are_refused(dtype: Any) -> None:
    with pytest.raises(ValueError, match="unknown dtype"):
        sc.TensorType(3, dtype)
    with pytest.raises(ValueError, match="unknown dtype"):
        sc.sym("x", 3, dtype=dtype)
    with pytest.raises(ValueError, match="unknown dtype"):
        sc.cast(X, dtype)


@pytest.mark.parametrize("dtype", [3, None, float, object(), list])
def test_what_is_no_dtype_is_refused(dtype: Any) -> None:
    with pytest.raises(TypeError):
        sc.TensorType(3, dtype)


@pytest.mark.parametrize("dtype", [np.int32, np.dtype("int32"), "int32", sc.dtypes.int32, np.dtype(">i4")])
def test_dtypes_by_any_name(dtype: Any) -> None:
    assert sc.TensorType(3, dtype) is sc.TensorType((3,), sc.dtypes.int32)
    assert sc.TensorType(3, "bool_") is sc.TensorType(3, "bool")


def test_shapes() -> None:
    assert sc.TensorType() is sc.TensorType((), "float64", True)
    assert sc.TensorType([2, 3]).shape == (2, 3)
    assert sc.TensorType(np.int64(4)).shape == (4,)
    assert sc.TensorType(()) is not sc.TensorType((1,))
    assert sc.sym("x").shape == ()
    with pytest.raises(ValueError, match="an extent cannot be negative, got -1"):
        sc.TensorType((2, -1))
    for shape in ((2.0,), (True,), "3", (None,)):
        with pytest.raises(TypeError, match="an extent is an int"):
            sc.TensorType(shape)


def test_texts_of_types() -> None:
    assert str(sc.TensorType(20)) == "tensor<20xfloat64 diff>"
    assert str(sc.TensorType()) == "tensor<float64 diff>"
    assert str(sc.TensorType((0, 3), "bool", False)) == "tensor<0x3xbool>"
    pattern = sc.SparsityPattern((3, 4), [0, 2, 0], [3, 0, 1])
    sparse = sc.TensorType((3, 4), pattern=pattern)
    assert str(sparse) == "tensor<3x4xfloat64 diff, sparse<rows=[0, 0, 2], cols=[1, 3, 0]>>"
    assert sparse.storage_shape == (3,)
    with pytest.raises(ValueError, match="does not fit"):
        sc.TensorType((4, 3), pattern=pattern)
