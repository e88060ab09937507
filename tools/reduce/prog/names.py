"""Shorter names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from scaly_ir.dialects.prog import ops
from scaly_ir.graph import Node, preorder, toposort
from scaly_ir.tools.reduce.names import shorter_names
from scaly_ir.tools.reduce.prog.walk import procedures_of, with_procedures

_KEYS = ("name", "target", "buffer", "alias_of")
"""The attributes that hold names of a procedure; those of procedures are another matter."""


class Name(NamedTuple):
    """A name and a shorter one, in a procedure or, without one, of a procedure."""

    procedure: int | None
    old: str
    new: str


def long_names(root: Node) -> list[Name]:
    """Return the names for which there are shorter ones."""
    found = _shortened(None, [str(each.attrs["name"]) for each in procedures_of(root) if each.op is ops.PROC])
    for at, procedure in enumerate(procedures_of(root)):
        names: dict[str, None] = {}
        for node in preorder(procedure):
            if node.op is not ops.PROC:
                names.update({str(node.attrs[key]): None for key in _KEYS if key in node.attrs})
        found += _shortened(at, list(names))
    return found


def _shortened(procedure: int | None, names: Sequence[str]) -> list[Name]:
    return [Name(procedure, old, new) for old, new in shorter_names(names, ops.RESERVED_PREFIX)]


def renamed(root: Node, edits: Sequence[Name]) -> Node | None:
    """Give other names."""
    made = []
    by_procedure: dict[int | None, dict[str, str]] = defaultdict(dict)
    for where, old, new in edits:
        by_procedure[where][old] = new
    own = by_procedure[None]
    for at, procedure in enumerate(procedures_of(root)):
        names = by_procedure[at]
        made.append(_with_names(procedure, names, own) if names or own else procedure)
    return with_procedures(root, made)


def _with_names(procedure: Node, names: dict[str, str], procedures: dict[str, str]) -> Node:
    done: dict[Node, Node] = {}
    for node in toposort(procedure):
        attrs = dict(node.attrs)
        table = procedures if node.op is ops.PROC else names
        for key in _KEYS:
            if attrs.get(key) in table:
                attrs[key] = table[attrs[key]]
        if node.op is ops.CALL and attrs.get("callee") in procedures:
            attrs["callee"] = procedures[attrs["callee"]]
        done[node] = node.replace(args=[done[operand] for operand in node.args], attrs=attrs)
    return done[procedure]
