"""Watching a run: what the driver of scaly-opt tells whoever wants to know."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scaly_ir.graph import Node
    from scaly_ir.pass_manager import Pass


class Watcher:
    """Is told what a run does, in order; each method does nothing until a subclass defines it."""

    def enter(self, phase: str) -> None:
        """Take note that the run goes on to ``read``, ``parse``, ``verify``, ``print`` or ``rest``."""

    def begin(self, root: Node) -> None:
        """Take note of an input that was read and verified."""

    def before_pass(self, number: int, step: Pass, root: Node) -> None:
        """Take note that a pass begins; passes are numbered from 1."""

    def after_pass(self, number: int, step: Pass, before: Node, after: Node) -> None:
        """Take note of what a pass made; it has not been verified."""

    def pass_failed(self, number: int, step: Pass, root: Node) -> None:
        """Take note that a pass raised an error on `root`, or that what it made, `root`, is not valid."""

    def close(self) -> None:
        """Take note that the run is over, and show what there is to show at its end."""
