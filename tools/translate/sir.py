"""The target ``sir``: the canonical text."""

from __future__ import annotations

from scaly_ir.dialect import dialect_of
from scaly_ir.tools.translate.targets import Input


def sir_text(given: Input, options: object) -> str:
    """Return the canonical text of a root."""
    return dialect_of(given.root).render(given.root)
