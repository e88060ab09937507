"""Procedures as sequences of statements, each with a number, and rebuilding them without some.

Equal statements are one node, so what is to be changed is named by its place: the procedure, and the number of the
statement in it, counted from 0 in the order of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder

Change = Callable[[int, Node], Sequence[Node]]
"""Returns what stands in the place of a statement, given with its number and with its body as it became."""


def procedures_of(root: Node) -> tuple[Node, ...]:
    """Return the procedures of a module; a fragment is one by itself."""
    return root.args if root.op is ops.PROGRAM else (root,)


def with_procedures(root: Node, procedures: Sequence[Node]) -> Node | None:
    """Return a module of other procedures; None where nothing is left."""
    if root.op is not ops.PROGRAM:
        return procedures[0] if procedures else None
    if not procedures:
        return None
    return root.replace(args=procedures, attrs={**root.attrs, "proc_count": len(procedures)})


def own_operands(statement: Node) -> Sequence[Node]:
    """Return the operands of a statement but for its body."""
    return statement.args[:1] if statement.op is ops.FOR else statement.args


def with_own_operands(statement: Node, operands: Sequence[Node]) -> Node:
    """Return a statement with other operands and its body."""
    return statement.replace(args=[*operands, *statement.args[len(operands) :]])


def numbered(procedure: Node) -> Iterator[tuple[int, Node]]:
    """Yield each statement of a procedure with its number."""
    return enumerate(build.statements_in(procedure))


def places(root: Node) -> Iterator[tuple[int, int, Node]]:
    """Yield each statement of a module with the number of its procedure and its own."""
    for at, procedure in enumerate(procedures_of(root)):
        for number, statement in numbered(procedure):
            yield at, number, statement


def rewritten(procedure: Node, change: Change) -> Node:
    """Return a procedure of what `change` makes of each statement, inner ones first."""
    path: list[tuple[Node, int, Iterator[Node], list[Node]]] = [
        (procedure, -1, iter(build.body_of(procedure)), [])  # an open body: its statement, what is left of it, and made
    ]
    count = 0
    while True:
        node, number, left, made = path[-1]
        for statement in left:
            if statement.op is ops.FOR:
                path.append((statement, count, iter(build.body_of(statement)), []))
                count += 1
                break
            made.extend(change(count, statement))
            count += 1
        else:
            path.pop()
            new = build.with_body(node, made)
            if not path:
                return new
            path[-1][3].extend(change(number, new))


def changed(root: Node, change: Callable[[int, int, Node], Sequence[Node]]) -> Node | None:
    """Return a module of what `change` makes of each statement, given with the numbers of procedure and statement."""
    made = []
    for at, procedure in enumerate(procedures_of(root)):
        made.append(rewritten(procedure, lambda number, statement, at=at: change(at, number, statement)))  # type: ignore[misc]
    return with_procedures(root, made)


def declared(statement: Node) -> str | None:
    """Return the name of the buffer or scalar that a statement declares."""
    if statement.op is ops.BUFFER:
        return str(statement.attrs.get("name", ""))
    if statement.op is ops.ASSIGN and statement.attrs.get("declare"):
        return str(statement.attrs.get("target", ""))
    return None


@lru_cache(maxsize=1 << 18)
def used(statement: Node) -> frozenset[str]:
    """Return the names that a statement refers to, without those in its body and the one that it declares."""
    found = set()
    for operand in own_operands(statement):
        for node in preorder(operand):
            for key in ("name", "buffer", "alias_of"):
                if key in node.attrs and node.op is not ops.RANGE:
                    found.add(str(node.attrs[key]))
    if statement.op is ops.ASSIGN and not statement.attrs.get("declare"):
        found.add(str(statement.attrs.get("target", "")))
    if "alias_of" in statement.attrs:
        found.add(str(statement.attrs["alias_of"]))
    return frozenset(found)
