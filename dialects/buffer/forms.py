"""The parts of functions of buffers that have a place in text: which nodes are operations, and in which order."""

from __future__ import annotations

from collections.abc import Iterator

from scaly_ir.dialects.buffer import build, ops
from scaly_ir.graph import Node
from scaly_ir.graph.walk import in_text_order


def is_operation(node: Node) -> bool:
    """Tell whether a node is an operation of the text, and not only what holds operations."""
    return node.op not in (ops.MODULE, ops.REGION)


def lead_of(node: Node) -> int | None:
    """Return how many operands come before what is within the braces of a node; None for a node without any."""
    if node.op is ops.MODULE:
        return 0
    if node.op is ops.REGION:
        return build.param_count_of(node) or 0
    return len(node.args) - 1 if build.region_of(node) is not None else None


def operations(root: Node) -> Iterator[Node]:
    """Yield functions and statements in pre-order, as text has them and the verifier walks."""
    return in_text_order(root, is_operation, lead_of)
