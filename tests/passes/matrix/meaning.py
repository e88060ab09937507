"""Whether a pass keeps what functions of matrices, loops and buffers mean, bit for bit."""

from __future__ import annotations

from collections.abc import Callable

import scaly_ir as sc
from scaly_ir.dialects.matrix.evaluate import run
from scaly_ir.errors import EvaluationError
from scaly_ir.graph import Node
from tests.passes.matrix.programs import inputs_of


def keeps_meaning(module: Node, transform: Callable[[Node], Node]) -> Node:
    """Transform a module, check all that must hold of every pass, and return the result."""
    sc.verify(module)
    result = transform(module)
    sc.verify(result)
    assert sc.parse(sc.render(result)) is result
    assert transform(result) is result
    for function in module.args:
        name = function.attrs["name"]
        inputs = inputs_of(function)
        try:
            before = run(module, inputs, name)
        except EvaluationError:
            continue  # what has no meaning may become anything
        after = run(result, inputs, name)
        assert before.keys() == after.keys()
        for key, value in before.items():
            other = after[key]
            assert (value.dtype, value.shape) == (other.dtype, other.shape)
            assert value.tobytes() == other.tobytes(), f"{name}: {key} was {value} and is {other}"
    return result
