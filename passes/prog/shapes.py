"""Statements and buffers of the shapes that several passes look for. Source: lowering specification 2.2."""

from __future__ import annotations

from scaly_ir.dialects.prog import ops
from scaly_ir.dialects.prog.affine import loop_values
from scaly_ir.dialects.prog.context import buffer_size
from scaly_ir.graph import Node


def is_temporary(declaration: Node) -> bool:
    """Tell whether a buffer is private and has storage of its own."""
    attrs = declaration.attrs
    return attrs["address_space"] == "private" and not {"alias_of", "workspace_offset", "values"} & attrs.keys()


def is_inline_shaped(statement: Node) -> bool:
    """Tell whether a statement is a loop around one store at its variable."""
    if statement.op is not ops.FOR or len(statement.args) != 2 or statement.args[1].op is not ops.STORE:
        return False
    domain, store = statement.args
    return is_use(store.args[0].args[0], domain.attrs["name"])


def is_mapped_call(statement: Node) -> bool:
    """Tell whether a statement is a loop around one call."""
    return statement.op is ops.FOR and len(statement.args) == 2 and statement.args[1].op is ops.CALL


def covers(domain: Node, declaration: Node) -> bool:
    """Tell whether a loop variable takes each index of a buffer, in order."""
    elements = buffer_size(declaration)
    return elements is not None and loop_values(domain) == range(elements)


def is_use(node: Node, variable: str) -> bool:
    """Tell whether a scalar is a use of a variable."""
    return node.op is ops.VAR and bool(node.attrs["name"] == variable)
