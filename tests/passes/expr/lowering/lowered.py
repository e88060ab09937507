"""From expressions to a program, to what it computes, to whether that is right; for the tests of lowering.

Programs run on the strict interpreter of the tests of `prog` and on the evaluator; on both, trips that are said to be
independent also run in another order, to find those that are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

import numpy as np

import scaly_ir as sc
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.evaluate import evaluate_function
from scaly_ir.dialects.expr.functions import inputs_of, make_function, make_module
from scaly_ir.dialects.expr.simplify import simplify_function
from scaly_ir.graph import Node, postorder
from scaly_ir.passes.expr.lowering import driver
from tests.passes.prog.evaluator import EvaluationError, run

Array = np.ndarray[Any, Any]


def function_of(*outputs: Node, inputs: Sequence[Node] | None = None) -> Node:
    """The function `f` of some expressions; inputs are in the order in which they are met unless they are listed."""
    found = [node for node in postorder(*outputs) if node.op is ops.INPUT] if inputs is None else inputs
    names = ["out"] if len(outputs) == 1 else [f"out{number}" for number in range(len(outputs))]
    return make_function("f", found, outputs, names)


@contextmanager
def any_leaves() -> Iterator[None]:
    """Let inputs and outputs have any dtype: rules are for all of them, the boundary to C is not."""
    with mock.patch.object(driver, "_check_leaves", return_value=None):
        yield


def lowered(*outputs: Node, inputs: Sequence[Node] | None = None) -> Node:
    """The module of the procedure for some expressions of any dtype; it verifies and reads back."""
    with any_leaves():
        module = driver.lower(make_module([function_of(*outputs, inputs=inputs)]))
    sc.verify(module)
    reread: Node = sc.parse(sc.render(module))
    assert reread is module
    return module


def body(*outputs: Node, inputs: Sequence[Node] | None = None) -> str:
    """The statements of the procedure for some expressions as text."""
    lines = sc.render(lowered(*outputs, inputs=inputs)).splitlines()
    return "".join([line.removeprefix("    ") + "\n" for line in lines[2:-2]])


def computed(function: Node, values: Mapping[str, Array]) -> list[Array]:
    """What the simplified outputs of a function are, which is what its procedure computes."""
    normal = simplify_function(function)
    return evaluate_function(normal, [values[node.attrs["name"]] for node in inputs_of(normal)])


def results(module: Node, values: Mapping[str, Array]) -> list[Array]:
    """What a module computes, its outputs flat; it must not matter in which order independent trips run, nor where."""
    given: dict[str, Any] = {name: array.reshape(-1) for name, array in values.items()}
    forwards = run(module, given).outputs
    others = {
        "backwards": run(module, given, backwards=True).outputs,
        "in the evaluator": sc.run(module, given),
        "in the evaluator, shuffled": sc.run(module, given, shuffle=1),
    }
    for how, outputs in others.items():
        for name, array in forwards.items():
            assert _bits(array) == _bits(outputs[name]), f"%{name} is {array}, {how} {outputs[name]}"
    return list(forwards.values())


def check(*outputs: Node, values: Mapping[str, Any], signed_zeros: bool = True, close: bool = False) -> Node:
    """Lower some expressions, run the module, compare its outputs by their bits and return it.

    Every NaN is as good as another, as one zero is without `signed_zeros`; with `close`, a few last bits are free.
    """
    module = lowered(*outputs)
    arrays = {name: np.asarray(value) for name, value in values.items()}
    expected = computed(function_of(*outputs), arrays)
    for number, (got, wanted) in enumerate(zip(results(module, arrays), expected, strict=True)):
        shown = f"output {number} is {got}, expected {wanted.reshape(-1)}, of\n{sc.render(module)}"
        assert got.dtype == wanted.dtype, shown
        assert got.size == max(wanted.size, 0 if wanted.shape else 1), shown
        if close and got.dtype.kind == "f":
            rtol = 1e-13 if got.dtype == np.float64 else 1e-5
            np.testing.assert_allclose(got, wanted.reshape(-1), rtol=rtol, atol=0, err_msg=shown)
        else:
            assert _bits(got, signed_zeros) == _bits(wanted, signed_zeros), shown
    return module


def _bits(array: Array, signed_zeros: bool = True) -> bytes:
    flat = array.reshape(-1).copy()
    if flat.dtype.kind == "f":
        flat[np.isnan(flat)] = np.nan
        if not signed_zeros:
            flat[flat == 0] = 0.0
    return flat.tobytes()


__all__ = ["EvaluationError", "any_leaves", "body", "check", "computed", "function_of", "lowered", "results"]
