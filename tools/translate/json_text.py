"""The target ``json``: a graph as data that any language reads, without nesting, so that depth does not matter.

``nodes`` lists each distinct node after its operands; an operand is a position in that list, and ``root`` is the last.
``statements`` lists those of the text in order: the position of the node, that of the statement it stands in (or null),
and its place in the file. Numbers that JSON lacks (infinities, NaNs) are strings as the IR spells them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any, Final

from scaly_ir.dialect import dialect_of
from scaly_ir.graph import Node
from scaly_ir.graph.walk import with_references
from scaly_ir.text.source import Span
from scaly_ir.text.spelling import spell_float
from scaly_ir.tools.translate.targets import Input

FORMAT: Final = 1
"""Which version of the layout a file has."""


def json_text(given: Input, options: object) -> str:
    """Return the JSON of a root, one line for each node and statement."""
    nodes = with_references(given.root)
    numbers = {node: number for number, node in enumerate(nodes)}
    lines = [
        "{",
        f'"format": {FORMAT},',
        f'"file": {json.dumps(given.name)},',
        f'"dialect": {json.dumps(given.root.op.dialect)},',
        f'"root": {numbers[given.root]},',
        '"nodes": [',
        ",\n".join([_line(_node(node, numbers)) for node in nodes]),
        "],",
        '"statements": [',
        ",\n".join([_line(statement) for statement in _statements(given, numbers)]),
        "]",
        "}",
    ]
    return "\n".join([line for line in lines if line]) + "\n"


def _line(value: Mapping[str, Any]) -> str:
    return json.dumps(value, allow_nan=False)


def _node(node: Node, numbers: Mapping[Node, int]) -> dict[str, Any]:
    entry: dict[str, Any] = {"op": node.op.name}
    if node.type is not None:
        entry["type"] = str(node.type)
    if node.args:
        entry["args"] = [numbers[operand] for operand in node.args]
    if node.attrs:
        entry["attrs"] = {key: _value(value, numbers) for key, value in node.attrs.items()}
    return entry


def _value(value: Any, numbers: Mapping[Node, int]) -> Any:
    """Return an attribute value as JSON holds it; what it has no form for becomes an object that says what it is."""
    if isinstance(value, Node):
        return {"node": numbers[value]}
    if isinstance(value, float):
        return value if value - value == 0.0 else spell_float(value, point=True)
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Mapping):
        return {str(key): _value(inner, numbers) for key, inner in value.items()}
    if isinstance(value, tuple | list):
        return [_value(inner, numbers) for inner in value]
    if isinstance(value, slice):
        return {"slice": [_value(inner, numbers) for inner in (value.start, value.stop, value.step)]}
    return {"text": str(value)}


def _statements(given: Input, numbers: Mapping[Node, int]) -> Iterator[dict[str, Any]]:
    """Yield the statements of a text, numbered as the reader does it; dialects without any tell no places."""
    root, locations = given.root, given.locations
    dialect = dialect_of(root)
    if dialect.lead_of is None:
        return
    operations = set(dialect.operations(root))
    pending: list[tuple[Iterator[Node], int | None]] = [(iter((root,)), None)]
    number = -1
    while pending:
        nodes, parent = pending[-1]
        for node in nodes:
            around = parent
            if node in operations:
                number += 1
                around = number
                yield {"node": numbers[node], "parent": parent, **_place(locations.origin(number))}
            lead = dialect.lead_of(node)
            if lead is not None:
                pending.append((islice(node.args, lead, None), around))
                break
        else:
            pending.pop()


def _place(span: Span) -> dict[str, Any]:
    line, column = span.position()
    end_line, end_column = span.source.position(span.end)
    file = {} if span.read is None else {"file": span.source.name}
    return {**file, "line": line, "column": column, "end_line": end_line, "end_column": end_column}
