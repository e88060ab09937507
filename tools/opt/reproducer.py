"""Files that repeat the failure of a pass: the IR as it was before, and what was to be run, in comments.

Source: tools specification 4.6.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, note
from scaly_ir.tools.files import write_atomically
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter
from scaly_ir.tools.reproducers import VERSION, Head

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


class Reproducer(Watcher):
    """Writes a reproducer for the first pass that fails; `whole` keeps the input and all passes."""

    def __init__(
        self,
        path: str,
        passes: Sequence[Pass],
        options: Sequence[str],
        plugins: Sequence[str],
        reporter: Reporter,
        text: IrText,
        *,
        whole: bool,
    ) -> None:
        self._path = path
        self._passes = passes
        self._options = options
        self._plugins = plugins
        self._reporter = reporter
        self._text = text
        self._whole = whole
        self._input: Node | None = None
        self._name = ""
        self._failed: tuple[int, Pass, Node] | None = None
        self._written = False

    def begin(self, root: Node) -> None:
        """Keep the input."""
        self._input = root
        self._failed = None

    def read(self, name: str) -> None:
        """Keep the name of the input."""
        self._name = name

    def pass_failed(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        """Keep what the pass was given."""
        self._failed = (number, step, before)

    def reported(self, diagnostic: Diagnostic) -> None:
        """Write the reproducer of the pass that just failed, and say how it is run."""
        if self._failed is None or self._written:
            return
        number, step, before = self._failed
        root = self._input if self._whole and self._input is not None else before
        path = self._target(step.name)
        head = self._head(step, diagnostic)
        failure = write_atomically(path, head.header(self._pipeline(number), path) + self._text(root))
        if failure is not None:
            self._reporter.refuse([failure])
            return
        self._written = True
        self._reporter.report([note(f"to repeat it: {head.command(path)}")])

    def _target(self, name: str) -> str:
        if not os.path.isdir(self._path):
            return self._path
        stem = os.path.splitext(os.path.basename(self._name))[0].strip("<>") or "input"
        return os.path.join(self._path, f"{stem}-{name}.sir")

    def _head(self, step: Pass, diagnostic: Diagnostic) -> Head:
        said = " ".join(diagnostic.message.split())
        failed = f"{step.name}: {diagnostic.severity}: {said}"
        return Head(VERSION, options=" ".join(self._options), failed=failed, plugins=self._plugins)

    def _pipeline(self, number: int) -> str:
        from scaly_ir.pass_manager import spell_pipeline

        return spell_pipeline(self._passes if self._whole else self._passes[number - 1 :])
