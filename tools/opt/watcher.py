"""Watching a run: what the driver of scaly-opt tells whoever wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scaly_ir.graph import Node
    from scaly_ir.pass_manager import Pass
    from scaly_ir.text.diagnostics import Diagnostic


class Watcher:
    """Is told what a run does, in order; each method does nothing until a subclass defines it."""

    def enter(self, phase: str) -> None:
        """Take note that the run goes on to ``read``, ``parse``, ``verify``, ``print`` or ``rest``."""

    def read(self, name: str) -> None:
        """Take note of the name of an input that is now read."""

    def begin(self, root: Node) -> None:
        """Take note of an input that was read and verified."""

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Take note that a pass begins; passes are numbered from 1."""

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Take note of what a pass made; it has not been verified."""

    def after_verified(self, number: int, step: Pass, root: Node) -> None:
        """Take note that what a pass made is valid, or was not looked at."""

    def pass_failed(self, number: int, step: Pass, before: Node, after: Node | None) -> None:
        """Take note that a pass raised an error, or that `after`, which it made of `before`, is not valid."""

    def reported(self, diagnostic: Diagnostic) -> None:
        """Take note that the work on an input ended with an error, which was shown."""

    def close(self) -> None:
        """Take note that the run is over, and show what there is to show at its end."""
