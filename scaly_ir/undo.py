"""Undoing registrations: a scope takes back what was registered while it was open.

Every registry of the core (operators, attributes, exposed helpers, dialects, passes, translations) tells `note_undo`
how to take a registration back; only an open scope remembers it. What a module of scaly-ir registers while it is
imported stays, whoever causes the import: nobody imports it a second time. Source: operator specification A1 and A8.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Final, Literal

Undo = Callable[[], object]

OPEN: Final[list[RegistryScope]] = []
"""The open scopes, innermost last. Registries look here first, so that they make no closures in vain."""


class RegistryScope:
    """A context manager; when it ends, what was registered inside is taken back, latest first.

    With `keep_on_success` that happens only when an exception ends it; else the enclosing scope takes over.
    """

    __slots__ = ("_keep_on_success", "_undo")

    def __init__(self, *, keep_on_success: bool = False) -> None:
        self._keep_on_success = keep_on_success
        self._undo: list[Undo] = []

    def note(self, undo: Undo) -> None:
        """Remember how to take one registration back."""
        self._undo.append(undo)

    def __enter__(self) -> None:
        OPEN.append(self)

    def __exit__(self, kind: object, *details: object) -> Literal[False]:
        OPEN.remove(self)
        noted, self._undo = self._undo, []
        if kind is not None or not self._keep_on_success:
            for undo in reversed(noted):
                undo()
        elif OPEN:
            OPEN[-1]._undo += noted
        return False


def registry_scope() -> RegistryScope:
    """Return a scope for experiments and tests: what is registered in it is gone when it ends."""
    return RegistryScope()


def note_undo(undo: Undo) -> None:
    """Tell the innermost open scope how to take a registration back."""
    if OPEN and not _imports_own_module():
        OPEN[-1].note(undo)


def _imports_own_module() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name == "<module>" and str(frame.f_globals.get("__name__")).startswith("scaly_ir."):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False
