"""Canonical text of loops."""

from __future__ import annotations

from scaly_ir.dialects.affine.build import carried_types, inits_of
from scaly_ir.dialects.buffer import build
from scaly_ir.dialects.buffer.printer import Wanted, attributes, binding, operand, value_name
from scaly_ir.graph import Node
from scaly_ir.types import INT64


def loop(node: Node) -> tuple[str, str, Wanted]:
    """Return the head of a loop, no label, and the types of what it carries."""
    variable, *carried = build.params_of(node.args[-1])
    lower, upper = [operand(bound, INT64) for bound in node.args[:2]]
    inits = inits_of(node)
    types = carried_types(node)
    pairs = zip(carried, inits, [*types, *[None] * len(inits)], strict=False)
    listed = [f"{value_name(name.attrs['name'])} = {operand(init, type_)}" for name, init, type_ in pairs]
    head = (
        f"{binding(node)}affine.for {value_name(variable.attrs['name'])} = {lower} to {upper} step {node.attrs['step']}"
    )
    iter_ = f" iter({', '.join(listed)})" if listed else ""
    typed = f" : {', '.join(map(str, types))}" if types else ""
    return f"{head}{iter_}{attributes(node)}{typed}", "", types
