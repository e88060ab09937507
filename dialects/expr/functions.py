"""Functions as nodes: what they consist of. A function holds its outputs and its inputs; a call refers to it.

The class that users see is `function.Function`. Source: expression specification 4.1.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

from scaly_ir.attributes import Attrs, value_key
from scaly_ir.dialects.expr import ops
from scaly_ir.graph import Node, intern_node, postorder
from scaly_ir.graph.walk import references_of


def make_function(name: str, inputs: Iterable[Node], outputs: Sequence[Node], output_names: Sequence[str]) -> Node:
    """Return the node of a function; nothing is checked."""
    attrs = Attrs({"name": name, "output_names": tuple(output_names)})
    return intern_node(ops.FUNC, (*outputs, *inputs), attrs, None)


def outputs_of(function: Node) -> tuple[Node, ...]:
    """Return the results of a function."""
    return function.args[: len(function.attrs["output_names"])]


def inputs_of(function: Node) -> tuple[Node, ...]:
    """Return the inputs of a function, in the order of its signature."""
    return function.args[len(function.attrs["output_names"]) :]


def input_names_of(function: Node) -> tuple[str, ...]:
    """Return the names of the inputs."""
    return tuple([str(node.attrs["name"]) for node in inputs_of(function)])


def body_of(function: Node) -> list[Node]:
    """Return the operations of a function in the order in which text lists them: what its outputs reach."""
    return postorder(*outputs_of(function))


def callees_of(nodes: Iterable[Node]) -> list[Node]:
    """Return the functions that some operations refer to, each once, in order; ``callee`` before ``cond``."""
    found: dict[Node, None] = {}
    for node in nodes:
        if node.op in ops.CALLS:
            found.update(dict.fromkeys(references_of(node)))
    return list(found)


def invocation(node: Node) -> Hashable:
    """Return what calls, or loops, share that are one invocation: all but which result they are, and the hint.

    Neither changes what is computed. Source: expression specification 2.7, 2.8 and 4.3.
    """
    shared = [(key, value_key(value)) for key, value in node.attrs.items() if key not in ("output", "lowering")]
    return node.op, node.args, *shared


def in_order(functions: Iterable[Node]) -> list[Node]:
    """Return the functions and all they call, callees first; otherwise as they come."""
    done: dict[Node, None] = {}
    pending: list[tuple[Node, list[Node] | None]] = [(function, None) for function in reversed(list(functions))]
    while pending:
        function, callees = pending.pop()
        if function in done:
            continue
        if callees is None:
            callees = callees_of(body_of(function))
            pending.append((function, callees))
            pending.extend([(callee, None) for callee in reversed(callees)])
        else:
            done[function] = None
    return list(done)


def make_module(functions: Iterable[Node], *, bare: bool = False) -> Node:
    """Return the module of some functions and all they call, callees first."""
    attrs: dict[str, Any] = {"bare": True} if bare else {}
    return intern_node(ops.MODULE, tuple(in_order(functions)), Attrs(attrs), None)
