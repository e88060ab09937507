"""The commands that run in the pytest process: this project's tools by name, `cat` and `echo`.

Owns the table of tools; their modules are imported when a test first names them. `filecheck` and `not` are no
commands but part of `execute`, which needs to know what they found.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Sequence
from typing import Final, TextIO, TypeAlias, cast

Tool: TypeAlias = Callable[[Sequence[str], TextIO, TextIO, TextIO], int]
"""`main(argv, stdin, stdout, stderr)` returns the exit code; `argv` lacks the program name, streams have `.buffer`."""

TOOLS: Final = {
    "scaly-check": "scaly_ir.tools.scaly_check:main",
    "scaly-opt": "scaly_ir.tools.scaly_opt:main",
    "scaly-reduce": "scaly_ir.tools.scaly_reduce:main",
    "scaly-run": "scaly_ir.tools.scaly_run:main",
    "scaly-translate": "scaly_ir.tools.scaly_translate:main",
}
"""This project's tools: name -> `module:function`."""


class ToolError(Exception):
    """Tell that a tool of the table cannot be loaded."""


def find(name: str) -> Tool | None:
    """Return the tool that runs in process under this name, or None; raise `ToolError`."""
    return _BUILT_IN.get(name) or (_load(name) if name in TOOLS else None)


@functools.cache
def _load(name: str) -> Tool:
    module, _, function = TOOLS[name].partition(":")
    try:
        return cast("Tool", getattr(importlib.import_module(module), function))
    except (ImportError, AttributeError) as problem:
        raise ToolError(f"the tool '{name}' cannot be loaded: {problem}") from problem


def cat(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Copy files, or standard input for `-` or without arguments, to standard output; exit 1 for an unreadable file."""
    code = 0
    for name in argv or ["-"]:
        if name == "-":
            stdout.buffer.write(stdin.buffer.read())
        elif name.startswith("-"):
            stderr.write(f"cat: error: option '{name}' is not supported here\n")
            return 2
        else:
            try:
                with open(name, "rb") as file:
                    stdout.buffer.write(file.read())
            except OSError as problem:
                stderr.write(f"cat: error: cannot read '{name}': {problem.strerror}\n")
                code = 1
    return code


def echo(argv: Sequence[str], stdin: TextIO, stdout: TextIO, stderr: TextIO) -> int:
    """Print the arguments with a space between them and a line end, which `-n` leaves out."""
    bare = list(argv[:1]) == ["-n"]
    stdout.write(" ".join(argv[int(bare) :]) + ("" if bare else "\n"))
    return 0


_BUILT_IN: Final[dict[str, Tool]] = {"cat": cat, "echo": echo}

IN_PROCESS: Final = (*TOOLS, *_BUILT_IN)
"""The names that `find` knows."""
