"""Who uses the values of a `prog` program: comments for people who read it.

Names are resolved as text resolves them: what a block declares hides what stands outside, until the block ends.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from scaly_ir.dialects.prog import build, ops
from scaly_ir.graph import Node, preorder
from scaly_ir.scopes import Scopes
from scaly_ir.text.form import users_comment
from scaly_ir.text.spelling import spell_name

Uses = dict[str, None]
"""What uses a value, each once, in the order of the text."""


def users_of(root: Node) -> list[str]:
    """Return the comment on the values of each operation below `root`, in the order of the text.

    A statement is called by the value that it declares or sets, else by its operation and what that works on.
    """
    comments: list[list[tuple[str, Uses]]] = []
    scopes: Scopes[Uses] = Scopes()
    scopes.enter()
    pending: list[Iterator[Node]] = [iter((root,))]
    while pending:
        for node in pending[-1]:
            for used in _used(node):
                if used in scopes.names:
                    scopes.names[used][_label(node)] = None
            declared = [(name, Uses()) for name in _declared(node)]
            comments.append(declared)
            lead = build.lead_of(node)
            if lead is not None:
                scopes.enter()
            for name, uses in declared:
                scopes.define(name, uses)
            if lead is not None:
                pending.append(iter(node.args[lead:]))
                break
        else:
            pending.pop()
            scopes.leave()
    return [_comment(declared) for declared in comments]


def _comment(declared: list[tuple[str, Uses]]) -> str:
    if len(declared) < 2:
        return users_comment(declared[0][1]) if declared else ""
    return f"  // {'; '.join([f'%{spell_name(name)}{users_comment(uses)[4:]}' for name, uses in declared])}"


def _declared(node: Node) -> Iterable[str]:
    """Return the names that a statement, or the head of one with a body, declares."""
    found: Iterable[object] = ()
    if node.op is ops.PROC:
        found = [param.attrs.get("name") for param in node.args[: build.lead_of(node)]]
    elif node.op is ops.FOR:
        found = [domain.attrs.get("name") for domain in node.args[:1]]
    elif node.op is ops.BUFFER:
        found = [node.attrs.get("name")]
    elif node.op is ops.ASSIGN and "declare" in node.attrs:
        found = [node.attrs.get("target")]
    return [name for name in found if type(name) is str]


def _used(node: Node) -> Iterable[str]:
    """Return the names in a statement, or in the head of one, that stand for what was declared before."""
    found: list[object] = []
    if node.op is ops.BUFFER:
        found = [node.attrs.get("alias_of")]
    elif node.op is not ops.PROC:
        if node.op is ops.ASSIGN and "declare" not in node.attrs:
            found = [node.attrs.get("target")]
        for operand in node.args[: build.lead_of(node)]:
            found += [below.attrs.get("buffer" if below.op is ops.VIEW else "name") for below in preorder(operand)]
    return dict.fromkeys([name for name in found if type(name) is str])


def _label(node: Node) -> str:
    """Return what a comment calls a statement."""
    attrs = node.attrs
    if node.op is ops.ASSIGN:
        return f"%{_name(attrs.get('target'))}"
    if node.op is ops.BUFFER:
        return f"%{_name(attrs.get('name'))}"
    if node.op is ops.CALL:
        return f"{node.op.name} @{_name(attrs.get('callee'))}"
    key = "buffer" if node.args and node.args[0].op is ops.VIEW else "name"
    return f"{node.op.name} %{_name(node.args[0].attrs.get(key))}" if node.args else node.op.name


def _name(name: object) -> str:
    return spell_name(name) if type(name) is str else "?"
