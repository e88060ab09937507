"""Index arithmetic: an expression of a flat position says where its entry is, for any map with strides."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.graph import Node
from scaly_ir.passes.expr.lowering.access import (
    Axis,
    broadcast_strides,
    divided,
    merged,
    row_major,
    scaled,
    shifted,
    source_index,
    summed,
)
from scaly_ir.types import INT64
from tests.passes.prog.evaluator import run

K = build.var("k")


def evaluated(index: Node, trips: int) -> list[int]:
    """The values of an index for k = 0, 1, ...; negative ones must not be divided on the way."""
    out = build.param("out", trips, INT64)
    store = build.store(build.view(out, K), index)
    module = build.program([build.proc("f", [out], [build.for_(build.range_("k", 0, trips), [store])], COUNTS)])
    return list(run(module, {}).outputs["out"].tolist())


COUNTS = {"input_count": 0}


def test_row_major() -> None:
    assert row_major(()) == []
    assert row_major((5,)) == [1]
    assert row_major((2, 3, 4)) == [12, 4, 1]


def test_broadcast_strides() -> None:
    assert broadcast_strides((3,), (4, 3)) == [0, 1]
    assert broadcast_strides((4, 1), (4, 3)) == [1, 0]
    assert broadcast_strides((), (4, 3)) == [0, 0]
    assert broadcast_strides((1,), (0,)) == [0]


def test_axes_that_are_one_run_are_joined() -> None:
    assert merged((2, 3, 4), (12, 4, 1)) == [Axis(24, 1)]
    assert merged((2, 3, 4), (24, 8, 2)) == [Axis(24, 2)]
    assert merged((2, 1, 4), (4, 99, 1)) == [Axis(8, 1)]
    assert merged((2, 3), (0, 0)) == [Axis(6, 0)]
    assert merged((2, 3), (1, 2)) == [Axis(2, 1), Axis(3, 2)]


def test_units_and_zeros_leave_nothing_behind() -> None:
    assert source_index(K, (4, 3), (3, 1)) is K
    assert source_index(K, (), ()) is build.index(0)
    assert source_index(K, (), (), 7) is build.index(7)
    assert source_index(K, (1, 1), (5, 5)) is build.index(0)
    assert divided(K, 1) is scaled(K, 1) is shifted(K, 0) is summed(build.index(0), K) is K
    assert summed() is build.index(0)


def test_without_entries_there_is_nothing_to_divide_by() -> None:
    assert source_index(K, (2, 0), (1, 2), 7) is build.index(0)
    assert source_index(K, (2, 0, 3), (3, 6, 1)) is build.index(0)


@given(data=st.data(), shape=st.lists(st.integers(0, 4), max_size=4))
def test_strided_maps(data: st.DataObject, shape: list[int]) -> None:
    strides = data.draw(st.lists(st.integers(-13, 13), min_size=len(shape), max_size=len(shape)))
    offset = data.draw(st.integers(0, 99))
    grid: Any = np.indices(shape) if shape else np.zeros((0,), int)
    wanted = sum([stride * axis for stride, axis in zip(strides, grid, strict=True)], np.full(shape, offset))
    index = source_index(K, shape, strides, offset)
    assert evaluated(index, math.prod(shape)) == wanted.reshape(-1).tolist()


@given(data=st.data(), shape=st.lists(st.integers(0, 4), max_size=4))
def test_broadcasts(data: st.DataObject, shape: list[int]) -> None:
    kept = shape[data.draw(st.integers(0, len(shape))) :]
    own = [1 if data.draw(st.booleans()) else extent for extent in kept]
    wanted = np.broadcast_to(np.arange(math.prod(own)).reshape(own), shape)
    index = source_index(K, shape, broadcast_strides(own, shape))
    assert evaluated(index, math.prod(shape)) == wanted.reshape(-1).tolist()
