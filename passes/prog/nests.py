"""Rebuild the statements of a procedure, those inside of loops too, with others in their place.

Owns the walk alone; bounds of loops stay as they are. Iterative, and linear in the text of the procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node


def rewritten(body: Iterable[Node], rewrite: Callable[[Node], Iterable[Node]]) -> list[Node]:
    """Return a list of statements in which those that `rewrite` gives take the place of each that is no loop.

    Statements are rewritten in the order of the text, equal ones each on its own.
    """
    bodies: list[list[Node]] = [[]]
    pending = [(statement, False) for statement in body][::-1]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            inner = bodies.pop()
            bodies[-1].append(with_body(node, inner))
        elif node.op is ops.FOR:
            bodies.append([])
            pending.append((node, True))
            pending.extend([(statement, False) for statement in reversed(body_of(node))])
        else:
            bodies[-1].extend(rewrite(node))
    return bodies[0]
