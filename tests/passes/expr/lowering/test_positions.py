"""Lists of positions as arithmetic: whatever the list, the expression gives each of its entries."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scaly_ir.dialects.prog import build
from scaly_ir.passes.expr.lowering.positions import Level, factored, indexed
from scaly_ir.passes.expr.lowering.procedure import Procedure
from scaly_ir.types import INT64
from tests.passes.prog.evaluator import run


def evaluated(positions: list[int]) -> list[int]:
    """What the arithmetic of a list of positions gives, run as a program."""
    out = build.param("out", len(positions), INT64)
    proc = Procedure(build.block([]), {}, [out])
    index = indexed(proc, np.array(positions, np.int64))
    proc.fill(out, index)
    module = build.program([build.proc("f", [out], proc.body, {"input_count": 0})])
    return list(run(module, {}).outputs["out"].tolist())


@st.composite
def lists(draw: Any) -> list[int]:
    """Lists with some structure: blocks of blocks around an irregular core, now and then with one entry off."""
    positions = draw(st.lists(st.integers(0, 9), min_size=1, max_size=4))
    for _ in range(draw(st.integers(0, 3))):
        count, step = draw(st.integers(1, 4)), draw(st.integers(-5, 20))
        positions = [step * number + position for number in range(count) for position in positions]
    if draw(st.integers(0, 4)) == 0:
        positions[draw(st.integers(0, len(positions) - 1))] += 1
    least = min(positions)
    return [position - min(least, 0) for position in positions]


@given(lists())
def test_arithmetic_gives_the_list(positions: list[int]) -> None:
    assert evaluated(positions) == positions


def test_no_positions() -> None:
    assert evaluated([]) == []


@given(lists())
def test_factors_multiply_to_the_length(positions: list[int]) -> None:
    levels, residual = factored(np.array(positions))
    length = residual.size
    for count, _ in reversed(levels):
        assert count > 1
        length *= count
    assert length == len(positions)


def test_levels_are_found_from_the_outside() -> None:
    levels, residual = factored(np.array([0, 1, 10, 11, 100, 101, 110, 111]))
    assert levels == [Level(2, 100), Level(2, 10), Level(2, 1)]
    assert residual.tolist() == [0]


def test_smallest_block_wins() -> None:
    levels, residual = factored(np.array([3, 3, 3, 3, 3, 3]))
    assert levels == [Level(6, 0)]
    assert residual.tolist() == [3]


def test_a_long_irregular_list_takes_no_time() -> None:
    positions = np.arange(720_720)
    positions[360_001] = 0
    levels, residual = factored(positions)
    assert levels == []
    assert residual.size == 720_720
