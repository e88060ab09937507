"""`prog` text in other forms than the canonical one: generic, with tables left out, with locations and users."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from scaly_ir.dialects.prog import build
from scaly_ir.dialects.prog.printer import render
from scaly_ir.dialects.prog.users import users_of
from scaly_ir.graph import Node
from scaly_ir.text.form import Form, annotated
from scaly_ir.text.generic import as_tree


def operations(root: Node) -> Iterator[Node]:
    """Yield the head of a module, then statements in pre-order, as text has them and the verifier walks."""
    pending: list[Iterator[Node]] = [iter((root,)) if build.is_operation(root) else iter(root.args)]
    while pending:
        for node in pending[-1]:
            yield node
            lead = build.lead_of(node)
            if lead is not None:
                pending.append(islice(node.args, lead, None))
                break
        else:
            pending.pop()


def _comments(root: Node) -> list[str]:
    return users_of(root)[0 if build.is_operation(root) else 1 :]


def show(root: Node, form: Form) -> str:
    """Return the text of a module, procedure, statement or fragment in a form that is not generic."""
    text = render(root, elide=form.elide)
    if form.locate is None and not form.users:
        return text
    comments = _comments(root) if form.users else None
    return annotated(text, operations(root), form.locate, comments, lambda line: line.strip() not in ("", "}"))


def generic(root: Node, form: Form) -> str:
    """Return the generic form of any node, valid or not."""
    comments = _comments(root) if form.users else None
    return as_tree(root, form, build.lead_of, comments, is_operation=build.is_operation)
