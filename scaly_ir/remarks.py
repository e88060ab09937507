"""Remarks: what a pass has to say to people, on its way to the tool that shows it.

A pass calls `remark` and knows nothing of its audience; a tool, or a test, runs it inside `collect_remarks`. What is
said where nobody collects is lost, so passes say only what the program does not depend on.
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
    said = _LISTENING.get()
    if said is not None:
        said.append(Diagnostic("remark", message))


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
