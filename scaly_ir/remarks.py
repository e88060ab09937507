"""Remarks and warnings: what a pass has to say to people, on its way to the tool that shows it.

A pass calls `remark` or `warn` and knows nothing of its audience; a tool, or a test, runs it inside `collect_remarks`.
What is said where nobody collects is lost, so passes say only what the program does not depend on.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from scaly_ir.text.diagnostics import Diagnostic

_LISTENING: Final[ContextVar[list[Diagnostic] | None]] = ContextVar("_LISTENING", default=None)


def remark(message: str) -> None:
    """Say something about the program at hand to whoever collects remarks."""
    _say(Diagnostic("remark", message))


def warn(message: str) -> None:
    """Say, to whoever collects remarks, what may not be meant as it is in the program at hand."""
    _say(Diagnostic("warning", message))


def _say(diagnostic: Diagnostic) -> None:
    said = _LISTENING.get()
    if said is not None:
        said.append(diagnostic)


@contextmanager
def collect_remarks() -> Iterator[list[Diagnostic]]:
    """Collect what is remarked inside the ``with`` block, in order, in the list it gives; the innermost block hears it.

    ::

        with collect_remarks() as remarks:
            run_pipeline(root, passes)
    """
    said: list[Diagnostic] = []
    before = _LISTENING.set(said)
    try:
        yield said
    finally:
        _LISTENING.reset(before)
