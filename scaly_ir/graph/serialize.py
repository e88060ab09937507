"""Graphs as bytes: a flat list of nodes, operands first, that is interned again when it is read.

The bytes are JSON and hold no code, so reading them is safe whoever wrote them. Pickling and copying between processes
go through here. Nothing recurses over the depth of the graph. Source: graph specification A1.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from scaly_ir.attributes import Attrs
from scaly_ir.errors import SerializeError
from scaly_ir.graph.encoding import decode_attrs, decode_type, encode_attrs, encode_type
from scaly_ir.graph.node import Node, intern_node
from scaly_ir.graph.walk import with_references
from scaly_ir.op import Op

_VERSION: Final = 1


def dumps(root: Node) -> bytes:
    """Return `root` and all it reaches as bytes; the same graph gives the same bytes in every process."""
    ops: dict[Op, int] = {}
    types: dict[str | None, int] = {}
    attrs: dict[Any, int] = {}
    encoded: list[Any] = []
    places: dict[Node, int] = {}
    flat: list[int] = []
    for node in with_references(root):
        place = attrs.get(node.attrs.key)
        if place is None:
            place = attrs[node.attrs.key] = len(attrs)
            encoded.append(encode_attrs(node.attrs, places.__getitem__))
        type_ = encode_type(node.type)
        flat += (ops.setdefault(node.op, len(ops)), types.setdefault(type_, len(types)), place, len(node.args))
        flat += [places[operand] for operand in node.args]
        places[node] = len(places)
    graph = {
        "scaly-ir graph": _VERSION,
        "ops": [op.name for op in ops],
        "types": list(types),
        "attrs": encoded,
        "nodes": flat,
    }
    return json.dumps(graph, separators=(",", ":")).encode("ascii")


def loads(data: bytes) -> Node:
    """Return the node that `dumps` wrote: the very same object where it is still alive.

    Dialects of the project are loaded as needed. `SerializeError` for anything else than what `dumps` writes, and for
    operators and types that are not known here.
    """
    try:
        graph = json.loads(data)
        if not isinstance(graph, dict) or graph.get("scaly-ir graph") != _VERSION:
            raise SerializeError(f"this is no graph of format {_VERSION}")
        ops = [_op(name) for name in graph["ops"]]
        types = [decode_type(text) for text in graph["types"]]
        return _build(iter(graph["nodes"]), ops, types, graph["attrs"])
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        if isinstance(error, SerializeError):
            raise
        raise SerializeError(f"the graph cannot be read: {error}") from error


def _build(numbers: Iterator[int], ops: list[Op], types: list[Any], encoded: list[Any]) -> Node:
    nodes: list[Node] = []
    attrs: list[Attrs] = []  # decoded when they are needed: they may refer to nodes that come before
    for op in numbers:
        header = list(islice(numbers, 3))
        type_, attr, count = header
        operands = list(islice(numbers, count))
        if len(operands) != count or min(op, type_, attr, *operands) < 0:
            raise ValueError(f"node {len(nodes)} is malformed")
        if attr == len(attrs):
            attrs.append(decode_attrs(encoded[attr], nodes.__getitem__))
        nodes.append(intern_node(ops[op], tuple([nodes[place] for place in operands]), attrs[attr], types[type_]))
    return nodes[-1]


def _op(name: str) -> Op:
    try:
        return Op.get(name)
    except AttributeError:
        # Only here does the graph core look at dialects, and only to have the one loaded that a graph names.
        from scaly_ir.dialect import dialect_names, load_dialect

        dialect = name.partition(".")[0]
        if dialect not in dialect_names():
            raise
        load_dialect(dialect)
        return Op.get(name)
