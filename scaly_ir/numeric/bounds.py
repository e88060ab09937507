"""Sound bounds of the values that scalar expressions take, found by walking a graph once.

Nodes are recognised by the attributes of their operators, in any dialect: `TScalarOp` (or being ``prim.*``) for what
the table of `table.py` knows, `TConst` for a constant with its number, or tuple of numbers, in the attribute ``value``,
and `TVariable` for a variable with its name in ``name``. Anything else may be any value of its type. Source: graph
specification B8, without its weak types.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from scaly_ir.graph.node import Node
from scaly_ir.numeric.interval import NO_NUMBER, Interval, covering, fits, full, settle
from scaly_ir.numeric.machine import Value, truncate
from scaly_ir.numeric.table import TABLE, scalar_name

Environment = Mapping[Any, Interval]
"""What is known from outside: intervals by `Node` of any kind, and of variables by name too."""

_NOTHING: Final[Environment] = {}


def constant_value(node: Node) -> Value | None:
    """Return the number of a constant node, or None when the node is no constant of one number."""
    if not node.op.get_attr("TConst", False):
        return None
    value = node.attrs.get("value")
    return value if isinstance(value, int | float) else None


def bounds(node: Node, environment: Environment = _NOTHING, cache: dict[Node, Interval] | None = None) -> Interval:
    """Return an interval that holds every value of a scalar node, or of the elements of a tensor node.

    `environment` bounds variables and any other nodes; what it does not mention may be any value of its type. `cache`
    keeps results between calls with the same environment. The node must satisfy the rules of its dialect for single
    nodes; `TypeError` when it has no machine type. The interval is empty where the environment gives an empty one.
    """
    known = {} if cache is None else cache
    pending = [node]
    while pending:
        current = pending[-1]
        if current in known:
            pending.pop()
            continue
        found = _leaf(current, environment)
        if found is None:
            missing = [operand for operand in current.args if operand not in known]
            if missing:
                pending.extend(missing)
                continue
            found = settle(_raw(current, [known[operand] for operand in current.args]), current.dtype)
        known[current] = found
        pending.pop()
    return known[node]


def may_wrap(node: Node, environment: Environment = _NOTHING, cache: dict[Node, Interval] | None = None) -> bool:
    """Tell whether an integer operation may leave its type before it wraps; false for floats and for leaves.

    A translator writes an operation that cannot wrap as plain arithmetic. So true for an operation that the table does
    not know, whatever it does with its operands: a load, whose operands say where it reads, is no leaf here.
    """
    if not node.dtype.is_int:
        return False
    if scalar_name(node.op) is None:
        return bool(node.args)
    known = {} if cache is None else cache
    raw = _raw(node, [bounds(operand, environment, known) for operand in node.args])
    return raw.has_numbers and not fits(raw, node.dtype)


def _leaf(node: Node, environment: Environment) -> Interval | None:
    """Return the bounds of a node that do not come from its operands, or None when they do."""
    given = environment.get(node)
    if given is None and node.op.get_attr("TVariable", False):
        given = environment.get(node.attrs.get("name", ""))
    if given is not None:
        return given
    if node.op.get_attr("TConst", False):
        value = node.attrs.get("value")
        values = value if isinstance(value, tuple) else (value,)
        return covering([truncate(value, node.dtype) for value in values])
    return full(node.dtype) if scalar_name(node.op) is None else None


def _raw(node: Node, operands: Sequence[Interval]) -> Interval:
    """Return the bounds of an operation before its result is wrapped or rounded."""
    if any([operand.is_empty for operand in operands]):
        return NO_NUMBER if node.dtype.is_float else Interval(0, -1)
    name = scalar_name(node.op)
    assert name is not None
    row = TABLE[name]
    floating = node.args[-1].dtype.is_float
    meaning = row.floating if floating else row.integer
    if meaning is None:
        raise TypeError(f"'{node.op.name}' does not accept {node.args[-1].dtype}")
    return meaning.bounds(*operands, node.dtype) if name == "cast" else meaning.bounds(*operands)
