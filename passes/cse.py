"""Common subexpression elimination, for all dialects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.passes.by_dialect import DialectPass


@dataclass(frozen=True)
class Cse(DialectPass):
    """Computes pure expressions that occur more than once a single time."""

    name: ClassVar[str] = "cse"
    summary: ClassVar[str] = "compute repeated pure expressions once"
    implementations: ClassVar[dict[str, str]] = {
        "buffer": "scaly_ir.passes.matrix.common_subexpressions:eliminate",
        "expr": "scaly_ir.passes.expr.simplification:merge",
        "prog": "scaly_ir.passes.prog.common_subexpressions:eliminate",
    }
