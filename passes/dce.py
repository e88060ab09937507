"""Dead code elimination, for all dialects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.passes.by_dialect import DialectPass


@dataclass(frozen=True)
class Dce(DialectPass):
    """Removes what computes nothing that is used, functions that the entry does not reach, and empty control flow."""

    name: ClassVar[str] = "dce"
    summary: ClassVar[str] = "remove unused values, storage and control flow"
    implementations: ClassVar[dict[str, str]] = {
        "buffer": "scaly_ir.passes.matrix.dead_code:eliminate",
        "expr": "scaly_ir.passes.expr.dead_functions:eliminate",
        "prog": "scaly_ir.passes.prog.dead_code:eliminate",
    }
