"""`expr` text in other forms than the canonical one: generic, with constants left out, with locations and users."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from scaly_ir.attributes import AttrValue
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import body_of, outputs_of
from scaly_ir.dialects.expr.printer import listed, render, with_fill
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.walk import references_of
from scaly_ir.text.form import (
    BRIEF_DEPTH,
    BRIEF_ENTRIES,
    BRIEF_WIDTH,
    Form,
    annotated,
    shortened,
    spell_shown,
    users_comment,
)
from scaly_ir.text.generic import as_list
from scaly_ir.text.spelling import spell_name

_NO_OPERATION = ("}", "#", "expr.return")
"""How lines begin on which no operation stands."""


def show(root: Node, form: Form) -> str:
    """Return the text of a module, function, region or fragment in a form that is not generic."""
    text = render(root, elide=form.elide)
    if form.locate is None and not form.users:
        return text
    nodes, comments = [], []
    for head, body, results in _parts(root):
        names = {node: f"%{number}" for number, node in enumerate(body)}
        nodes += [*head, *body]
        if form.users:
            comments += ["" for _ in head]
            comments += [users_comment(users) for users in _users(names, results).values()]
    return annotated(text, nodes, form.locate, comments if form.users else None, _is_operation)


def _is_operation(line: str) -> bool:
    return bool(line) and not line.lstrip().startswith(_NO_OPERATION)


def _parts(root: Node) -> Iterator[tuple[Sequence[Node], Sequence[Node], Sequence[Node]]]:
    """Yield what is listed as one: heads, operations in order, and results."""
    if root.op is ops.FUNC:
        yield [root], body_of(root), outputs_of(root)
    elif root.op is ops.MODULE:
        if not root.attrs.get("bare"):
            yield [root], (), ()
        for function, body in listed(root.args):
            yield [function], body, outputs_of(function)
    else:
        results = root.args if root.op in (ops.RETURN, ops.REGION) else (root,)
        yield [root] if root.op is ops.REGION else (), postorder(*results), results


def _users(names: Mapping[Node, str], results: Sequence[Node]) -> Mapping[Node, Mapping[str, None]]:
    """Return who uses each operation, in the order of the listing."""
    users: dict[Node, dict[str, None]] = {node: {} for node in names}
    for node, name in names.items():
        for operand in node.args:
            users[operand][name] = None
    for result in results:
        users[result][ops.RETURN.name] = None
    return users


def generic(root: Node, form: Form) -> str:
    """Return the generic form of any node, valid or not."""
    return as_list(root, form, _attributes)


def _attributes(node: Node) -> Mapping[str, AttrValue]:
    """Return the attributes of a node as they are spelled: a fill as an entry of the data."""
    attrs = node.attrs
    return (
        with_fill(attrs, node.type)
        if "fill" in attrs and node.op is ops.GATHER and hasattr(node.type, "dtype")
        else attrs
    )


def brief(node: Node, form: Form) -> str:
    """Return an operation on a line, with its nearest operands within it: ``expr.add(%x, expr.exp(...)) : type``."""
    if node.type is None:
        return show(node, form)
    most = BRIEF_ENTRIES if form.elide is None else min(form.elide, BRIEF_ENTRIES)
    return f"{_nested(node, most, BRIEF_DEPTH)} : {node.type}\n"


def _nested(node: Node, most: int, depth: int) -> str:
    if node.op is ops.INPUT:
        return f"%{spell_name(str(node.attrs['name']))}"
    attrs = {key: value for key, value in node.attrs.items() if key != "lowering"}
    names = {value: f"@{spell_name(value.attrs['name'])}" for value in references_of(node)}
    if node.op is ops.CONST:
        return shortened(spell_shown(attrs, most).removeprefix(" {value=").removesuffix("}"))
    shown = shortened(spell_shown(attrs, most, names.__getitem__))
    if not depth:
        return f"{node.op.name}(...)" if node.args else f"{node.op.name}{shown}"
    operands = [_nested(operand, most, depth - 1) for operand in node.args[:BRIEF_WIDTH]]
    more = ["..."] if len(node.args) > BRIEF_WIDTH else []
    return f"{node.op.name}({', '.join(operands + more)}){shown}"
