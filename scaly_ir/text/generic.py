"""The generic form: every node in one spelling, with all its attributes, whether it is valid or not.

    "prog.store"("prog.view"(...) {buffer="y"} : float64, ...) : float64

Operands are nested where statements stand in bodies (`as_tree`), or numbered where operations form a graph (`as_list`).
Both are iterative and linear in what they print. Reading is the dialects'. Source: tools specification 4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from scaly_ir.attributes import AttrValue
from scaly_ir.graph import Node
from scaly_ir.graph.walk import references_of, with_references
from scaly_ir.text.form import Form, located, spell_shown, users_comment
from scaly_ir.text.spelling import spell_string

INDENT: Final = "  "
NO_TYPE: Final = "none"


def _type(type_: Any) -> str:
    return NO_TYPE if type_ is None else str(type_)


def as_list(root: Node, form: Form, attrs_of: Callable[[Node], Mapping[str, AttrValue]] | None = None) -> str:
    """Return a graph with a line for each node, operands first: ``%2 = "expr.add"(%0, %1) : type``.

    A root without a type has no number. `attrs_of` gives the attributes as they are to be spelled.
    """
    order = with_references(root)
    names = {node: f"%{number}" for number, node in enumerate(order)}
    using: dict[Node, dict[str, None]] = {node: {} for node in order} if form.users else {}
    for node in order if form.users else ():
        label = node.op.name if node is root and root.type is None else names[node]
        for used in (*references_of(node), *node.args):
            using[used][label] = None
    lines = []
    for node in order:
        unnamed = node is root and root.type is None
        operands = ", ".join([names[operand] for operand in node.args])
        attrs = node.attrs if attrs_of is None else attrs_of(node)
        shown = spell_shown(attrs, form.elide, names.__getitem__)
        comment = users_comment(using[node]) if form.users and not unnamed else ""
        lines.append(
            f"{'' if unnamed else f'{names[node]} = '}{spell_string(node.op.name)}({operands}){shown}"
            f" : {_type(node.type)}{located(form.locate, node)}{comment}\n"
        )
    return "".join(lines)


def as_tree(
    root: Node,
    form: Form,
    lead_of: Callable[[Node], int | None],
    comments: Iterable[str] | None = None,
    *,
    is_operation: Callable[[Node], bool],
) -> str:
    """Return a node with its operands within: those of a node with a body on lines of their own.

    `lead_of` tells how many operands of a node come before the operations of its body, and None for a node without
    one. `comments` stand behind the operations, which come as text has them; `is_operation` tells them from what only
    holds operations.
    """
    behind = iter(comments) if comments is not None else None
    pieces: list[str] = []
    # Text, or a node with its indentation (None within a line), what separates it from the next, and if it is an
    # operation.
    pending: list[str | tuple[Node, str | None, str, bool]] = [(root, "", "", is_operation(root))]
    while pending:
        entry = pending.pop()
        if isinstance(entry, str):
            pieces.append(entry)
            continue
        node, indent, comma, operation = entry
        tail = f"){spell_shown(node.attrs, form.elide)} : {_type(node.type)}"
        if indent is not None:
            place = located(form.locate, node) if operation else ""
            tail += f"{place}{comma}{next(behind, '') if behind is not None and operation else ''}\n"
        pieces.append(f"{indent or ''}{spell_string(node.op.name)}(")
        lead = lead_of(node) if node.args else None
        if lead is None or indent is None:
            pending.append(tail)
            for position in range(len(node.args) - 1, -1, -1):
                pending.append((node.args[position], None, "", False))
                if position:
                    pending.append(", ")
        else:
            pieces.append("\n")
            pending.append(indent + tail)
            last = len(node.args) - 1
            for position in range(last, -1, -1):
                comma = "," if position < last else ""
                operand = node.args[position]
                pending.append((operand, indent + INDENT, comma, position >= lead and is_operation(operand)))
    return "".join(pieces)
