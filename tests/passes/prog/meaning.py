"""Whether a pass on `prog` keeps what programs mean: run before and after, on the strict interpreter of the tests."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import scaly_ir as sc
from scaly_ir.graph import Node
from tests.passes.prog.evaluator import EvaluationError, Result, run
from tests.passes.prog.programs import inputs_of


def same_bits(before: Result, after: Result) -> None:
    """Check that all outputs agree bit for bit; any NaN is like any other."""
    assert before.outputs.keys() == after.outputs.keys()
    for name, values in before.outputs.items():
        found = after.outputs[name]
        nan = values != values
        assert (nan == (found != found)).all(), f"%{name}: {values} and {found}"
        assert np.where(nan, 0, values).tobytes() == np.where(nan, 0, found).tobytes(), f"%{name}: {values} and {found}"


def same_values(before: Result, after: Result) -> None:
    """Check that all outputs are equal, unless something infinite or no number came up: that far identities go.

    Those of real numbers never change how anything is rounded; the sign of a zero is free.
    """
    assert before.outputs.keys() == after.outputs.keys()
    if before.finite:
        for name, values in before.outputs.items():
            assert (values == after.outputs[name]).all(), f"%{name}: {values} and {after.outputs[name]}"


def keeps_meaning(
    module: Node,
    transform: Callable[[Node], Node],
    *,
    compare: Callable[[Result, Result], None] = same_bits,
    inputs: dict[str, Any] | None = None,
    integer: int = 0,
) -> Node:
    """Transform a module, check all that any pass must leave true, and return the result.

    It verifies and reads back, and its outputs compare; also with the trips of ``global`` loops in reverse, where the
    module allows that. A pass that changes nothing must return the module itself.
    """
    sc.verify(module)
    after = transform(module)
    if after is module:
        return after
    sc.verify(after)
    reread: Node = sc.parse(sc.render(after))
    assert reread is after
    values = inputs_of(module, integer) if inputs is None else inputs
    expected = run(module, values)
    compare(expected, run(after, values))
    compare(expected, run(after, values, width=3))
    try:
        independent = run(module, values, backwards=True)
        same_bits(expected, independent)
    except (EvaluationError, AssertionError):  # a loop whose trips depend on each other is what the text says
        return after
    compare(expected, run(after, values, backwards=True))
    return after
