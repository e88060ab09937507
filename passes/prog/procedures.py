"""The procedures of a module: which call which, and modules with other procedures."""

from __future__ import annotations

from collections.abc import Iterable

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, toposort


def callees_of(procedure: Node) -> list[str]:
    """Return the names that a procedure calls, defined in its module or not, each once."""
    order = toposort(procedure, gate=lambda node: node.op in (ops.PROC, ops.FOR, ops.CALL))
    return list(dict.fromkeys([node.attrs["callee"] for node in order if node.op is ops.CALL]))


def with_procedures(module: Node, procedures: Iterable[Node]) -> Node:
    """Return a module with these procedures instead of its own; the module itself when they are the same."""
    listed = tuple(procedures)
    return module if listed == module.args else module.replace(args=listed).with_attrs(proc_count=len(listed))
