"""Functions of `expr` rebuilt from the callees up, with some operations, inputs, outputs and functions left out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.functions import in_order, inputs_of, make_function, make_module, outputs_of
from scaly_ir.dialects.expr.ingest import splat
from scaly_ir.errors import ScalyError
from scaly_ir.graph import Node, postorder
from scaly_ir.graph.rewrite import rebuild
from scaly_ir.tensors import TensorType

LARGEST: Final = 1_000_000
"""How many entries a zero has at most that takes the place of a value."""

Values = Mapping[Node, Node]
Make = Callable[[Node, Values], Node]
"""Returns what takes the place of an operation, given what those before it in its function became."""


class NotPossible(Exception):  # noqa: N818 (it only says that a change goes with nothing)
    """A change that goes with nothing."""


@dataclass
class Changes:
    """What is to become different; functions are named by their nodes, inputs and outputs by their positions."""

    functions: set[Node] = field(default_factory=set)
    """Functions that go; what calls them is zero."""
    inputs: dict[Node, set[int]] = field(default_factory=dict)
    """Inputs that go, by function; their values are zero."""
    outputs: dict[Node, set[int]] = field(default_factory=dict)
    """Outputs that go, by function."""
    results: dict[tuple[Node, int], Node] = field(default_factory=dict)
    """Which operation is an output instead, by function and position."""
    operations: dict[tuple[Node, Node], Make] = field(default_factory=dict)
    """What takes the place of operations, by function and operation."""
    function_names: dict[Node, str] = field(default_factory=dict)
    """Other names of functions."""
    output_names: dict[tuple[Node, str], str] = field(default_factory=dict)
    """Other names of outputs, by function and name."""


_IMPOSSIBLE: Final = (NotPossible, TypeError, ValueError, IndexError, OverflowError, ScalyError)
"""What is raised where there is no such operation."""


def functions_of(root: Node) -> Sequence[Node]:
    """Return the functions of a module; a fragment is one by itself."""
    return root.args if root.op is ops.MODULE else (root,)


def results_of(function: Node) -> tuple[Node, ...]:
    """Return the results of a function or fragment."""
    return outputs_of(function) if function.op is ops.FUNC else function.args


def body_of(function: Node) -> list[Node]:
    """Return the operations of a function or fragment, operands first."""
    return postorder(*results_of(function))


def zero(type_: TensorType) -> Node:
    """Return a zero of a type; `NotPossible` for one that is too large."""
    if type_.size > LARGEST:
        raise NotPossible
    return splat(False if str(type_.dtype) == "bool" else 0, type_.but(pattern=None))


def with_changes(root: Node, changes: Changes) -> Node | None:
    """Return a root after changes, with types inferred again; None where that is not possible."""
    try:
        return _changed(root, changes)
    except _IMPOSSIBLE:
        return None  # there is no such operation on what its operands became


def with_operations(root: Node, edits: Iterable[tuple[int, Node, Make]]) -> Node | None:
    """Return a root after changes to operations, each with the number of its function; of several for one, the first.

    None where that is not possible.
    """
    listed = functions_of(root)
    changes = Changes()
    for at, node, make in edits:
        changes.operations.setdefault((listed[at], node), make)
    return with_changes(root, changes)


def _changed(root: Node, changes: Changes) -> Node | None:
    done: dict[Node, Node] = {}
    listed = functions_of(root)
    for function in in_order(listed) if root.op is ops.MODULE else listed:
        if function not in changes.functions:
            done[function] = _function(function, changes, done)
    if root.op is not ops.MODULE:
        return done[root]
    kept = [done[function] for function in listed if function in done]
    return make_module(kept, bare=root.attrs.get("bare", False)) if kept else None


def _function(function: Node, changes: Changes, done: Mapping[Node, Node]) -> Node:
    values: dict[Node, Node] = {}
    is_function = function.op is ops.FUNC
    inputs = inputs_of(function) if is_function else ()
    gone = changes.inputs.get(function, set())
    for node in [*inputs, *body_of(function)]:
        if node in values:
            continue
        make = changes.operations.get((function, node))
        if make is not None:
            values[node] = make(node, values)
        elif node.op is ops.INPUT and node in inputs and inputs.index(node) in gone:
            values[node] = zero(node.type)
        else:
            values[node] = _operation(node, values, changes, done)
    left_out = changes.outputs.get(function, set())
    outputs = [changes.results.get((function, at), node) for at, node in enumerate(results_of(function))]
    results = [values[node] for at, node in enumerate(outputs) if at not in left_out]
    if not results:
        raise NotPossible  # text has no function without results
    if not is_function:
        return function.replace(args=results)
    names = [name for at, name in enumerate(function.attrs["output_names"]) if at not in left_out]
    names = [changes.output_names.get((function, name), name) for name in names]
    kept = [values[node] for at, node in enumerate(inputs) if at not in gone]
    name = changes.function_names.get(function, str(function.attrs["name"]))
    return make_function(name, kept, results, names)


def _operation(node: Node, values: Values, changes: Changes, done: Mapping[Node, Node]) -> Node:
    args = [values[operand] for operand in node.args]
    attrs = dict(node.attrs)
    for key, callee in node.attrs.items():
        if not isinstance(callee, Node):
            continue
        if callee in changes.functions:
            return zero(node.type)
        attrs[key] = done[callee]
        inputs, outputs = changes.inputs.get(callee, set()), changes.outputs.get(callee, set())
        if (inputs or outputs) and node.op is not ops.CALL:
            raise NotPossible  # what a loop passes and takes is not by position alone
        if inputs:
            args = [argument for at, argument in enumerate(args) if at not in inputs]
        if outputs:
            if attrs["output"] in outputs:
                return zero(node.type)
            attrs["output"] -= sum([at < attrs["output"] for at in outputs])
    if tuple(args) == node.args and attrs == node.attrs:
        return node
    try:
        return rebuild(node.replace(attrs=attrs), args)
    except _IMPOSSIBLE:
        if attrs != node.attrs or any([new.type is not old.type for new, old in zip(args, node.args, strict=True)]):
            raise
        return node.replace(args=args)  # it was not valid before, and may be what the search is about
