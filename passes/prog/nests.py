"""Rebuild the statements of a procedure, those inside of loops too, with others in their place.

Owns the walk alone; bounds of loops stay as they are. Iterative, and linear in the text of the procedure.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, with_body
from scaly_ir.graph import Node
from scaly_ir.graph.observe import observer


def _same(statement: Node) -> Iterable[Node]:
    return (statement,)


def rewritten(
    body: Iterable[Node],
    rewrite: Callable[[Node], Iterable[Node]] = _same,
    *,
    rule: str = "",
    loop: Callable[[Node], Node | None] | None = None,
    statements: Callable[[list[Node]], list[Node]] | None = None,
) -> list[Node]:
    """Return a list of statements in which those that `rewrite` gives take the place of each that is no loop.

    Statements are rewritten in the order of the text, equal ones each on its own. What `loop` makes of a loop takes its
    place; inside of one that it makes None of, statements are rewritten. `statements` is given each list of statements
    that is done, those of loops before those around them, and returns what stands there. An observer of rewrites
    is told what took whose place, under the name `rule` if that is given.
    """
    told = observer()
    tell = None if told is None else partial(told.rewritten, rule) if rule else told.derived
    bodies: list[list[Node]] = [[]]
    pending = [(statement, False) for statement in body][::-1]
    while pending:
        node, is_done = pending.pop()
        if is_done:
            inner = bodies.pop()
            bodies[-1].append(with_body(node, inner if statements is None else statements(inner)))
        elif node.op is not ops.FOR:
            replacing = list(rewrite(node))
            if tell is not None and replacing != [node]:
                tell(node, replacing)
            bodies[-1] += replacing
        elif loop is not None and (made := loop(node)) is not None:
            if tell is not None and made is not node:
                tell(node, (made,))
            bodies[-1].append(made)
        else:
            bodies.append([])
            pending.append((node, True))
            pending.extend([(statement, False) for statement in reversed(body_of(node))])
    return bodies[0] if statements is None else statements(bodies[0])
