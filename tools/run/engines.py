"""The ways to compute: the evaluator of the dialect, compiled code, and compiled code under the compiler's checks."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scaly_ir.errors import CompileError
from scaly_ir.graph import Node
from scaly_ir.tools.entry import ended_by_interrupts
from scaly_ir.tools.run.interface import Parameter, Runnable

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.tools.jit.program import Unit

    Array = np.ndarray[Any, Any]

Compute = Callable[[Sequence["Array"]], "list[Array]"]
"""Gives the results for the inputs, both in order."""


def evaluator(runnable: Runnable, watch: Callable[[Node, Node, Array], None] | None = None) -> Compute:
    """Return what evaluates a function; `watch`, for `expr`, sees each operation in its function with its value."""
    if not runnable.is_expr:
        return lambda values: _evaluated(runnable, values)
    if watch is None:
        from scaly_ir.dialects.expr.evaluate import evaluate_function

        return lambda values: evaluate_function(runnable.node, values)
    from scaly_ir.tools.run.tracing import watched

    return lambda values: watched(runnable.node, values, watch)


def _evaluated(runnable: Runnable, values: Sequence[Array]) -> list[Array]:
    from scaly_ir.dialects.prog.evaluate import run

    names = [parameter.name for parameter in runnable.inputs]
    results = run(runnable.module, dict(zip(names, values, strict=True)))
    return [results[result.name] for result in runnable.results]


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a command line says of compilation."""

    cc: str = ""
    cached: bool = True
    keep: str = ""
    sanitize: bool = False


def compiled(runnable: Runnable, wanted: Compilation) -> Compute:
    """Return compiled code: of a function of `expr` through the default pipeline, of a procedure as it stands.

    `LoweringError`, `TranslateError` and `CompileError` say why there is none.
    """
    from scaly_ir.tools.jit.functions import lowered
    from scaly_ir.tools.jit.program import Unit
    from scaly_ir.tools.jit.toolchain import find_toolchain

    unit = Unit.of(lowered(runnable.node) if runnable.is_expr else runnable.module)
    toolchain = find_toolchain(wanted.cc)
    if wanted.sanitize:
        from scaly_ir.tools.jit.sanitized import SanitizedProgram

        run: Callable[[Sequence[Array], Sequence[Array]], None] = SanitizedProgram(unit, toolchain, wanted.keep).run
    else:
        from scaly_ir.tools.jit.program import compile_unit

        run = _interruptible(compile_unit(unit, toolchain, cached=wanted.cached, loaded=_keeper(wanted.keep)).run)
    return lambda values: _run(runnable, unit, run, values)


def _interruptible(run: Callable[..., None]) -> Callable[..., None]:
    """Return what runs compiled code in this process, so that an interrupt is not kept waiting for its end."""

    def interruptible(*arguments: Any) -> None:
        with ended_by_interrupts():
            run(*arguments)

    return interruptible


def _keeper(folder: str) -> Callable[[Path], None]:
    """Return what copies a library, with its source and command, to a folder."""

    def keep(library: Path) -> None:
        try:
            Path(folder).mkdir(parents=True, exist_ok=True)
            for file in library.parent.iterdir():
                shutil.copy(file, folder)
        except OSError as failure:
            raise CompileError(f"cannot write to '{folder}': {failure.strerror}") from failure

    return keep if folder else lambda library: None


def _run(runnable: Runnable, unit: Unit, run: Callable[..., None], values: Sequence[Array]) -> list[Array]:
    import numpy

    flat = [numpy.require(value, requirements=("C", "A")) for value in values]
    if unit.interface.inputs or not runnable.results or runnable.inputs != runnable.results:
        outputs = [_room(result) for result in runnable.results]
    else:  # parameters that are read and written
        outputs, flat = [value.copy() for value in flat], []
    run(flat, outputs)
    return outputs


def _room(result: Parameter) -> Array:
    import numpy

    return numpy.empty(result.shape, str(result.dtype))
