"""Rewriting calls by the rules that operators have for a target, for all dialects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from scaly_ir.errors import PassError
from scaly_ir.passes.by_dialect import DialectPass
from scaly_ir.targets import target_chain


def check_target(pass_name: str, target: str) -> None:
    """Raise `PassError` when the option `target` of a pass is no name of a target."""
    try:
        target_chain(target)
    except ValueError as failure:
        raise PassError(f"option 'target' of pass '{pass_name}': {failure}", pass_name=pass_name) from failure


@dataclass(frozen=True)
class Legalize(DialectPass):
    """Applies `FLegalize` rules; leaves alone what the target has an intrinsic for."""

    name: ClassVar[str] = "legalize"
    summary: ClassVar[str] = "rewrite operators that a target lacks into simpler ones"
    implementations: ClassVar[dict[str, str]] = {
        "expr": "scaly_ir.passes.expr.legalization:legalize",
        "prog": "scaly_ir.passes.prog.legalization:legalize",
    }

    target: str = "c"


@dataclass(frozen=True)
class LowerIntrinsics(DialectPass):
    """Applies `FLowerIntrinsic` and `FLegalize` rules: the last rewrite before code is emitted."""

    name: ClassVar[str] = "lower_intrinsics"
    summary: ClassVar[str] = "rewrite operators into what a target spells directly"
    implementations: ClassVar[dict[str, str]] = {
        "expr": "scaly_ir.passes.expr.legalization:lower_intrinsics",
        "prog": "scaly_ir.passes.prog.legalization:lower_intrinsics",
    }

    target: str = "c"
