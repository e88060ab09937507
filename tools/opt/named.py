"""Functions that --print-ir-func names: one that never comes up is most likely misspelt, so that is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from scaly_ir.graph import Node
from scaly_ir.text.diagnostics import Diagnostic, did_you_mean
from scaly_ir.tools.opt.watcher import Watcher
from scaly_ir.tools.reporting import Reporter

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


class Named(Watcher):
    """Looks for functions of these names, without their ``@``, in all inputs and in what passes make of them."""

    def __init__(self, names: Sequence[str], reporter: Reporter) -> None:
        self._names = names
        self._reporter = reporter
        self._seen: dict[str, None] = {}

    def begin(self, root: Node) -> None:
        """Take note of the functions of an input."""
        found = [node.attrs.get("name") for node in root.args]
        self._seen |= dict.fromkeys([name for name in found if isinstance(name, str)])

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Take note of the functions that a pass made."""
        if after is not before:
            self.begin(after)

    def close(self) -> None:
        """Warn of names that nothing has."""
        for name in self._names if self._seen else ():
            if name not in self._seen:
                hint = did_you_mean(f"@{name}", [f"@{seen}" for seen in self._seen])
                message = f"option '--print-ir-func': there is no function @{name}{hint}"
                self._reporter.report([Diagnostic("warning", message, code="unknown-function")])
