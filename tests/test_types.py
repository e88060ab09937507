"""Element types and memref types: interned, immutable, one spelling each."""

from __future__ import annotations

import copy
import pickle
import re
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.types import (
    BOOL,
    DTYPES,
    FLOAT32,
    FLOAT64,
    INT32,
    INT64,
    MISSING,
    STRING,
    DType,
    MemRefError,
    MemRefType,
    dtype,
    int_range,
    is_type,
    read_type,
)

MEMREFS = st.builds(
    MemRefType,
    st.lists(st.integers(0, 10**18 - 1), max_size=4).map(tuple),
    st.sampled_from(DTYPES),
    st.sampled_from(("global", "private", "constant", "local")),
)


def test_the_five_element_types() -> None:
    assert [str(dtype) for dtype in DTYPES] == ["bool", "int32", "int64", "float32", "float64"]
    assert [dtype.size for dtype in DTYPES] == [1, 4, 8, 4, 8]
    assert [dtype.bits for dtype in DTYPES] == [1, 32, 64, 32, 64]
    assert [dtype.c_type for dtype in DTYPES] == ["uint8_t", "int32_t", "int64_t", "float", "double"]
    assert [dtype.kind for dtype in DTYPES] == ["bool", "int", "int", "float", "float"]
    assert [dtype.is_int for dtype in DTYPES] == [False, True, True, False, False]
    assert [dtype.is_float for dtype in DTYPES] == [False, False, False, True, True]
    assert [numpy.dtype(str(dtype)).itemsize for dtype in DTYPES] == [dtype.size for dtype in DTYPES]


@pytest.mark.parametrize("one", DTYPES)
def test_an_element_type_is_its_name(one: DType) -> None:
    assert dtype(str(one)) is DType(str(one)) is DType(one) is one
    assert one == str(one)
    assert {str(one): 1}[one] == 1
    assert f"{one}" == repr(one) == str(one)


@pytest.mark.parametrize("one", DTYPES)
def test_an_element_type_stays_one_object(one: DType) -> None:
    assert copy.copy(one) is copy.deepcopy(one) is one
    assert copy.deepcopy([one])[0] is one
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(one, protocol)) is one


@pytest.mark.parametrize("field", ["bits", "size", "kind", "c_type", "is_int", "is_float", "other"])
def test_an_element_type_cannot_change(field: str) -> None:
    with pytest.raises(AttributeError):
        setattr(FLOAT64, field, 1)
    with pytest.raises(AttributeError):
        delattr(FLOAT64, field)
    assert FLOAT64.bits == 64


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("complex", "expected bool, int32, int64, float32 or float64"),
        ("", "expected bool, int32, int64, float32 or float64"),
        ("Float64", "did you mean 'float64'?"),
        ("float64 ", "did you mean 'float64'?"),
        ("i1", "did you mean 'bool'?"),
        ("i32", "did you mean 'int32'?"),
        ("i64", "did you mean 'int64'?"),
        ("index", "did you mean 'int64'?"),
        ("int", "did you mean 'int32' or 'int64'?"),
        ("f32", "did you mean 'float32'?"),
        ("f64", "did you mean 'float64'?"),
        ("float", "did you mean 'float32' or 'float64'?"),
        ("double", "did you mean 'float64'?"),
    ],
)
def test_there_are_no_other_element_types(name: str, hint: str) -> None:
    with pytest.raises(ValueError, match="unknown dtype") as caught:
        dtype(name)
    assert str(caught.value) == f"unknown dtype '{name}'; {hint}"


def test_ranges_of_integers() -> None:
    assert list(int_range(BOOL)) == [0, 1]
    for one in (INT32, INT64):
        limits = numpy.iinfo(str(one))
        assert (int_range(one)[0], int_range(one)[-1]) == (limits.min, limits.max)
    for one in (FLOAT32, FLOAT64):
        with pytest.raises(ValueError, match="has no integer range"):
            int_range(one)


@given(MEMREFS)
def test_a_memref_reads_back_from_its_text(memref: MemRefType) -> None:
    assert MemRefType.read(str(memref)) is memref
    assert repr(memref) == str(memref)


@given(MEMREFS)
def test_equal_memrefs_are_the_same_object(memref: MemRefType) -> None:
    assert MemRefType(memref.shape, memref.dtype, memref.space) is memref
    assert copy.copy(memref) is copy.deepcopy(memref) is pickle.loads(pickle.dumps(memref)) is memref
    product = 1
    for extent in memref.shape:
        product *= extent
    assert memref.size == product


@pytest.mark.parametrize(
    ("text", "shape", "element", "space"),
    [
        ("memref<float64>", (), FLOAT64, "global"),
        ("memref<1xbool>", (1,), BOOL, "global"),
        ("memref<2x0x3xint32, private>", (2, 0, 3), INT32, "private"),
        ("memref<4xfloat32,local>", (4,), FLOAT32, "local"),
        ("memref<4xfloat32,\t constant>", (4,), FLOAT32, "constant"),
        ("memref<007xint64>", (7,), INT64, "global"),
        ("memref<4xint64, global>", (4,), INT64, "global"),
    ],
)
def test_memref_texts(text: str, shape: tuple[int, ...], element: DType, space: str) -> None:
    assert MemRefType.read(text) is MemRefType(shape, element, space)


def test_a_memref_prints_its_space_only_when_it_is_not_global() -> None:
    assert str(MemRefType((2, 3), FLOAT64)) == "memref<2x3xfloat64>"
    assert str(MemRefType((), INT32, "private")) == "memref<int32, private>"


@pytest.mark.parametrize(
    ("text", "message", "part"),
    [
        ("memref<4xfloat16>", "unknown dtype 'float16'", "float16"),
        ("memref<2x4xf64, private>", "unknown dtype 'f64'; did you mean 'float64'?", "f64"),
        ("memref<4xx>", "unknown dtype 'x'", "x"),
        ("memref<2x3xindex>", "unknown dtype 'index'; did you mean 'int64'?", "index"),
        ("memref<4>", "unknown dtype '4'", "4"),
        ("memref<>", "unknown dtype ''", ""),
        ("memref<2x1234567890123456789xbool>", "an extent of 19 digits is too large", "1234567890123456789"),
        ("float64", "malformed type 'float64'", "float64"),
        ("memref<4xfloat64", "malformed type 'memref<4xfloat64'", "memref<4xfloat64"),
    ],
)
def test_texts_that_are_no_memref(text: str, message: str, part: str) -> None:
    with pytest.raises(MemRefError, match=f"^{re.escape(message)}") as caught:
        MemRefType.read(text)
    assert text[caught.value.start : caught.value.end] == part


def test_memrefs_are_told_apart_by_every_field() -> None:
    base = MemRefType((4,), FLOAT64)
    others = [
        MemRefType((4, 1), FLOAT64),
        MemRefType((4,), FLOAT32),
        MemRefType((4,), FLOAT64, "private"),
        MemRefType((), FLOAT64),
    ]
    assert all([other is not base and other != base for other in others])
    assert len({base, *others}) == 5


@pytest.mark.parametrize("field", ["shape", "dtype", "space", "size", "other"])
def test_a_memref_cannot_change(field: str) -> None:
    memref = MemRefType((4,), FLOAT64)
    with pytest.raises(AttributeError):
        setattr(memref, field, 1)
    with pytest.raises(AttributeError):
        delattr(memref, field)
    assert (memref.shape, memref.dtype, memref.space, memref.size) == ((4,), FLOAT64, "global", 4)


def test_types_without_parameters_are_one_object_each() -> None:
    for one in (STRING, MISSING):
        assert type(one)() is copy.deepcopy(one) is pickle.loads(pickle.dumps(one)) is one
    assert (repr(STRING), repr(MISSING)) == ("string", "!missing")


@pytest.mark.parametrize("value", [*DTYPES, MemRefType((1,), BOOL), STRING, MISSING])
def test_what_is_a_type(value: Any) -> None:
    assert is_type(value)
    assert read_type(value) is value


def test_a_type_may_be_given_by_its_name() -> None:
    assert read_type("int32") is INT32
    with pytest.raises(ValueError, match="unknown dtype 'int'"):
        read_type("int")
    for value in (None, 1, DType, MemRefType, object()):
        assert not is_type(value)
        with pytest.raises(TypeError, match="expected a type or the name of one"):
            read_type(value)
