"""Canonical text of functions of buffers: the one spelling of a function, which reads back to the same nodes.

Iterative: nests and chains of any depth print in constant Python stack. What a statement looks like is a table by
operator, to which `affine` and `matrix` add theirs. Source: matrix specification 2.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from scaly_ir.attributes import spell_attrs
from scaly_ir.dialects.buffer import build, ops
from scaly_ir.dialects.buffer.names import is_number
from scaly_ir.dialects.buffer.types import scalar_type
from scaly_ir.dialects.prog.printer import INDENT, spell_scalar
from scaly_ir.graph import Node
from scaly_ir.op import Op
from scaly_ir.text.spelling import spell_name
from scaly_ir.types import INT64

HIDDEN: Final = frozenset({"results", "types", "step"})
"""The attributes that the syntax of a statement writes elsewhere."""

_numbers = re.compile(r'%"([0-9]+)"')

Wanted = Sequence[Any]
"""The types of the values that the terminator of a region gives."""


def value_name(name: str) -> str:
    """Return a name as it is written."""
    return f"%{name}" if is_number(name) else f"%{spell_name(name)}"


def operand(node: Node, type_: Any) -> str:
    """Return the text of an operand where a literal has the element type of `type_`."""
    if node.op is ops.UNDEF:
        return "undef"
    if build.is_variable(node):
        return value_name(node.attrs["name"])
    return _numbers.sub(r"%\1", spell_scalar(node, scalar_type(type_)))


def binding(node: Node) -> str:
    """Return the names that a statement binds, and an equals sign."""
    names = node.attrs.get("results")
    return f"{', '.join([value_name(name) for name in names])} = " if names else ""


def attributes(node: Node) -> str:
    """Return the attributes of a statement with a space before them, or nothing."""
    text = spell_attrs(node.attrs, HIDDEN)
    return f" {text}" if text else ""


def element(node: Node, first: int) -> str:
    """Return the element that a statement is about: the buffer is its operand number `first`."""
    indices = ", ".join([operand(index, INT64) for index in node.args[first + 1 :]])
    return f"{operand(node.args[first], None)}[{indices}]"


def declarations(nodes: Sequence[Node]) -> str:
    """Return parameters or results with their types."""
    return ", ".join([f"{value_name(node.attrs['name'])}: {node.type}" for node in nodes])


def application(node: Node) -> str:
    """Return the text of an operation that is written as all are."""
    operands = ", ".join([operand(arg, node.type) for arg in node.args])
    type_ = "" if node.type is None else f" : {node.type}"
    return f"{binding(node)}{node.op.name}({operands}){attributes(node)}{type_}"


def _func(node: Node) -> tuple[str, str, Wanted]:
    results = build.operands_of(node)
    params = build.params_of(node.args[-1])
    name = spell_name(node.attrs["name"])
    head = f"buffer.func @{name}({declarations(params)}) -> ({declarations(results)})"
    return head, "", [result.type for result in results]


Line = Callable[[Node], str]
Opening = Callable[[Node], tuple[str, str, Wanted]]
"""Returns the head of a statement with a region, a line that its region begins with, and what that is to give."""

LINES: Final[dict[Op, Line]] = {
    ops.ALLOC: lambda node: f"{binding(node)}buffer.alloc : {node.type}",
    ops.READ: lambda node: f"{binding(node)}buffer.read {element(node, 0)} : {node.type}",
    ops.WRITE: lambda node: f"buffer.write {operand(node.args[0], node.type)}, {element(node, 1)} : {node.type}",
    ops.LET: lambda node: f"{binding(node)}{operand(node.args[0], None)} : {node.type}",
}
OPENINGS: Final[dict[Op, Opening]] = {ops.FUNC: _func}


def lines(root: Node, table: Mapping[Op, Line], openings: Mapping[Op, Opening], region: Opening) -> Iterator[str]:
    """Yield the lines of a module, function or statement; `region` opens those with a region that have no other way."""
    pending: list[tuple[Iterator[Node], str, Wanted]] = [
        (iter(root.args if root.op is ops.MODULE else (root,)), "", ())
    ]
    while pending:
        statements, indent, wanted = pending[-1]
        for node in statements:
            inner = build.region_of(node)
            if inner is not None:
                head, label, gives = openings.get(node.op, region)(node)
                yield f"{indent}{head} {{\n"
                if label:
                    yield f"{indent}{label}\n"
                pending.append((iter(build.body_of(inner)), indent + INDENT, gives))
                break
            if node.op.get_attr(ops.TERMINATOR, False):
                yield f"{indent}{_terminator(node, wanted)}\n"
            else:
                yield f"{indent}{table.get(node.op, application)(node)}\n"
        else:
            pending.pop()
            if pending:
                yield f"{pending[-1][1]}}}\n"


def _terminator(node: Node, wanted: Wanted) -> str:
    types = [*wanted, *[INT64] * (len(node.args) - len(wanted))]
    values = ", ".join([operand(arg, type_) for arg, type_ in zip(node.args, types, strict=False)])
    return f"{node.op.name} {values}".rstrip()
