"""The ways to compute: the evaluator of the dialect, compiled code, and compiled code under the compiler's checks."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scaly_ir.errors import CompileError, TranslateError
from scaly_ir.graph import Node
from scaly_ir.running import Observer
from scaly_ir.tools.interrupts import ending_at_once
from scaly_ir.tools.run.interface import Parameter, Runnable

if TYPE_CHECKING:
    import numpy as np

    from scaly_ir.tools.jit.program import Unit
    from scaly_ir.tools.run.child import Run

    Array = np.ndarray[Any, Any]

Compute = Callable[[Sequence["Array"]], "list[Array]"]
"""Gives the results for the inputs, both in order."""


def evaluator(runnable: Runnable, observer: Observer | None = None) -> Compute:
    """Return what evaluates a function, while somebody watches if an observer is given."""
    return lambda values: runnable.runner.evaluate(runnable.module, runnable.node, values, observer)


@dataclass(frozen=True, slots=True)
class Compilation:
    """What a command line says of compilation."""

    cc: str = ""
    cached: bool = True
    keep: str = ""
    sanitize: bool = False


def compiled(runnable: Runnable, wanted: Compilation) -> Compute:
    """Return compiled code: of a procedure as it stands, of any other function through the pipeline of its dialect.

    `LoweringError`, `TranslateError` and `CompileError` say why there is none.
    """
    from scaly_ir.tools.jit.program import Unit, compile_unit
    from scaly_ir.tools.jit.toolchain import find_toolchain

    unit = Unit.of(_program(runnable))
    toolchain = find_toolchain(wanted.cc)
    ways: Iterator[_Way]
    if wanted.sanitize:
        from scaly_ir.tools.jit.sanitized import SanitizedProgram

        ways = repeat(_Way(SanitizedProgram(unit, toolchain, wanted.keep).run, _array))
    else:
        from scaly_ir.tools.run.child import in_child, shared_array

        run = compile_unit(unit, toolchain, cached=wanted.cached, loaded=_keeper(wanted.keep)).run
        # What compiled code does for the first time may kill its process. What comes after that is the same once more,
        # to see how long it takes.
        ways = chain([_Way(in_child(run), shared_array)], repeat(_Way(_interruptible(run), _array)))
    return lambda values: _run(runnable, unit, next(ways), values)


def _program(runnable: Runnable) -> Node:
    """Return what is translated."""
    passes = runnable.runner.passes
    if passes is None:
        raise TranslateError(f"nobody says how dialect '{runnable.module.op.dialect}' is compiled")
    if not passes:
        return runnable.module
    from scaly_ir.api import verify
    from scaly_ir.pass_manager import build_pipeline, run_pipeline
    from scaly_ir.passes import PASSES

    module = run_pipeline(runnable.module, build_pipeline(passes, PASSES))
    verify(module)
    return module


class _Way(NamedTuple):
    """How compiled code is called, and where the arrays for its results come from."""

    run: Run
    room: Callable[[Sequence[int], str], Array]


def _array(shape: Sequence[int], dtype: str) -> Array:
    import numpy

    return numpy.empty(shape, dtype)


def _interruptible(run: Run) -> Run:
    """Return what runs compiled code in this process, so that an interrupt is not kept waiting for its end."""

    def interruptible(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        with ending_at_once():
            run(inputs, outputs)

    return interruptible


def _keeper(folder: str) -> Callable[[Path], None]:
    """Return what copies a library, with its source and command, to a folder."""

    def keep(library: Path) -> None:
        from scaly_ir.tools.files import keep_files

        failure = keep_files(str(library.parent), [file.name for file in library.parent.iterdir()], folder)
        if failure is not None:
            raise CompileError(failure.message)

    return keep if folder else lambda library: None


def _run(runnable: Runnable, unit: Unit, way: _Way, values: Sequence[Array]) -> list[Array]:
    import numpy

    flat = [numpy.require(value, requirements=("C", "A")) for value in values]
    outputs = [_room(runnable, result, way) for result in runnable.results]
    if not unit.interface.inputs and runnable.inputs == runnable.results:  # parameters that are read and written
        for output, value in zip(outputs, flat, strict=True):
            output[...] = value
        flat = []
    way.run(flat, outputs)
    return outputs


def _room(runnable: Runnable, result: Parameter, way: _Way) -> Array:
    try:
        return way.room(result.shape, str(result.dtype))
    except (MemoryError, ValueError) as failure:  # which of them depends on how far too large it is
        what = f"result {result.shown} of {runnable.shown} is {result.type}"
        raise CompileError(f"{what}, for which there is no memory") from failure
