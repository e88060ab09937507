"""Shorter names of functions, inputs and outputs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of, make_function, outputs_of
from scaly_ir.graph import Node
from scaly_ir.tools.reduce.expr.rebuild import Changes, functions_of, with_changes
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
    changes = Changes()
    new: dict[tuple[int, str], dict[str, str]] = {}
    for at, kind, old, short in edits:
        new.setdefault((at, kind), {})[old] = short
    for at, function in enumerate(listed):
        inputs = new.get((at, "input"), {})
        for node in inputs_of(function):
            if node.attrs["name"] in inputs:
                name = inputs[node.attrs["name"]]
                changes.operations[function, node] = lambda node, values, name=name: node.with_attrs(name=name)  # type: ignore[misc]
        changes.names[function] = _named(new.get((at, "function"), {}), new.get((at, "output"), {}))
    return with_changes(root, changes)


def _named(functions: dict[str, str], outputs: dict[str, str]) -> Callable[[Node], Node]:
    def finish(function: Node) -> Node:
        name = str(function.attrs["name"])
        names = [outputs.get(each, each) for each in function.attrs["output_names"]]
        return make_function(functions.get(name, name), inputs_of(function), outputs_of(function), names)

    return finish
