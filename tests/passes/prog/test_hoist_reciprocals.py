"""Reciprocals stand where divisors are the same, and give the same up to rounding (lowering specification 3.11)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import given

import scaly_ir as sc
from scaly_ir.graph import Node
from scaly_ir.passes.prog.hoist_reciprocals import SIZE_LIMIT, HoistReciprocals
from tests.passes.prog import evaluator
from tests.passes.prog.golden_files import programs_of
from tests.passes.prog.meaning import keeps_meaning
from tests.passes.prog.programs import modules

hoist = HoistReciprocals().run

UNCHECKED = ("keep_lane_loop", "keep_integer_division")
"""Golden files whose outputs are not all written, or that divide by the zero they are given."""


@pytest.fixture(scope="module", autouse=True)
def _reciprocals() -> Iterator[None]:
    """Have the interpreter divide as the pass does, so that results agree to the bit."""
    with mock.patch.dict(evaluator.PLAIN, {"div": lambda x, y: x * (type(y)(1) / y)}):
        yield


@given(modules())
def test_programs_mean_the_same(module: Node) -> None:
    after = keeps_meaning(module, hoist)
    assert hoist(after) is after


@pytest.mark.parametrize("path", programs_of("hoist_reciprocals"), ids=lambda path: path.stem)
def test_golden_files(path: Path) -> None:
    module = sc.parse(path.read_text(encoding="utf-8"), path.name)
    if path.stem in UNCHECKED:
        assert hoist(module) is module
        return
    after = keeps_meaning(module, hoist, integer=1)
    assert (after is module) == path.stem.startswith("keep_")
    assert hoist(after) is after


def _squared(times: int) -> Node:
    """Return a loop that divides by a scalar squared so often, by names: its text without them doubles each time."""
    lines = [f"%d{n + 1} = prog.assign prog.mul(%d{n}, %d{n}) : float64 {{declare=True}}" for n in range(times)]
    module: Node = sc.parse(f"""
    prog.proc @f(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {{input_count=1}} {{
      prog.for %i = 0 to 4 step 1 {{kind=global}} {{
        %d0 = prog.assign prog.load %x[0] : float64 {{declare=True}}
        {" ".join(lines)}
        prog.store prog.div(prog.load %x[%i], %d{times}), %y[%i] : float64
      }}
    }}""")
    return module


def test_a_divisor_may_not_become_too_large() -> None:
    # A read has 3 nodes (with view and index), and d_n has 2 * size + 1 of them: 4 * 2 ** n - 1.
    most = (SIZE_LIMIT + 1) // 4
    fits = most.bit_length() - 1
    small, large = _squared(fits), _squared(fits + 1)
    assert hoist(small) is not small
    assert hoist(large) is large
    assert hoist(_squared(3000)) is _squared(3000)
