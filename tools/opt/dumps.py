"""IR before and after passes, as text under a headline. Source: tools specification 4.4."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scaly_ir.graph import Node
from scaly_ir.tools.opt.ir_text import IrText
from scaly_ir.tools.opt.watcher import Watcher

if TYPE_CHECKING:
    from scaly_ir.pass_manager import Pass


def headline(what: str) -> str:
    """Return the line above a dump, as the tools of MLIR print it."""
    return f"// -----// {what} //----- //\n"


@dataclass(frozen=True)
class When:
    """Around which passes IR is dumped: those of the names, or all where that says so."""

    before: Collection[str] = ()
    before_all: bool = False
    after: Collection[str] = ()
    after_all: bool = False
    after_change: bool = False
    """After each pass that changed the IR."""
    after_failure: bool = False


class Dumps(Watcher):
    """Shows IR around passes; `show` receives each dump."""

    def __init__(self, show: Callable[[str], None], when: When, text: IrText) -> None:
        self._show = show
        self._when = when
        self._text = text

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Show what a pass is given."""
        if self._when.before_all or step.name in self._when.before:
            self._dump(f"IR Dump Before {step.name}", root)

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Show what a pass made."""
        when = self._when
        if when.after_all or step.name in when.after or (when.after_change and after is not before):
            self._dump(f"IR Dump After {step.name}", after)

    def pass_failed(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        """Show what a pass left, or what it was given when it left nothing."""
        if self._when.after_failure:
            self._dump(f"IR Dump After {step.name} Failed", before if after is None else after)

    def _dump(self, what: str, root: Node) -> None:
        text = self._text(root)
        if text:
            self._show(f"{headline(what)}{text}")
