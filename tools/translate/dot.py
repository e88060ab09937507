"""The target ``dot``: the graph of operations for Graphviz, an edge from each operand to its user."""

from __future__ import annotations

from typing import Any, Final

from scaly_ir.attributes import spell_value
from scaly_ir.graph import Node
from scaly_ir.graph.walk import references_of, with_references
from scaly_ir.tools.translate.targets import Input

_LONGEST: Final = 40
"""Attribute values are cut off after that many characters."""


def dot_text(given: Input, options: object) -> str:
    """Return the graph below a root."""
    nodes = with_references(given.root)
    numbers = {node: number for number, node in enumerate(nodes)}
    lines = ["digraph {\n", '  node [shape=box, fontname="monospace"];\n']
    for node, number in numbers.items():
        shape = "" if node.args else ", style=rounded"
        lines.append(f'  n{number} [label="{_label(node)}"{shape}];\n')
    for node, number in numbers.items():
        several = len(node.args) > 1
        for position, operand in enumerate(node.args):
            label = f' [label="{position}"]' if several else ""
            lines.append(f"  n{numbers[operand]} -> n{number}{label};\n")
        lines.extend([f"  n{numbers[callee]} -> n{number} [style=dashed];\n" for callee in references_of(node)])
    return "".join([*lines, "}\n"])


def _label(node: Node) -> str:
    parts = [node.op.name]
    parts += [f"{key}={_short(value)}" for key, value in node.attrs.items()]
    if node.type is not None:
        parts.append(f": {node.type}")
    return "\\l".join([_escaped(part) for part in parts]) + "\\l"


def _short(value: Any) -> str:
    if isinstance(value, Node):
        return f"@{value.reference_name}"
    text = spell_value(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _escaped(text: str) -> str:
    shown = "".join([c if c.isprintable() else "\ufffd" for c in text])
    return shown.replace("\\", "\\\\").replace('"', '\\"')
