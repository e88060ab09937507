"""Tests of the text of tensor types, sparsity patterns and tables."""

from __future__ import annotations

import pickle

import pytest

from scaly_ir.graph.encoding import decode_type, encode_type
from scaly_ir.sparsity import SparsityPattern
from scaly_ir.tables import Table
from scaly_ir.tensors import TensorError, TensorType, read_coordinates
from scaly_ir.types import BOOL, FLOAT64, INT64

PATTERN = SparsityPattern((3, 4), [0, 0, 2], [1, 3, 0])


@pytest.mark.parametrize(
    ("text", "type_"),
    [
        ("tensor<float64 diff>", TensorType()),
        ("tensor<20xfloat64 diff>", TensorType(20)),
        ("tensor<2x3xint64>", TensorType((2, 3), INT64, diff=False)),
        ("tensor<0x3xbool>", TensorType((0, 3), BOOL, diff=False)),
        ("tensor<3x4xfloat64 diff, sparse<rows=[0, 0, 2], cols=[1, 3, 0]>>", TensorType((3, 4), pattern=PATTERN)),
        (
            "tensor<0x2xfloat64, sparse<rows=[], cols=[]>>",
            TensorType((0, 2), diff=False, pattern=SparsityPattern.empty((0, 2))),
        ),
    ],
)
def test_types_read_back(text: str, type_: TensorType) -> None:
    assert str(type_) == text
    assert TensorType.read(text) is type_
    assert decode_type(encode_type(type_)) is type_
    assert pickle.loads(pickle.dumps(type_)) is type_


@pytest.mark.parametrize(
    "text",
    [
        "tensor<3x4xfloat64 diff, sparse<rows=[2, 0, 0], cols=[0, 3, 1]>>",
        "tensor<3x4xfloat64\tdiff ,sparse< rows = [0,0,2] ,\n cols=[1,3,0]>>",
    ],
)
def test_coordinates_in_any_order_and_layout(text: str) -> None:
    assert TensorType.read(text).pattern is PATTERN


def test_named_patterns() -> None:
    coordinates = read_coordinates(str(PATTERN))
    assert coordinates == (PATTERN.rows, PATTERN.columns)
    text = "tensor<5x3x4xfloat64, sparse<#sp0>>"
    assert TensorType.read(text, {"#sp0": coordinates}) is TensorType((5, 3, 4), diff=False, pattern=PATTERN)


@pytest.mark.parametrize(
    ("text", "blamed", "message"),
    [
        ("tensor<3xf64>", "f64", "unknown dtype 'f64'; did you mean 'float64'?"),
        ("tensor<3xfloat>", "float", "unknown dtype 'float'; did you mean 'float32' or 'float64'?"),
        ("tensor<3xfloat64 dif>", "dif", "unknown word 'dif' in a type; did you mean 'diff'?"),
        ("tensor<?xfloat64>", "?", "an extent is a non-negative integer, found '?'"),
        ("tensor<2x-3xfloat64>", "-3", "an extent is a non-negative integer, found '-3'"),
        ("tensor<2x1234567890123456789xbool>", "1234567890123456789", "an extent of 19 digits is too large"),
        ("tensor<3>", "3", "a dtype is missing; write it as in 'tensor<2x4xfloat64 diff>'"),
        (
            "tensor<3xfloat64",
            "tensor<3xfloat64",
            "malformed type 'tensor<3xfloat64'; write it as in 'tensor<2x4xfloat64 diff>'",
        ),
        (
            "tensor<3xfloat64, sparse<rows=[], cols=[]>>",
            "sparse<rows=[], cols=[]>",
            "a sparse tensor has two axes or more",
        ),
        (
            "tensor<2x2xbool, dense>",
            "dense",
            "malformed pattern 'dense'; write it as in 'sparse<rows=[0, 2], cols=[1, 0]>'",
        ),
        ("tensor<2x2xbool, sparse<rows=[0, 5], cols=[1, 0]>>", "5", "row 5 is outside [0, 2)"),
        ("tensor<2x2xbool, sparse<rows=[0, 1], cols=[1, 7]>>", "7", "column 7 is outside [0, 2)"),
        ("tensor<2x2xbool, sparse<rows=[0, 1, 0], cols=[1, 0, 1]>>", "0", "coordinate (0, 1) is given twice"),
        (
            "tensor<2x2xbool, sparse<rows=[0], cols=[1, 0]>>",
            "sparse<rows=[0], cols=[1, 0]>",
            "a pattern has as many rows as columns, found 1 and 2",
        ),
        (
            "tensor<2x2xbool, sparse<rows=[a], cols=[1]>>",
            "a",
            "the coordinates of a pattern are lists of non-negative integers",
        ),
        ("tensor<2x2xbool, sparse<#sp1>>", "#sp1", "undefined pattern '#sp1'"),
    ],
)
def test_mistakes_in_types(text: str, blamed: str, message: str) -> None:
    with pytest.raises(TensorError) as caught:
        TensorType.read(text)
    assert str(caught.value) == message
    assert text[caught.value.start : caught.value.end] == blamed


def test_a_coordinate_given_twice_is_blamed_where_it_is_repeated() -> None:
    text = "sparse<rows=[0, 1, 0], cols=[1, 0, 1]>"
    with pytest.raises(TensorError, match="given twice") as caught:
        read_coordinates(text)
    assert caught.value.start == text.index("0]")


@pytest.mark.parametrize(
    ("shape", "text"),
    [
        *(((0,), "[]"), ((0, 0), "[]"), ((0, 3), "[]"), ((2, 0), "[[], []]"), ((2, 0, 3), "[[], []]")),
        *(((2, 1, 0), "[[[]], [[]]]"), ((1, 0, 0), "[[]]")),
    ],
)
def test_tables_without_entries_spell_their_shape(shape: tuple[int, ...], text: str) -> None:
    assert Table(FLOAT64, shape, b"").spell() == text
