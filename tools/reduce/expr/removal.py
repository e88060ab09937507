"""Leaving out functions, operations, inputs and outputs, calls around what they compute, and attributes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Literal, NamedTuple

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import inputs_of, outputs_of
from scaly_ir.dialects.expr.substitution import substitute_inputs
from scaly_ir.graph import Node
from scaly_ir.graph.rewrite import rebuild
from scaly_ir.tools.reduce.expr.rebuild import (
    Changes,
    Make,
    Values,
    body_of,
    functions_of,
    results_of,
    with_changes,
    with_operations,
    zero,
)
from scaly_ir.tools.reduce.steps import optional_keys

# --- functions --------------------------------------------------------------------------------------------------------


def functions(root: Node) -> Sequence[int]:
    """Return the numbers of the functions, if there are several."""
    return range(len(root.args)) if root.op is ops.MODULE and len(root.args) > 1 else ()


def without_functions(root: Node, gone: Sequence[int]) -> Node | None:
    """Leave out functions; what they are called for is zero."""
    return with_changes(root, Changes(functions={root.args[at] for at in gone}))


# --- operations -------------------------------------------------------------------------------------------------------


class Removal(NamedTuple):
    """An operation of a function and what takes its place: an operation before it, or zero for None."""

    function: int
    node: Node
    instead: Node | None


def operations(root: Node) -> list[Removal]:
    """Return for each operation, last ones first, its operands of its type, an input of its type, and zero."""
    found = []
    for at, function in enumerate(functions_of(root)):
        body = body_of(function)
        inputs = {node.type: node for node in reversed(body) if node.op is ops.INPUT}
        for node in reversed(body):
            if node.op is not ops.INPUT and node.op is not ops.CONST:
                same = [operand for operand in node.args if operand.type is node.type]
                same += [inputs[node.type]] if node.type in inputs else []
                found += [Removal(at, node, instead) for instead in (*dict.fromkeys(same), None)]
    return found


def without_operations(root: Node, edits: Sequence[Removal]) -> Node | None:
    """Put other values in the place of operations; of several for one, the first."""
    return with_operations(root, [(at, node, _instead(instead)) for at, node, instead in edits])


def _instead(value: Node | None) -> Make:
    if value is None:
        return lambda node, values: zero(node.type)
    # An input that nothing else uses comes behind what it is to replace, and is as it was.
    return lambda node, values: values.get(value, value)


# --- inputs and outputs -----------------------------------------------------------------------------------------------


class Part(NamedTuple):
    """An input or an output of a function, by its position."""

    function: int
    kind: Literal["input", "output"]
    at: int


def results(root: Node) -> list[Part]:
    """Return the outputs of functions and fragments, where there are several, and the inputs of functions."""
    found = []
    for number, function in enumerate(functions_of(root)):
        count = len(results_of(function))
        found += [Part(number, "output", at) for at in range(count) if count > 1]
        if function.op is ops.FUNC:
            found += [Part(number, "input", at) for at in range(len(inputs_of(function)))]
    return found


def without_results(root: Node, edits: Sequence[Part]) -> Node | None:
    """Leave out inputs and outputs; their values are zero."""
    listed = functions_of(root)
    changes = Changes()
    for number, kind, at in edits:
        table = changes.inputs if kind == "input" else changes.outputs
        table.setdefault(listed[number], set()).add(at)
    return with_changes(root, changes)


class Earlier(NamedTuple):
    """An output of a function, by its position, and an operand of it that takes its place."""

    function: int
    at: int
    operand: Node


def operands(root: Node) -> list[Earlier]:
    """Return the operands of outputs, which may be of another type."""
    return [
        Earlier(number, at, operand)
        for number, function in enumerate(functions_of(root))
        for at, output in enumerate(results_of(function))
        for operand in dict.fromkeys(output.args)
    ]


def with_operands(root: Node, edits: Sequence[Earlier]) -> Node | None:
    """Make operands of outputs outputs; of several for one, the first."""
    listed = functions_of(root)
    changes = Changes()
    for number, at, operand in edits:
        changes.results.setdefault((listed[number], at), operand)
    return with_changes(root, changes)


# --- calls ------------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """A call in a function."""

    function: int
    node: Node


def calls(root: Node) -> list[Call]:
    """Return the calls of functions that are known."""
    return [
        Call(at, node)
        for at, function in enumerate(functions_of(root))
        for node in body_of(function)
        if node.op is ops.CALL and isinstance(node.attrs["callee"], Node)
    ]


def without_calls(root: Node, edits: Sequence[Call]) -> Node | None:
    """Put what they compute in the place of calls."""
    return with_operations(root, [(at, node, _inlined) for at, node in edits])


def _inlined(node: Node, values: Values) -> Node:
    callee = node.attrs["callee"]
    bound = dict(zip(inputs_of(callee), [values[operand] for operand in node.args], strict=True))
    return substitute_inputs([outputs_of(callee)[node.attrs["output"]]], bound)[0]


# --- attributes -------------------------------------------------------------------------------------------------------


class Attribute(NamedTuple):
    """An attribute of an operation of a function."""

    function: int
    node: Node
    key: str


def attributes(root: Node) -> list[Attribute]:
    """Return the attributes that may be left out."""
    return [
        Attribute(at, node, key)
        for at, function in enumerate(functions_of(root))
        for node in body_of(function)
        for key in optional_keys(node)
    ]


def without_attributes(root: Node, edits: Sequence[Attribute]) -> Node | None:
    """Leave out attributes."""
    keys: dict[tuple[int, Node], list[str]] = defaultdict(list)
    for at, node, key in edits:
        keys[at, node].append(key)
    return with_operations(root, [(at, node, _without(gone)) for (at, node), gone in keys.items()])


def _without(keys: Sequence[str]) -> Make:
    def make(node: Node, values: Values) -> Node:
        return rebuild(node.with_attrs(**dict.fromkeys(keys)), [values[operand] for operand in node.args])

    return make
