"""What refers to the buffers of a procedure: which are known by more than their name, and which by nothing at all.

Source: lowering specification 2.2.
"""

from __future__ import annotations

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.build import body_of, buffer_of, statements_in, with_body
from scaly_ir.graph import Node, postorder


def referenced(*roots: Node) -> set[str]:
    """Return the names of the buffers that statements or scalars read, write or pass on."""
    return {buffer_of(node) for node in postorder(*roots) if node.op in (ops.VIEW, ops.BUFFER)}


def escaping(procedure: Node) -> set[str]:
    """Return the buffers that have aliases or are arguments of calls: not all that reads or writes them names them."""
    found = set()
    for node in statements_in(procedure):
        if node.op is ops.BUFFER and "alias_of" in node.attrs:
            found.add(node.attrs["alias_of"])
        elif node.op is ops.CALL:
            found |= {buffer_of(argument) for argument in node.args}
    return found


def without_dead_buffers(procedure: Node) -> Node:
    """Return a procedure without the buffers that no statement refers to; the procedure itself when there are none.

    A buffer is kept as long as an alias of it is, and stores count: one that is only written stays.
    """
    body = body_of(procedure)
    used = referenced(*[statement for statement in body if statement.op is not ops.BUFFER])
    kept = []
    for statement in reversed(body):  # aliases stand behind their sources
        if statement.op is ops.BUFFER:
            name: str = statement.attrs["name"]
            if name not in used:
                continue
            used.add(statement.attrs.get("alias_of", name))
        kept.append(statement)
    return with_body(procedure, reversed(kept))
