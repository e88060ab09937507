"""`prog` text in other forms than the canonical one: generic, with tables left out, with locations and users."""

from __future__ import annotations

from typing import Final

from scaly_ir.dialects.prog import build, ops
from scaly_ir.dialects.prog.printer import render
from scaly_ir.dialects.prog.users import users_of
from scaly_ir.graph import Node, intern_node
from scaly_ir.text.form import BRIEF_DEPTH, Form, annotated
from scaly_ir.text.generic import as_tree


def _comments(root: Node) -> list[str]:
    return users_of(root)[0 if build.is_operation(root) else 1 :]


def show(root: Node, form: Form) -> str:
    """Return the text of a module, procedure, statement or fragment in a form that is not generic."""
    text = render(root, elide=form.elide)
    if form.locate is None and not form.users:
        return text
    comments = _comments(root) if form.users else None
    return annotated(text, build.operations(root), form.locate, comments, lambda line: line.strip() not in ("", "}"))


def generic(root: Node, form: Form) -> str:
    """Return the generic form of any node, valid or not."""
    comments = _comments(root) if form.users else None
    return as_tree(root, form, build.lead_of, comments, is_operation=build.is_operation)


LEFT_OUT: Final = "..."
"""The name of a variable that stands for what is left out."""
_PLACES: Final = frozenset({ops.VIEW, ops.RANGE})


def brief(node: Node, form: Form) -> str:
    """Return a scalar, view, range or statement with its nearest operands alone; what has a body, as it is."""
    if build.lead_of(node) is not None:
        return show(node, form)
    text = show(pruned(node, BRIEF_DEPTH), form).replace(f'%"{LEFT_OUT}"', LEFT_OUT)
    is_scalar = node.op not in ops.ROWS or node.op in ops.SCALAR_LEAVES
    return f"{text.rstrip()} : {node.type}\n" if is_scalar else text


def pruned(node: Node, depth: int) -> Node:
    """Return a node in which variables take the place of scalars that are deep in it."""
    if not node.args:
        return node
    if not depth and node.op not in _PLACES:
        return build.var(LEFT_OUT, node.type)
    args = [pruned(operand, depth - (node.op not in _PLACES)) for operand in node.args]
    return intern_node(node.op, tuple(args), node.attrs, node.type)
