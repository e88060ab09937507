"""Lowering of loops. Source: lowering specification 1.8."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.passes.expr.lowering.procedure import Procedure

RULES: Final[dict[Op, Callable[[Procedure, Node], None]]] = {}


def is_plain(node: Node) -> bool:
    """Tell whether a call, or a loop, is a call or a map: what it passes on is float64."""
    attrs = node.attrs
    return node.op is ops.CALL or (attrs["n_carry"] == 0 and attrs["cond"] is None and not attrs["index"])
