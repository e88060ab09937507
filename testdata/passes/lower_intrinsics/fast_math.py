"""An example plug-in for the golden tests here and beside: an operator that one target has an intrinsic for.

`fast.rsqrt` is 1 / sqrt(x). For the target c-gnu it becomes a call of `fast.gnu_rsqrt`, for others it is written out.
`fast.norm` is made of it, and uses each operand twice.
"""

from __future__ import annotations

import scaly_ir as ir


def register(registry: ir.PluginRegistry) -> None:
    """Register the operators; scaly-ir calls it once."""
    for name, operands in (("gnu_rsqrt", ["x"]), ("rsqrt", ["x"]), ("norm", ["x", "y"])):
        op = ir.Op.register(f"fast.{name}")
        op.set_signature(operands, attrs={})
        op.set_attr("FInferType", lambda call: call.args[0].ty)
        op.set_attr("TCallEffectKind", ir.CallEffectKind.Pure)
    rsqrt, norm = ir.Op.get("fast.rsqrt"), ir.Op.get("fast.norm")
    rsqrt.set_attr("c-gnu.FLowerIntrinsic", lambda call: ir.Call("fast.gnu_rsqrt", call.args))
    rsqrt.set_attr("default.FLegalize", lambda call: 1 / ir.elementwise("sqrt", call.args[0]))
    norm.set_attr("default.FLegalize", _norm)


def _norm(call: ir.Node) -> ir.Node:
    """Return x / sqrt(x * x + y * y)."""
    x, y = call.args
    return x * ir.Call("fast.rsqrt", [x * x + y * y])
