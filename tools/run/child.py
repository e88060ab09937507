"""Compiled code in a process of its own, so that what kills it is an error and not the end of the tool.

A division of integers by zero, a wild address and a stack that overflows are signals to the process. The process is a
copy of the tool's (``fork``): it has the inputs already, and writes the outputs to memory that both share. That takes
some milliseconds.
"""

from __future__ import annotations

import math
import mmap
import os
import pickle
import signal
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from scaly_ir.errors import CompileError, described
from scaly_ir.tools.interrupts import end_child_at_once, held
from scaly_ir.tools.jit.signals import signal_text

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

Run = Callable[[Sequence["Array"], Sequence["Array"]], None]
"""Fills outputs from inputs."""


def in_child(run: Run) -> Run:
    """Return what does the same in a process of its own; where the system has no ``fork``, return `run` itself.

    The outputs must be arrays of `shared_array`. What is raised there is raised here. `CompileError` when a signal ends
    the process. An interrupt ends it too.
    """
    if not hasattr(os, "fork"):
        return run

    def run_apart(inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        failure = _outcome(lambda: run(inputs, outputs))
        if failure is not None:
            raise failure

    return run_apart


def shared_array(shape: Sequence[int], dtype: str) -> Array:
    """Return an array of zeros in memory that a process shares with its children; `MemoryError` if there is none."""
    import numpy

    count = math.prod(shape)
    try:
        memory = mmap.mmap(-1, max(count * numpy.dtype(dtype).itemsize, 1))
    except (OSError, OverflowError) as failure:  # which of them depends on how far too large it is
        raise MemoryError from failure
    return numpy.frombuffer(memory, dtype, count).reshape(shape)


def _outcome(work: Callable[[], None]) -> Exception | None:
    """Do some work in a process of its own; return what it raised, or what became of the process."""
    reading, writing = os.pipe()
    child, status = 0, None
    try:
        with held():
            child = os.fork()
            if child == 0:
                _end_with(work, writing)
        os.close(writing)
        with open(reading, "rb") as pipe:
            said = pipe.read()
        _, status = os.waitpid(child, 0)
    finally:
        if child and status is None:  # interrupted
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return CompileError(f"{signal_text(os.WTERMSIG(status))}; --engine=ref finds the place")
    failure: Exception | None = pickle.loads(said)  # of our own making
    return failure


def _end_with(work: Callable[[], None], writing: int) -> NoReturn:
    """Do the work of the child process, write what it raised to a pipe, and end the process."""
    import faulthandler

    failure: BaseException | None = None
    try:
        end_child_at_once()  # compiled code does not come back to Python to hear of signals
        faulthandler.disable()  # the process that waits is the one to say what happened
        work()
    except BaseException as raised:
        failure = raised
    try:
        said = pickle.dumps(failure)
    except Exception:
        assert failure is not None  # that nothing was raised can be written
        said = pickle.dumps(CompileError(described(failure)))
    with open(writing, "wb") as pipe:
        pipe.write(said)
    os._exit(0)
