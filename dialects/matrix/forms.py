"""Text in other forms than the canonical one: generic, with locations and users."""

from __future__ import annotations

from scaly_ir.dialects.buffer.forms import is_operation, lead_of, operations
from scaly_ir.dialects.matrix.printer import render
from scaly_ir.dialects.matrix.users import users_of
from scaly_ir.dialects.prog.forms import LEFT_OUT, pruned
from scaly_ir.graph import Node
from scaly_ir.text.form import BRIEF_DEPTH, Form, annotated
from scaly_ir.text.generic import as_tree


def show(root: Node, form: Form) -> str:
    """Return the text of a module, function or statement in a form that is not generic."""
    text = render(root)
    if form.locate is None and not form.users:
        return text
    comments = users_of(root) if form.users else None
    return annotated(text, operations(root), form.locate, comments, _is_operation_line)


def _is_operation_line(line: str) -> bool:
    text = line.strip()
    return text not in ("", "}") and not text.startswith("^")


def generic(root: Node, form: Form) -> str:
    """Return the generic form of any node, valid or not."""
    return as_tree(root, form, lead_of, users_of(root) if form.users else None, is_operation=is_operation)


def brief(node: Node, form: Form) -> str:
    """Return a scalar or statement with its nearest operands alone; what has a region, as it is."""
    if lead_of(node) is not None:
        return show(node, form)
    return show(pruned(node, BRIEF_DEPTH), form).replace(f'%"{LEFT_OUT}"', LEFT_OUT)
