"""Removing functions that nothing needs. Source: expression specification 6.3."""

from __future__ import annotations

from scaly_ir.dialects.expr.functions import in_order
from scaly_ir.graph import Node


def eliminate(root: Node) -> Node:
    """Return a module of its last function, the entry, and what that reaches; operations are never unreachable."""
    needed = set(in_order(root.args[-1:]))
    return root.replace(args=[function for function in root.args if function in needed])
