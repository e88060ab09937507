"""A listing of a graph for people: shorter than its text, with arrays abbreviated; nothing reads it back.

Source: expression specification 4.2.
"""

from __future__ import annotations

from typing import Any, Final

from scaly_ir.attributes import spell_attrs
from scaly_ir.dialects.expr import ops
from scaly_ir.dialects.expr.printer import results_of
from scaly_ir.graph import Node, postorder
from scaly_ir.tensors import TensorType
from scaly_ir.text.spelling import spell_name

_SHOWN_ELSEWHERE: Final = {
    ops.INPUT: frozenset({"name"}),
    ops.CONST: frozenset({"value"}),
    ops.CALL: frozenset({"callee", "output"}),
    ops.LOOP: frozenset({"callee", "output", "length", "starts", "strides"}),
}
_NONE: Final[frozenset[str]] = frozenset()


def format_expr(what: Any) -> str:
    """Return a listing of the graph below an expression, or several: a line for each node, and one for the results."""
    results = results_of(what)
    names: dict[Node, str] = {}
    lines = []
    for number, node in enumerate(postorder(*results)):
        names[node] = f"%{number}"
        attrs = spell_attrs(node.attrs, _SHOWN_ELSEWHERE.get(node.op, _NONE))
        lines.append(f"%{number} = {_applied(node, names)}{' ' if attrs else ''}{attrs} : {_type(node.type)}")
    lines.append(f"outputs {', '.join([names[result] for result in results])}")
    return "\n".join(lines)


def _applied(node: Node, names: dict[Node, str]) -> str:
    attrs, op = node.attrs, node.op
    if op is ops.INPUT:
        return f"input {spell_name(attrs['name'])}"
    if op is ops.CONST:
        return f"const {_array(attrs['value'].array)}"
    operands = [names[operand] for operand in node.args]
    name = op.mnemonic if op.dialect == "expr" else op.name
    if op is ops.CALL:
        name = f"call {_callee(attrs)}[{attrs['output']}]"
    elif op is ops.LOOP:
        name = f"loop[{attrs['length']}] {_callee(attrs)}[{attrs['output']}]"
        windows = zip(attrs["starts"], attrs["strides"], strict=True)
        for position, (start, stride) in enumerate(windows, attrs["n_carry"]):
            operands[position] += f"[{start}::{stride}]"
    return f"{name}({', '.join(operands)})"


def _callee(attrs: Any) -> str:
    callee = attrs["callee"]
    return spell_name(callee if isinstance(callee, str) else callee.reference_name)


def _array(values: Any) -> str:
    import numpy

    text = numpy.array2string(values, threshold=6, edgeitems=3, max_line_width=1 << 20)
    return " ".join(text.split()).replace("[ ", "[")


def _type(type_: Any) -> str:
    if not isinstance(type_, TensorType):
        return str(type_)
    return f"{type_.dtype}{type_.shape}{'' if type_.pattern is None else f' with {type_.pattern.nnz} stored'}"
