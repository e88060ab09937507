"""An example plug-in: the operator `my_ext.square`, and a pass that replaces calls by what their operators are made of.

Installed, it is found by the entry point in `pyproject.toml`; from a folder on ``PYTHONPATH`` it is used with
``scaly-opt --load-plugin=my_ext:register``.
"""

from __future__ import annotations

from typing import Any

import scaly_ir as ir
from scaly_ir.targets import Rewriter


def product_with_itself(call: ir.Node) -> ir.Node:
    """Return x * x in the dialect of x, whichever it is."""
    (x,) = call.args
    return x * x


SQUARE: dict[str, Any] = {
    # What the reader and the verifier ask.
    "FInferType": lambda call: call.args[0].ty,
    # What passes ask.
    "TCallEffectKind": ir.CallEffectKind.Pure,
    "TElementwise": True,
    "TVectorizable": True,
    "TCostClass": "cheap",
    "default.FLegalize": product_with_itself,
    "FPartials": lambda call: [call.args[0] * 2],
    # What the interpreter, constant folding and tests ask.
    "FNumpy": lambda x: x * x,
}


def unfold(root: ir.Node, *, target: str) -> ir.Node:
    """Replace calls by what their operators say they are made of."""
    return Rewriter(target, intrinsics=False).rewrite(root)


def register(registry: ir.PluginRegistry) -> None:
    """Register everything; scaly-ir calls it once."""
    square = ir.Op.register("my_ext.square", "x times x.")
    square.set_signature([("x", "A number.")], attrs={})
    for key, value in SQUARE.items():
        square.set_attr(key, value)
    square.expose()  # as scaly_ir.ops.my_ext.square and scaly_ir.T.my_ext.square
    registry.add_pass("my_ext_unfold", unfold, dialects=["prog"], options={"target": "default"})
