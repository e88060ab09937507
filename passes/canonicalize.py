"""Folding to a fixed point, for all dialects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.passes.by_dialect import DialectPass


@dataclass(frozen=True)
class Canonicalize(DialectPass):
    """Applies the folders of operators, evaluates constants and applies the identities of arithmetic."""

    name: ClassVar[str] = "canonicalize"
    summary: ClassVar[str] = "fold constants and identities to a fixed point"
    implementations: ClassVar[dict[str, str]] = {
        "buffer": "scaly_ir.passes.matrix.canonicalization:canonicalize",
        "expr": "scaly_ir.passes.expr.simplification:simplify",
        "prog": "scaly_ir.passes.prog.canonicalization:canonicalize",
    }
