"""Other programs that a tool runs and waits for: compilers, what they make, commands of tests.

Owns that nothing of them goes on when the tool is interrupted.
"""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress

from scaly_ir.tools.interrupts import held


def run_program(
    arguments: Sequence[str],
    given: bytes = b"",
    *,
    folder: str | os.PathLike[str] | None = None,
    environment: Mapping[str, str] | None = None,
    merged: bool = False,
) -> subprocess.CompletedProcess[bytes]:
    """Run a program with bytes for standard input, and return what it printed; standard error too when `merged`.

    It has a process group of its own, which is ended when anything is raised here: a compiler is several processes.
    `OSError` when it cannot be started.
    """
    process: subprocess.Popen[bytes] | None = None
    try:
        with held():
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT if merged else subprocess.PIPE,
                cwd=folder,
                env=environment,
                start_new_session=True,
            )
        out, err = process.communicate(given)
    except BaseException:
        if process is not None:
            end_group(process.pid)
            process.kill()
            process.wait()
        raise
    return subprocess.CompletedProcess(arguments, process.returncode, out, err)


def end_group(process: int) -> None:
    """End a process that leads a group of its own, and all of that group."""
    if os.name == "posix":
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process, signal.SIGKILL)
