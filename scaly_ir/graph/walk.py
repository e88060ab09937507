"""Orders in which a graph is visited; everything iterative, each node once.

No function here recurses, so a chain of a million nodes is walked in constant Python stack.
"""

from __future__ import annotations

from collections.abc import Iterator

from scaly_ir.graph.node import Node


def preorder(root: Node) -> Iterator[Node]:
    """Yield each node reachable from `root` once, users before operands, operands left to right."""
    seen: set[Node] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        yield node
        stack.extend(reversed(node.args))


def postorder(*roots: Node) -> Iterator[Node]:
    """Yield each node reachable from the roots once, operands before users, operands and roots left to right."""
    seen: set[Node] = set()
    stack: list[tuple[Node, bool]] = [(root, False) for root in reversed(roots)]
    while stack:
        node, done = stack.pop()
        if done:
            yield node
        elif node not in seen:
            seen.add(node)
            stack.append((node, True))
            stack.extend([(operand, False) for operand in reversed(node.args) if operand not in seen])
