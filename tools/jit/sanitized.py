"""A module under the compiler's checks of addresses and undefined behaviour.

The checks want to be in a program from its start, so this makes a program of its own that reads the inputs and writes
the outputs; each buffer has exactly its size. Source: tools specification 6.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from scaly_ir.errors import CompileError
from scaly_ir.graph import Node
from scaly_ir.tools.c.usage import element_count
from scaly_ir.tools.files import keep_files, reason, temporary_folder
from scaly_ir.tools.jit.cache import COMMAND, SOURCE, first_lines, run_compiler
from scaly_ir.tools.jit.program import OWN_STACK, Unit
from scaly_ir.tools.jit.signals import signal_text
from scaly_ir.tools.jit.toolchain import Toolchain
from scaly_ir.tools.programs import run_program
from scaly_ir.types import FLOAT64

if TYPE_CHECKING:
    import numpy as np

    Array = np.ndarray[Any, Any]

_PROGRAM: Final = "kernel"
_NO_MEMORY: Final = 97
"""The exit code of a program that finds no memory for its arrays."""
_STACK: Final = 8 << 20
"""The bytes of a stack that a program needs besides its temporaries."""
_CHECKS: Final = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

_SETTINGS: Final = {
    "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
    "UBSAN_OPTIONS": "print_stacktrace=0",
}

# What begins with ``scaly_`` is no name of a procedure, so that none is hidden from the call.
_MAIN: Final = """\

#include <stdio.h>
#include <stdlib.h>

static void* scaly_buffer(size_t size, int filled) {{
  void* p = malloc(size);
  if (size && !p) {{
    exit({no_memory});
  }}
  if (filled && fread(p, 1, size, stdin) != size) {{
    exit(98);
  }}
  return p;
}}

int main(void) {{
  const double* scaly_arg[{inputs}];
  double* scaly_res[{outputs}];
{buffers}  double* scaly_w = {workspace};
  int scaly_status = {name}(scaly_arg, scaly_res, NULL, scaly_w, 0);
  if (scaly_status) {{
    return scaly_status;
  }}
{writes}  return 0;
}}
"""


class SanitizedProgram:
    """A program that checks itself; `run` starts it."""

    def __init__(self, unit: Unit, toolchain: Toolchain, keep: str = "") -> None:
        self._unit = unit
        self._toolchain = replace(toolchain, compile_flags=(*toolchain.compile_flags, *_CHECKS), link_flags=("-lm",))
        self._keep = keep

    def run(self, inputs: Sequence[Array], outputs: Sequence[Array]) -> None:
        """Do what `Program.run` does; `CompileError` with the report of a check that failed."""
        import numpy

        # Where nothing says which parameters are inputs, all are outputs that are filled before.
        given = [array.tobytes() for array in (*inputs, *([] if inputs else outputs))]
        try:
            with temporary_folder("scaly-ir-") as folder:
                self._compile(Path(folder))
                program = os.path.join(folder, _PROGRAM)
                done = run_program(self._command(program), b"".join(given), environment={**os.environ, **_SETTINGS})
        except OSError as failure:
            raise CompileError(f"cannot compile: {reason(failure)}") from failure
        if done.returncode == _NO_MEMORY:
            raise CompileError("there is no memory for the arrays and the workspace of the compiled code")
        if done.returncode < 0 and not done.stderr:  # no check ended it: those say what they found
            raise CompileError(signal_text(-done.returncode))
        if done.returncode:
            report = first_lines(done.stderr.decode("utf-8", "replace").replace(f"{folder}{os.sep}", ""))
            raise CompileError(f"a check of the compiled code failed: {report or f'exit code {done.returncode}'}")
        start = 0
        for array in outputs:
            array.reshape(-1)[:] = numpy.frombuffer(done.stdout, array.dtype, array.size, start)
            start += array.nbytes

    def _command(self, program: str) -> Sequence[str]:
        """Return what runs the program, with room on the stack for large temporaries and what is put around them."""
        if os.name != "posix" or self._unit.stack <= OWN_STACK:
            return [program]
        kibibytes = (2 * self._unit.stack + _STACK) >> 10
        # Where so much is not allowed, the stack stays as it is.
        return ["sh", "-c", 'ulimit -s "$0" 2>/dev/null; exec "$@"', str(kibibytes), program]

    def _compile(self, folder: Path) -> None:
        """Make the program in a folder; `CompileError` with the compiler's message when that fails."""
        arguments = self._toolchain.arguments(SOURCE, _PROGRAM)
        (folder / SOURCE).write_text(self._unit.source + self._main(), encoding="utf-8")
        (folder / COMMAND).write_text(" ".join(arguments) + "\n", encoding="utf-8")
        message = run_compiler(arguments, folder, _PROGRAM)
        if self._keep:
            failure = keep_files(str(folder), sorted(os.listdir(folder)), self._keep)
            if failure is not None:
                raise CompileError(failure.message)
        if message is not None:
            where = f"\nthe source is kept in '{Path(self._keep, SOURCE)}'" if self._keep else ""
            raise CompileError(f"the C compiler failed: {message}{where}")

    def _main(self) -> str:
        interface = self._unit.interface
        filled = int(not interface.inputs)
        sides = (("scaly_arg", interface.inputs, 1), ("scaly_res", interface.outputs, filled))
        buffers = [
            f"  {side}[{at}] = scaly_buffer({_bytes(param)}, {fill});\n"
            for side, params, fill in sides
            for at, param in enumerate(params)
        ]
        writes = [
            f"  fwrite(scaly_res[{at}], 1, {_bytes(param)}, stdout);\n" for at, param in enumerate(interface.outputs)
        ]
        return _MAIN.format(
            inputs=max(len(interface.inputs), 1),
            outputs=max(len(interface.outputs), 1),
            buffers="".join(buffers),
            workspace=f"scaly_buffer({interface.workspace * FLOAT64.size}, 0)" if interface.workspace else "NULL",
            name=interface.name,
            no_memory=_NO_MEMORY,
            writes="".join(writes),
        )


def _bytes(param: Node) -> int:
    size: int = element_count(param) * param.type.size
    return size
