"""What the C translator refuses: a message, and the place in the program."""

from __future__ import annotations

from scaly_ir.errors import TranslateError


class CTranslateError(TranslateError):
    """A program has no C form."""
