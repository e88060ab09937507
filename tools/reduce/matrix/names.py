"""Shorter names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.names import definitions, is_number, renamed
from scaly_ir.graph import Node
from scaly_ir.tools.reduce.matrix.walk import functions_of, with_functions
from scaly_ir.tools.reduce.names import shorter_names


class Name(NamedTuple):
    """A name and a shorter one, in a function or, without one, of a function."""

    function: int | None
    old: str
    new: str


def long_names(root: Node) -> list[Name]:
    """Return the names for which there are shorter ones."""
    listed = functions_of(root)
    found = [Name(None, *pair) for pair in shorter_names([str(each.attrs["name"]) for each in listed])]
    for at, function in enumerate(listed):
        results = [str(node.attrs["name"]) for node in build.operands_of(function)]
        names = [name for name in definitions(function) if not is_number(name)]
        found += [Name(at, *pair) for pair in shorter_names([*names, *results])]
    return found


def with_names(root: Node, edits: Sequence[Name]) -> Node | None:
    """Give other names."""
    found: dict[int | None, dict[str, str]] = defaultdict(dict)
    for where, old, new in edits:
        found[where][old] = new
    own = found[None]
    made = []
    for at, function in enumerate(functions_of(root)):
        if at in found:
            function = _with_names(function, found[at])
        made.append(function.with_attrs(name=own.get(function.attrs["name"], function.attrs["name"])))
    return with_functions(made)


def _with_names(function: Node, names: Mapping[str, str]) -> Node:
    results = [
        build.declaration(names.get(node.attrs["name"], node.attrs["name"]), node.type)
        for node in build.operands_of(function)
    ]
    made = function.replace(args=(*results, function.args[-1]))
    return renamed(made, lambda name: names.get(name, name))
