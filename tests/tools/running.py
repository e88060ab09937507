"""What the tests of the tools share: running one in this process or in its own, and programs to give it."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from scaly_ir.tools.entry import Main
from scaly_ir.tools.scaly_opt import main as scaly_opt_main
from scaly_ir.tools.scaly_translate import main as scaly_translate_main

TEN_LINES: Final = """\
prog.module {
  prog.proc @axpy(%x: memref<8xfloat64>, %y: memref<8xfloat64>) {input_count=1} {
    %a = prog.assign 2 : float64 {declare=True}
    prog.for %i = 0 to 8 step 1 {kind=global} {
      prog.store prog.mul(%a, prog.load %x[%i]), %y[%i] : float64
    }
    prog.store prog.add(prog.load %y[0], 1), %y[0] : float64
    prog.store prog.add(prog.load %y[1], 1), %y[1] : float64
  }
}
"""

CHAIN: Final = """\
prog.module {
  prog.proc @chain(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
    %t0 = prog.buffer : memref<4xfloat64, private>
    prog.for %i = 0 to 4 step 1 {kind=global} {
      prog.store prog.exp(prog.load %x[%i]), %t0[%i] : float64
    }
    prog.for %j = 0 to 4 step 1 {kind=global} {
      prog.store prog.neg(prog.load %t0[%j]), %y[%j] : float64
    }
  }
}
"""

FUSED: Final = """\
prog.module {
  prog.proc @chain(%x: memref<4xfloat64>, %y: memref<4xfloat64>) {input_count=1} {
    prog.for %j = 0 to 4 step 1 {kind=global} {
      prog.store prog.neg(prog.exp(prog.load %x[%j])), %y[%j] : float64
    }
  }
}
"""

BAD_SYNTAX: Final = """\
prog.proc @f(%x: memref<8xfloat64>) {
  prog.for %i = 0 to 8 {kind=global} {
  }
}
"""

BAD_SYNTAX_ERROR: Final = """\
:2:24: error: expected 'step' while parsing 'prog.for', found '{'
  prog.for %i = 0 to 8 {kind=global} {
                       ^
"""

OUT_OF_BOUNDS: Final = """\
prog.proc @f(%x: memref<8xfloat64>) {
  prog.store 1, %x[8] : float64
  prog.store 2, %x[9] : float64
}
"""


class Done(NamedTuple):
    """What a tool did."""

    code: int
    out: str
    err: str


class _Sink(io.BytesIO):
    """Bytes that outlive the text stream around them."""

    def close(self) -> None:
        """Stay open."""


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def scaly_opt(*argv: str, stdin: str | bytes = "", terminal: bool = False) -> Done:
    """Run scaly-opt in this process, on streams like those of a process or of a terminal."""
    return run_tool(scaly_opt_main, argv, stdin, terminal)


def scaly_translate(*argv: str, stdin: str | bytes = "", terminal: bool = False) -> Done:
    """Run scaly-translate in the same way."""
    return run_tool(scaly_translate_main, argv, stdin, terminal)


def run_tool(main: Main, argv: Sequence[str], stdin: str | bytes = "", terminal: bool = False) -> Done:
    """Run a tool in this process, on streams like those of a process or of a terminal."""
    kind = Terminal if terminal else io.TextIOWrapper
    data = stdin if isinstance(stdin, bytes) else stdin.encode()
    out, err = _Sink(), _Sink()
    code = main(
        list(argv),
        kind(io.BytesIO(data), encoding="utf-8"),
        kind(out, encoding="ascii", newline=""),
        kind(err, encoding="ascii", newline=""),
    )
    return Done(code, out.getvalue().decode(), err.getvalue().decode())


PROCESS: Final = (sys.executable, "-m", "scaly_ir.tools.scaly_opt")


_PATHS: Final = [os.path.abspath(path) for path in os.environ.get("PYTHONPATH", "").split(os.pathsep) if path]


def environment(**changes: str) -> dict[str, str]:
    """Return the environment for a process, with some variables set; it finds the project from any folder."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(_PATHS), **changes}


def scaly_opt_process(*argv: str, stdin: bytes = b"", **changes: str) -> subprocess.CompletedProcess[bytes]:
    """Run scaly-opt as a process of its own."""
    command = [*PROCESS, *argv]
    return subprocess.run(command, input=stdin, capture_output=True, env=environment(**changes), check=False)


def started_with(value: str, patience: float = 10.0) -> list[str]:
    """Return the processes that have a value in their environment, on Linux; those just killed have a moment to go."""
    deadline = time.monotonic() + patience
    while (found := _running_with(value)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def _running_with(value: str) -> list[str]:
    found = []
    for other in Path("/proc").glob("[0-9]*/environ") if sys.platform == "linux" else ():
        try:
            if value.encode() in other.read_bytes():
                found.append(str(other))
        except OSError:
            continue
    return found
