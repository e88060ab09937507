"""Files that repeat the failure of a pass: the IR as it was before, and what was to be run, in comments.

Source: tools specification 4.6.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, note
from scaly_ir.tools.files import write_atomically
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass

VERSION: Final = 1
_entry: Final = re.compile(r"// ([a-z-]+): ?(.*)").fullmatch


@dataclass(frozen=True)
class Header:
    """What the comments at the top of a reproducer say."""

    pipeline: str
    options: tuple[str, ...]
    failed: str


def read_header(text: str) -> Header | None:
    """Return the header of a reproducer, or None for a file that is none."""
    entries = {}
    for line in text.splitlines():
        match = _entry(line)
        if match is None:
            break
        entries[match[1]] = match[2]
    if entries.get("scaly-reproducer") != str(VERSION):
        return None
    return Header(entries.get("pipeline", ""), tuple(entries.get("options", "").split()), entries.get("failed", ""))


class Reproducer(Watcher):
    """Writes a reproducer for the first pass that fails; `whole` keeps the input and all passes."""

    def __init__(
        self,
        path: str,
        passes: Sequence[Pass],
        options: Sequence[str],
        reporter: Reporter,
        text: IrText,
        *,
        whole: bool,
    ) -> None:
        self._path = path
        self._passes = passes
        self._options = options
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
        failure = write_atomically(path, self._header(number, step, diagnostic, path) + self._text(root))
        if failure is not None:
            self._reporter.refuse([failure])
            return
        self._written = True
        self._reporter.report([note(f"to repeat it: scaly-opt --run-reproducer {path}")])

    def _target(self, name: str) -> str:
        if not os.path.isdir(self._path):
            return self._path
        stem = os.path.splitext(os.path.basename(self._name))[0].strip("<>") or "input"
        return os.path.join(self._path, f"{stem}-{name}.sir")

    def _header(self, number: int, step: Pass, diagnostic: Diagnostic, path: str) -> str:
        from scaly_ir.pass_manager import spell_pipeline

        passes = self._passes if self._whole else self._passes[number - 1 :]
        said = " ".join(diagnostic.message.split())
        return (
            f"// scaly-reproducer: {VERSION}\n"
            f"// pipeline: {spell_pipeline(passes)}\n"
            f"// options: {' '.join(self._options)}\n"
            f"// failed: {step.name}: {diagnostic.severity}: {said}\n"
            f"// run: scaly-opt --run-reproducer {path}\n"
        )
