"""Shorter names of functions, inputs and outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of
from scaly_ir.graph import Node
from scaly_ir.tools.reduce.expr.rebuild import Changes, Make, functions_of, with_changes
from scaly_ir.tools.reduce.names import shorter_names


class Name(NamedTuple):
    """A name, of what, and a shorter one; `function` is where it is."""

    function: int
    kind: Literal["function", "input", "output"]
    old: str
    new: str


def long_names(root: Node) -> list[Name]:
    """Return the names for which there are shorter ones."""
    listed = functions_of(root)
    if root.op is not ops.MODULE:
        return []
    found = []
    numbers = {str(function.attrs["name"]): at for at, function in enumerate(listed)}
    found += [Name(numbers[old], "function", old, new) for old, new in shorter_names(list(numbers))]
    for at, function in enumerate(listed):
        inputs = [str(node.attrs["name"]) for node in inputs_of(function)]
        outputs = list(function.attrs["output_names"])
        for old, new in shorter_names([*inputs, *outputs]):
            found.append(Name(at, "input" if old in inputs else "output", old, new))
    return found


def renamed(root: Node, edits: Sequence[Name]) -> Node | None:
    """Give other names."""
    listed = functions_of(root)
    inputs = {(function, node.attrs["name"]): node for function in listed for node in inputs_of(function)}
    changes = Changes()
    for at, kind, old, new in edits:
        function = listed[at]
        if kind == "function":
            changes.function_names[function] = new
        elif kind == "output":
            changes.output_names[function, old] = new
        else:
            changes.operations[function, inputs[function, old]] = _named(new)
    return with_changes(root, changes)


def _named(name: str) -> Make:
    return lambda node, values: node.with_attrs(name=name)
