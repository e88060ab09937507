"""The IR of each step as a file of its own, in a directory. Source: tools specification 4.4."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, Final

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, error
from scaly_ir.tools.command_line import UsageError
from scaly_ir.tools.files import write_atomically
from scaly_ir.tools.opt.diff import unified
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

MARKER: Final = ".scaly-ir-tree"
"""The file by which a directory is known as one that may be cleared."""

_step_file: Final = re.compile(r"[0-9]{2,}_.*\.(sir|diff)").fullmatch


def prepare(directory: str) -> Diagnostic | None:
    """Make a directory ready: create it, or clear what an earlier run left in it; return why that is not possible.

    One with files in it is used only if the marker says that they are the tool's own, `UsageError` otherwise; other
    files in it stay.
    """
    try:
        os.makedirs(directory, exist_ok=True)
        names = os.listdir(directory)
        if names and MARKER not in names:
            raise UsageError(f"'{directory}' is not empty, and not a directory that --print-ir-tree-dir made")
        # Where there is no room for this there is none for the steps, and then those of before are not lost.
        failed = write_atomically(os.path.join(directory, MARKER), "made by scaly-opt --print-ir-tree-dir\n")
        for name in names if failed is None else ():
            if _step_file(name):
                os.unlink(os.path.join(directory, name))
    except OSError as failure:
        return error(f"cannot write '{directory}': {failure.strerror or failure}", code="write")
    return failed


class Tree(Watcher):
    """Writes ``00_input.sir``, and for each pass ``01_NAME.sir`` and, where it changed something, ``01_NAME.diff``."""

    def __init__(self, directory: str, text: IrText, reporter: Reporter) -> None:
        """Make the directory ready; when that fails it is an error of the run, and no step is written."""
        self._directory = directory
        self._text = text
        self._reporter = reporter
        self._failed = self._refused(prepare(directory))

    def begin(self, root: Node) -> None:
        """Write the input."""
        self._write("00_input.sir", self._text(root))

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Write what a pass made, and what it changed."""
        text = self._text(after)
        self._write(f"{number:02}_{step.name}.sir", text)
        lines = [] if after is before else unified(self._text(before), text, step.name)
        if lines:
            self._write(f"{number:02}_{step.name}.diff", "".join(lines))

    def _write(self, name: str, text: str) -> None:
        if self._failed:  # nor is there room for the other steps
            return
        self._failed = self._refused(write_atomically(os.path.join(self._directory, name), text))

    def _refused(self, failure: Diagnostic | None) -> bool:
        if failure is not None:
            self._reporter.refuse([failure])
        return failure is not None
