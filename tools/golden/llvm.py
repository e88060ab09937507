"""LLVM's FileCheck as a second opinion: it has to agree with the `filecheck` package on every check.

Owns how the program is found and called. The package's verdict is the one that is explained.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from scaly_ir.text.source import Source
from scaly_ir.tools.golden import matcher
from scaly_ir.tools.golden.check_options import FLAGS, CheckOptions
from scaly_ir.tools.golden.matcher import CheckResult

DISAGREES: Final = 3
"""The exit code of a check on which the two do not agree, which `not` does not accept."""

_VERSIONED: Final = re.compile(r"FileCheck-([0-9]+)").fullmatch
_TOOK_LONG: Final = 60  # seconds


def find_program() -> str:
    """Return the path of LLVM's FileCheck, or of the newest `FileCheck-N`; empty when there is none."""
    plain = shutil.which("FileCheck")
    if plain:
        return plain
    found = []
    for folder in os.get_exec_path():
        try:
            names = os.listdir(folder)
        except OSError:
            continue
        found += [(int(match[1]), os.path.join(folder, name)) for name in names if (match := _VERSIONED(name))]
    return max(found)[1] if found else ""


class SecondOpinion:
    """Check as `matcher.check` does, and with a program too."""

    def __init__(self, program: str) -> None:
        self._program = program

    def check(self, options: CheckOptions, expected: Source, output: Source) -> CheckResult:
        """Return the package's result, or a failure when the program's verdict is another one."""
        result = matcher.check(options, expected, output)
        command = [self._program, options.check_file, *_arguments(options)]
        try:
            done = subprocess.run(
                command, input=output.text.encode(), capture_output=True, check=False, timeout=_TOOK_LONG
            )
        except (OSError, subprocess.TimeoutExpired) as problem:
            return replace(result, code=DISAGREES, message=f"cannot run LLVM's FileCheck: {problem}", mismatch=None)
        if (done.returncode == 0) == (result.code == 0):
            return result
        if done.returncode == 0:
            said = result.message or (str(result.mismatch.diagnostic().message) if result.mismatch else "")
            message = f"LLVM's FileCheck accepts this, and the 'filecheck' package does not: {said}"
        else:
            said = done.stderr.decode("utf-8", "replace").strip()
            message = f"LLVM's FileCheck refuses this, and the 'filecheck' package does not:\n{said}"
        return replace(result, code=DISAGREES, message=message, mismatch=None)


def _arguments(options: CheckOptions) -> Iterator[str]:
    yield "--dump-input=never"
    yield f"--check-prefixes={','.join(options.prefixes)}"
    for name, field in FLAGS.items():
        if getattr(options, field):
            yield f"--{name}"
    for name, value in options.variables:
        yield f"-D{name}={value}"
