"""The evaluator of `prog`: runs procedures in Python, strictly, as the meaning that compiled code is compared with.

`run` is all that others use. The modules, in the order in which one needs them: `faults.py` (what goes wrong and
where), `memory.py` and `places.py` (storages, and windows of them), `scope.py` and `writer.py` (names and lines of
compiled source), `scalars.py`, `expressions.py`, `loops.py` and `procedures.py` (what is compiled to what), `site.py`,
`independence.py`, `lanes.py` and `arrays.py` (loops that are evaluated at once), `watching.py` (what is seen of a run),
`arguments.py` and `machine.py` (which runs it all). NumPy is loaded by the first run. Source: program specification 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.dialects.prog.evaluate.watching import Watch
    from scaly_ir.graph import Node


def run(
    module: Node,
    inputs: Mapping[str, Any],
    proc: str | None = None,
    *,
    shuffle: int | None = None,
    width: int = 4,
    strict: bool = True,
    watch: Watch | None = None,
) -> dict[str, np.ndarray[Any, Any]]:
    """Run a procedure of a module, by default the last one, and return its outputs by name.

    `inputs` holds, by name, an array for each input, and for each parameter where the procedure does not say which are
    inputs; such parameters are outputs too. An array is flat or has the parameter's shape, and has its dtype; Python
    numbers and lists of them are converted where nothing is lost. Outputs have the parameter's shape and dtype, and are
    new arrays.

    `width` is the value of the lane widths, on which results must not depend. With a seed in `shuffle` the trips of
    loops of kind ``global`` run in a random order: a program whose results change claims independence where there is
    none. When not `strict`, a float that no integer of the wanted type holds becomes the least one.

    `watch` says who is told of each statement, and whether the first NaN or infinity ends the run.

    `EvaluationError` for inputs that do not fit and for whatever has no meaning: reading what was not written, indices
    out of bounds, writing to what is read-only, overlapping arguments of a call, and so on; an output element that is
    not written, too. It names the procedure and the statement, with the values of the loop variables. `VerifyError` for
    a node that is wrong by itself; what is wrong with it in its place is found when it is executed.
    """
    from scaly_ir.dialects.prog.evaluate.machine import execute

    return execute(module, inputs, proc, shuffle=shuffle, width=width, strict=strict, watch=watch)
