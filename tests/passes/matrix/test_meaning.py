"""Every pass on functions of matrices keeps what they compute, bit for bit, down to the program.

Functions run on the evaluator of their dialects, trips of independent loops in any order; programs on the strict
interpreter of the tests, trips in both orders.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import scaly_ir as sc
from scaly_ir.dialects.matrix.evaluate import evaluate_function
from scaly_ir.graph import Node
from scaly_ir.passes.pipelines import MATRIX
from scaly_ir.tools.jit.program import Unit, compile_unit
from scaly_ir.tools.jit.toolchain import find_toolchain
from tests.dialects.matrix.programs import arrays_of, modules
from tests.passes.prog.evaluator import run
from tests.passes.prog.meaning import keeps_meaning, same_values

Arrays = Sequence[np.ndarray[Any, Any]]

SEEDS: Final = st.integers(0, 1000)


def check_equal(expected: Arrays, found: Arrays) -> None:
    """Check that arrays agree bit for bit; any NaN is like any other."""
    assert [each.dtype for each in expected] == [each.dtype for each in found]
    for first, second in zip(expected, found, strict=True):
        first, second = first.ravel(), second.ravel()
        nan = first != first
        assert (nan == (second != second)).all(), f"{first} and {second}"
        assert np.where(nan, 0, first).tobytes() == np.where(nan, 0, second).tobytes(), f"{first} and {second}"


def lowered(root: Node, *names: str) -> Node:
    """Return a module after passes, each of which must leave text that reads back, and nothing to do for itself."""
    for name in names:
        root = sc.run_passes(root, name)
        assert sc.parse(sc.render(root)) is root
        if name != MATRIX[-1]:
            assert sc.run_passes(root, name) is root
    return root


def check(root: Node, seed: int) -> None:
    """Check a module on arrays, after each of the passes."""
    (function,) = root.args
    arrays = arrays_of(function, seed)
    expected = evaluate_function(function, arrays, strict=False)
    *middle, last = MATRIX
    for count in range(1, len(middle) + 1):
        (after,) = lowered(root, *middle[:count]).args
        check_equal(expected, evaluate_function(after, arrays, strict=False))
        check_equal(expected, evaluate_function(after, arrays, strict=False, shuffle=seed))
    program = lowered(root, *middle, last)
    inputs = {
        param.attrs["name"]: array.ravel().tolist() for param, array in zip(program.args[0].args, arrays, strict=False)
    }
    for backwards in (False, True):
        check_equal(expected, list(run(program, inputs, backwards=backwards).outputs.values()))


@settings(max_examples=max(200, settings().max_examples))
@given(modules(), SEEDS)
def test_every_step_keeps_every_bit(root: Node, seed: int) -> None:
    check(root, seed)


@settings(max_examples=max(50, settings().max_examples // 4))
@given(modules(most=3), SEEDS)
def test_the_middle_steps_commute(root: Node, seed: int) -> None:
    (function,) = root.args
    arrays = arrays_of(function, seed)
    first, second, third, _ = MATRIX
    (after,) = lowered(root, first, third, second).args
    check_equal(evaluate_function(function, arrays, strict=False), evaluate_function(after, arrays, strict=False))


@settings(max_examples=max(50, settings().max_examples // 4))
@given(modules(most=4), SEEDS)
def test_default_goes_on_from_there(root: Node, seed: int) -> None:
    program = lowered(root, *MATRIX)
    arrays = arrays_of(root.args[0], seed)
    inputs = {
        param.attrs["name"]: array.ravel().tolist() for param, array in zip(program.args[0].args, arrays, strict=False)
    }
    keeps_meaning(program, lambda module: sc.run_passes(module, "default"), compare=same_values, inputs=inputs)


@settings(max_examples=max(15, settings().max_examples // 50))
@given(modules(), SEEDS)
def test_compiled_code_computes_the_same(root: Node, seed: int) -> None:
    (function,) = root.args
    arrays = arrays_of(function, seed)
    expected = evaluate_function(function, arrays, strict=False)
    found = [np.zeros(each.shape, each.dtype) for each in expected]
    program = compile_unit(Unit.of(lowered(root, *MATRIX)), find_toolchain())
    program.run(arrays, found)
    check_equal(expected, found)
