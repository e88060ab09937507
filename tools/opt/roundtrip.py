"""Whether IR reads back as what was printed, after reading and after each pass. Source: tools specification 4.3."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from scaly_ir.api import render
from scaly_ir.dialect import parse_source
from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, error, note
from scaly_ir.text.source import Source
from scaly_ir.tools.opt.diff import unified
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


class RoundTrip(Watcher):
    """Prints IR, reads that, and compares; a difference is an error with a diff."""

    def __init__(self, reporter: Reporter, text: IrText) -> None:
        self._reporter = reporter
        self._text = text

    def begin(self, root: Node) -> None:
        """Check an input."""
        self._check(root, "the input")

    def after_verified(self, number: int, step: Pass, root: Node) -> None:
        """Check what a pass made."""
        self._check(root, f"the result of pass '{step.name}' ({number})")

    def _check(self, root: Node, what: str) -> None:
        fault = difference(root, what, self._text)
        if fault is not None:
            self._reporter.refuse([fault])


def difference(root: Node, what: str, render: Callable[[Node], str] = render) -> Diagnostic | None:
    """Return the error for a root that does not read back as printed, or None.

    A root that is read back as another node prints like the first where text drops what it has no words for.
    """
    text = render(root)
    parsed = parse_source(Source("<printed>", text))
    if parsed.root is root:
        return None
    if parsed.root is None:
        return error(f"what is printed of {what} cannot be read", code="roundtrip", notes=parsed.diagnostics[:3])
    again = render(parsed.root)
    lines = "".join(unified(text, again, "reading it back"))
    shown = note(f"printed again it differs\n{lines.rstrip()}") if lines else note("its text is the same")
    return error(f"what is printed of {what} reads back as other IR", code="roundtrip", notes=[shown])
