"""The evaluator of functions of matrices, loops and buffers, of any mix: statement by statement, strictly.

`run` and `evaluate_function` are all that others use. Statements become Python source with the means of the evaluator
of `prog`, whose scalars these are. The modules, in the order in which one needs them: `faults.py` (what goes wrong),
`scope.py` (names), `expressions.py` (scalars), `combiner.py` (combiners on whole arrays), `operations.py` (operations
on those), `statements.py` (what is compiled to what) and `machine.py` (which runs it). NumPy is loaded by the first
run. Source: matrix specification 11.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.dialects.prog.evaluate.watching import Watch
    from scaly_ir.graph import Node

    Array = np.ndarray[Any, Any]


def run(
    module: Node,
    inputs: Mapping[str, Any],
    func: str | None = None,
    *,
    shuffle: int | None = None,
    strict: bool = True,
    watch: Watch | None = None,
) -> dict[str, Array]:
    """Run a function of a module, by default the last one, and return its results by name.

    `inputs` holds an array for each parameter by name, of its dtype, flat or of its shape, and a number or an array of
    one element for a scalar; Python numbers and lists of them are converted where nothing is lost. Results are new
    arrays, 0-d for scalars. `VerifyError` for an invalid module; otherwise as for `evaluate_function`.
    """
    from scaly_ir.dialects.matrix.evaluate.machine import run_module

    return run_module(module, inputs, func, shuffle=shuffle, strict=strict, watch=watch)


def evaluate_function(
    function: Node,
    inputs: Sequence[Array],
    *,
    shuffle: int | None = None,
    strict: bool = True,
    watch: Watch | None = None,
) -> list[Array]:
    """Return the results of a function for arrays of exactly the types of its parameters, in order.

    Scalars are arrays without axes. The function is not verified. With a seed in `shuffle` the trips of loops of kind
    ``global`` run in a random order, on which results must not depend. When not `strict`, a float that no integer of
    the wanted type holds becomes the least one. `watch` says who is told of each statement, and whether the first NaN
    or infinity ends the run.

    `EvaluationError` for what has no meaning, as reading an element that was not written or ``undef``, and an index out
    of range. It names the function and the statement, with the values of the loop variables.
    """
    from scaly_ir.dialects.matrix.evaluate.machine import execute

    return execute(function, inputs, shuffle=shuffle, strict=strict, watch=watch)
