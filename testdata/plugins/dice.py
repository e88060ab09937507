"""A plug-in with an operator that gives another number each time: what its dialects must not merge."""

from __future__ import annotations

import scaly_ir as ir


def register(registry: ir.PluginRegistry) -> None:
    """Register the operator."""
    roll = ir.Op.register("dice.roll", "A number from 1 to x.")
    roll.set_signature(["x"], attrs={})
    roll.set_attr("FInferType", lambda call: call.args[0].ty)
    roll.set_attr("TCallEffectKind", ir.CallEffectKind.UpdateState)
